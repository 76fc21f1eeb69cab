"""Assets and asset checks of Dagster for Lakegate, over its HTTP API alone."""
