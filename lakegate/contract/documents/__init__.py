"""Contract documents read into one ODCS tree with positions."""
