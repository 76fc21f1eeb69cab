"""Bits to metrics."""
