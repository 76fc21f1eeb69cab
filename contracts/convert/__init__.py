"""Writes contracts in formats of other tools, reads schemas of those, and lists what the other side cannot express."""
