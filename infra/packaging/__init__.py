"""What is deployed, the same bytes every time."""
