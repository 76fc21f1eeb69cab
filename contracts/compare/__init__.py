"""Compares two versions of a contract, and derives the semantic version that the changes need (ADR-0029)."""
