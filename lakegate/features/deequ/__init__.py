"""Constraints of Deequ by their names, as checks."""
