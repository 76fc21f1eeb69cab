"""Commands about a deployed stack."""
