"""A DuckDB with the functions of the native engine."""

from __future__ import annotations

from functools import cache

import duckdb

from lakegate.engine.evaluate.pattern_search import register


@cache
def connection() -> duckdb.DuckDBPyConnection:
    """One for the whole process."""
    database = duckdb.connect(":memory:")
    register(database)
    return database
