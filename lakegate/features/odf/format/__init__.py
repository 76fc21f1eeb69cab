"""ODF's hashes, names and metadata blocks."""
