"""Commands about contracts."""
