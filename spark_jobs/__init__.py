"""The data plane: one Spark job that measures a delivery against its plan."""
