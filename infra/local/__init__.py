"""What stands in for AWS on one machine."""
