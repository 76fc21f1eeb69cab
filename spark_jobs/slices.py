"""Writes the slices of a delivery in tasks of Spark, one task for each slice; those that are merged in the driver."""

from __future__ import annotations

import pickle
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from lakegate.engine.measure.tables import database
from lakegate.spark_jobs.keeping import keep
from lakegate.spark_jobs.store import ANYWHERE
from lakegate.spark_jobs.tasks import MEMORY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import SparkSession

    from lakegate.contracts.plan.slices import Merged, WrittenSlice
    from lakegate.engine.slices.delivery import AcceptedSlices, SharesOfSlice
    from lakegate.engine.slices.merging import MergedDelivery


def write_slices(spark: SparkSession, accepted: AcceptedSlices) -> tuple[WrittenSlice, ...]:
    """Write all slices, and list them in their order."""
    columns = accepted.columns

    def written(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with tempfile.TemporaryDirectory(prefix="lakegate-") as folder, database(Path(folder), MEMORY) as connection:
            for each in (each for batch in batches for each in batch.column(0).to_pylist()):
                own: SharesOfSlice = pickle.loads(each)  # noqa: S301 - the driver wrote it
                found = own.write(columns, connection, Path(folder), keep)
                yield pa.record_batch([pa.array([pickle.dumps(found)], pa.binary())], names=["written"])

    orders = [(bytearray(pickle.dumps(each)),) for each in accepted.slices]
    if not orders:
        return ()
    frame = spark.createDataFrame(spark.sparkContext.parallelize(orders, len(orders)), "slice BINARY")
    rows = frame.mapInArrow(written, "written BINARY").collect()
    found: list[WrittenSlice] = [pickle.loads(row["written"]) for row in rows]  # noqa: S301 - our own workers wrote it
    return tuple(sorted(found, key=lambda each: each.offset))


def merge_slices(delivery: MergedDelivery) -> tuple[tuple[WrittenSlice, ...], Merged]:
    """Write the rows that are new to the line, and its state."""
    with tempfile.TemporaryDirectory(prefix="lakegate-") as folder, database(Path(folder), MEMORY) as connection:
        return delivery.write(ANYWHERE, connection, Path(folder), keep)
