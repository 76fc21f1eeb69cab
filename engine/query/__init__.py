"""Query: translates the queries of a plan into DuckDB's SQL and runs each on a locked-down connection with a time limit."""
