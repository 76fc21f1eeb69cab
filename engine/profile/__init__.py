"""Profiles files without a contract: their format and dialect, and what their columns contain (decision 105)."""
