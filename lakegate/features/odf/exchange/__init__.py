"""A dataset shared with tools of ODF."""
