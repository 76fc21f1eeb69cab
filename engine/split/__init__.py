"""Splitting: which records are rejected, so that accepted and rejected ones can be written separately."""
