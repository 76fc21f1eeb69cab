"""Scheduled rules over all accepted data."""
