"""From a contract to its plan: rules become checks, patterns and SQL become what an engine may run."""
