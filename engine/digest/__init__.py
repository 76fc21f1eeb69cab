"""Hashes of published data: of the rows, whatever file contains them, and of the bytes of a file."""
