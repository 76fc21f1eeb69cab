"""The embedded AWS: `ministack`, started by a launcher of ours in an environment of its own."""
