"""Publishing by two people."""
