"""Readers of contract documents: trees with positions, and the model of a contract."""
