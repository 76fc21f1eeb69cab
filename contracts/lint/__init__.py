"""Semantic lints of contracts, which a JSON Schema cannot express: one function for each code (see
`lakegate.contracts.lint.lint`).
"""
