"""Data where a contract says that it is: its servers (`lakegate check --server`)."""
