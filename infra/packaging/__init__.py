"""What is deployed, made of the repository and locked packages: the same bytes every time."""
