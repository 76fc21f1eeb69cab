"""Accepted rows as slices."""
