"""Rules measured by other services (we call them)."""
