"""Typing: the SQL that turns the columns of a chunk into texts and values of the declared types."""
