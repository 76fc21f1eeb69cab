"""Evaluates the shares of a delivery in tasks of Spark, with the native engine in Python workers.

The frame of a pass has two kinds of rows. One row for each share carries its `Partial` (counts, sums, bitmaps: small). Rows of
records carry what is compared across shares: keys, numbers of quantiles, values that queries read; their columns are those of the
level's table (`lakegate.engine.measure.duckdb_tables.table_columns`) behind a prefix for the level, and `id`.
"""

from __future__ import annotations

import pickle
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import StorageLevel, TaskContext
from pyspark.sql import functions as F  # noqa: N812 - the name Spark's own documentation gives it

from lakegate.admission.file_signatures import UnreadableError
from lakegate.contract.logical_types import PRECISION
from lakegate.engine.attempt import Part, Workspace, Written
from lakegate.engine.evaluate.predicate_sql import Program
from lakegate.engine.evaluate.typed_values import exact_type, sql_type
from lakegate.engine.measure.chunk_queries import ChunkQueries
from lakegate.engine.measure.duckdb_tables import POSITION_BITS, database, is_stored, table_columns
from lakegate.engine.measure.partial_results import Partial
from lakegate.engine.measure.share_evaluation import Evaluation
from lakegate.engine.read.data_source import ROW, Level
from lakegate.job.job_storage import ANYWHERE, keep
from lakegate.plan.check import QueryColumn
from lakegate.plan.result import Unreadable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


TASK_MEMORY = "512MB"
"""The memory of DuckDB in a worker before it spills."""
TASK_BYTES = 64 << 20
"""Bytes (of a table, rows) that one task evaluates, about."""
_ARROW = {
    "VARCHAR": pa.string(),
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    **{exact_type(scale): pa.decimal128(PRECISION, scale) for scale in range(PRECISION + 1)},
    "BOOLEAN": pa.bool_(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", "UTC"),
}

_SPARK = {"VARCHAR": "STRING", "TIMESTAMP": "TIMESTAMP"}


def spark_type(column: QueryColumn) -> str:
    """The Spark type of the values of a column."""
    kind = sql_type(column)
    return _SPARK.get(kind, kind)


def column_name(level: int, name: str) -> str:
    """The column of the pass for a column of the level with that number."""
    return f"l{level}_{name}"


@dataclass(frozen=True, slots=True)
class Pass:
    """The evaluation of a delivery by tasks."""

    frame: DataFrame
    levels: dict[Level, int]
    """The number of each level that stores rows."""

    def rows(self, program: Program) -> DataFrame:
        """The stored rows of a level: `id` and its columns under their own names."""
        level = self.levels[program.level]
        names = [F.col(column_name(level, name)).alias(name) for name in table_columns(program)]
        return self.frame.where(F.col("level") == level).select("id", *names)


def run(spark: SparkSession, evaluation: Evaluation) -> tuple[Pass, list[Partial]]:
    """Evaluate all shares; rows of records stay in Spark. UnreadableError if an object is damaged."""
    programs = [program for program in evaluation.programs.values() if is_stored(program)]
    levels = {program.level: at for at, program in enumerate(programs)}
    types = {
        column_name(at, name): kind
        for at, program in enumerate(programs)
        for name, kind in table_columns(program).items()
    }
    described = [
        "partial BINARY",
        "level INT",
        "id BIGINT",
        *(f"{name} {_SPARK.get(kind, kind)}" for name, kind in types.items()),
    ]
    shares = len(evaluation.source.shares)
    tasks = max(1, min(shares, max(spark.sparkContext.defaultParallelism, sum(evaluation.source.sizes) // TASK_BYTES)))
    numbers = spark.range(0, shares, 1, tasks)
    frame = numbers.mapInArrow(_evaluating(evaluation, levels, types), ", ".join(described))
    if tasks == 1:
        frame = frame.coalesce(1)  # all rows of a key are in one partition: no shuffle follows
    if programs:
        frame = frame.persist(StorageLevel.MEMORY_AND_DISK)
    partials = [pickle.loads(row["partial"]) for row in frame.where("partial IS NOT NULL").select("partial").collect()]  # noqa: S301 - our own workers wrote it
    for partial in partials:
        if isinstance(partial, Unreadable):
            raise UnreadableError(partial.code, partial.message).of_part(partial.part or 0)
    return Pass(frame, levels), sorted(partials, key=lambda partial: partial.number)


def _evaluating(
    evaluation: Evaluation, levels: dict[Level, int], types: dict[str, str]
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function of a task, given the numbers of its shares."""
    schema = pa.schema(
        [("partial", pa.binary()), ("level", pa.int32()), ("id", pa.int64())]
        + [(name, _ARROW[kind]) for name, kind in types.items()]
    )

    def evaluated(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        began = time.process_time()
        with (
            tempfile.TemporaryDirectory(prefix="lakegate-") as folder,
            database(Path(folder), TASK_MEMORY) as connection,
        ):
            queries = ChunkQueries(connection)
            for number in (each for batch in batches for each in batch.column(0).to_pylist()):
                kept: list[pa.RecordBatch] = []

                def keep(program: Program, bits: pa.Table, share: int, kept: list[pa.RecordBatch] = kept) -> None:
                    if program.level in levels:
                        kept.extend(_rows(program, bits, share, levels[program.level], schema))

                finding: Partial | Unreadable
                try:
                    finding = partial = evaluation.share(number, queries, keep)
                    now = time.process_time()
                    partial.cpu_seconds, began = now - began, now
                except UnreadableError as error:
                    finding = error.finding
                yield _one({"partial": pickle.dumps(finding)}, schema)
                yield from kept

    return evaluated


def _rows(program: Program, bits: pa.Table, share: int, level: int, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    ids = pc.add(bits.column(ROW), share << POSITION_BITS)
    own = {column_name(level, name): bits.column(name) for name in table_columns(program)}
    given = {"level": pa.array([level] * len(ids), pa.int32()), "id": ids, **own}
    columns = [
        given[each.name].cast(each.type) if each.name in given else pa.nulls(len(ids), each.type) for each in schema
    ]
    yield from pa.table(columns, schema=schema).to_batches()


def _one(values: dict[str, object], schema: pa.Schema) -> pa.RecordBatch:
    columns = [pa.array([values.get(each.name)], each.type) for each in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def write_parts(
    spark: SparkSession, write: Callable[[Part, Workspace], Written], parts: Sequence[Part]
) -> list[Written]:
    """Results of a function for each part, in their order: one task for each."""

    def written(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with workspace() as own:
            for each in (each for batch in batches for each in batch.column(0).to_pylist()):
                found = write(pickle.loads(each), own)  # noqa: S301 - the driver wrote it
                yield pa.record_batch([pa.array([pickle.dumps(found)], pa.binary())], names=["written"])

    if not parts:
        return []
    rows = spark.sparkContext.parallelize([(bytearray(pickle.dumps(part)),) for part in parts], len(parts))
    found = spark.createDataFrame(rows, "part BINARY").mapInArrow(written, "written BINARY").collect()
    return [pickle.loads(row["written"]) for row in found]  # noqa: S301 - our own workers wrote it


def write_batches(
    frame: DataFrame, write: Callable[[Iterable[pa.RecordBatch], Workspace, int], Written]
) -> list[Written]:
    """Results of a function that is given the rows of each partition, with its number; empty ones are left out."""

    def written(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task, rows = TaskContext.get(), iter(batches)
        assert task is not None
        first = next(rows, None)
        if first is not None:
            with workspace() as own:
                found = write(chain([first], rows), own, task.partitionId())
            yield pa.record_batch([pa.array([pickle.dumps(found)], pa.binary())], names=["written"])

    return [pickle.loads(row["written"]) for row in frame.mapInArrow(written, "written BINARY").collect()]  # noqa: S301 - as above


@contextmanager
def workspace() -> Iterator[Workspace]:
    """Means to write rows: in the driver, or in a task."""
    with tempfile.TemporaryDirectory(prefix="lakegate-") as folder, database(Path(folder), TASK_MEMORY) as connection:
        yield Workspace(ANYWHERE, connection, Path(folder), keep)
