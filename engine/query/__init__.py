"""Asking: queries of a plan, said in DuckDB's SQL and asked of a locked-down connection, each with its own time."""
