"""The native engine: bytes → Arrow batches → typed values → one bit per predicate → metrics and samples, by pyarrow and DuckDB.

Its folders are the stages: `read`, `type`, `evaluate`, `measure`, `explain`, `split`; `query` answers the contract's own
queries. It imports neither pyspark nor boto3, so that the same code runs in `lakegate check` without a JVM and inside Spark
workers.
"""
