"""Texts to values, values to one bit per predicate."""
