"""Contract drafted from data."""
