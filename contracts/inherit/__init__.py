"""Inheritance of contracts: what a contract takes over from its parent, and where it is weaker than that (ADR-0029)."""
