"""Measuring: partial aggregates of chunks, merged into the metrics of checks."""
