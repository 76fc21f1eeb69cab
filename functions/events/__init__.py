"""Event documents of AWS, decoded to hints: one module for each source, over `fields` and `hints`."""
