"""Writes contracts in formats of other tools, and lists what those cannot express."""
