"""Documents that gate and engine exchange: plan, request, result."""
