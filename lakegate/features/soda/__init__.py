"""Soda checks and SodaCL."""
