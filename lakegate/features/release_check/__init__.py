"""Whether a release is what was built."""
