"""Changes between two versions of a contract."""
