"""Evaluating: predicates of a plan as SQL of DuckDB, made of generated names and literals alone."""
