"""Explaining: failing rows as samples, masked unless the field is public."""
