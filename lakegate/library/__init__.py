"""What notebooks and commands are built on: contract files, and a stack as its users see it."""
