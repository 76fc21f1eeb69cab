"""Splitting: the records of a share as they came, so that accepted and rejected ones can be written apart."""
