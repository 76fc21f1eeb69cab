"""Invented data to try the gate on."""
