"""Contract documents (ODCS, DCS, DCM): parsed, compared with their schema, and read into the model."""
