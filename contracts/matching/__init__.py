"""How a pattern of a plan is matched: what it says, what matching it may cost, and by which engine that cost is bounded."""
