"""The smoke test of a deployed stack."""
