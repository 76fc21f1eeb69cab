"""Readers of contract documents, one module for each format."""
