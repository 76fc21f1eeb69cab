"""Files between this machine and the lake, every byte verified."""
