"""Deployed artifacts, the same bytes every time."""
