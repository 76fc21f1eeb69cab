"""What happens to a delivery, in the order in which it happens."""
