"""Contracts that inherit requirements from other contracts."""
