"""Set-up of a clone: locks, jars and Java."""
