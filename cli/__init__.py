"""The lakegate command, a second door to the same use cases."""
