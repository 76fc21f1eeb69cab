"""The same engine in Spark's workers, Deequ over partial results."""
