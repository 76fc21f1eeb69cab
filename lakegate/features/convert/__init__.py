"""Contracts to and from formats of other tools."""
