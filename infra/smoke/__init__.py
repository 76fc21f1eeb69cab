"""Smoke test of a deployed stack."""
