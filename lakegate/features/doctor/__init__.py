"""Reasons why deliveries do not move."""
