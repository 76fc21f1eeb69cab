"""Rules of contracts compiled to checks."""
