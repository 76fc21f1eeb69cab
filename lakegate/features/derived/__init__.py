"""Datasets that are derived from accepted data of others by a query."""
