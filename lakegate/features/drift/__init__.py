"""Contract against accepted objects."""
