"""Append-only chain of blocks for each dataset."""
