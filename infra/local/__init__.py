"""The local replacements of AWS on one machine."""
