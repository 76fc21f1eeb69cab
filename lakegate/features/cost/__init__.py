"""Cost of deliveries."""
