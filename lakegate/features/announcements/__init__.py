"""Deliveries announced before they are sent."""
