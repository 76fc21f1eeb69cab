"""Great Expectations by their own names."""
