"""Native engine: bytes to measurements, by Arrow and DuckDB."""
