"""Published contract versions and routes."""
