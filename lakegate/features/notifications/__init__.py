"""Channels of subscribers."""
