"""The base of notebooks and commands: contract files, and a stack as its users see it."""
