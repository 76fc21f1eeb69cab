"""make setup: environments, jars, Java, schemas."""
