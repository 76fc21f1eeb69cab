"""The `lakegate` command: options and output, nothing else."""
