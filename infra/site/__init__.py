"""Documentation site."""
