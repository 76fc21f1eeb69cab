"""Ports on AWS, settings, wiring, Lambda runtime."""
