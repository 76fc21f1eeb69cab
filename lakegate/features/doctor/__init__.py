"""Why deliveries do not move."""
