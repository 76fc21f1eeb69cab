"""Semantic lints of contracts, which a JSON Schema cannot express: one function for each code.

`lakegate.contracts.lint.table` lists them.
"""
