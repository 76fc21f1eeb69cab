"""An attempt where it runs: job, Lambda, this machine."""
