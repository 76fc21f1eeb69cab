"""The partial results of a level as a small frame with a row for each share."""

from __future__ import annotations

from decimal import Decimal
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from lakegate.engine.evaluate.metrics import NUMBER_METRICS
from lakegate.engine.measure.aggregates import AGGREGATES, micros
from lakegate.engine.measure.partial import LevelCounts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakegate.engine.evaluate.program import Program
    from lakegate.engine.measure.aggregates import Aggregate
    from lakegate.engine.measure.partial import Moments, Partial

JUDGED = "judged"
"""The column of the number of judged records."""


def sums(
    spark: SparkSession, program: Program, total: LevelCounts, partials: list[Partial], judged_at: str
) -> DataFrame:
    """A row for each share: counts of each bit, and the aggregates of numbers that checks need, null without a number."""
    found = [each.levels.get(program.level, LevelCounts()) for each in partials]
    columns = {JUDGED: pa.array([each.rows for each in found], pa.int64())}
    for name in (*program.predicates.values(), *program.populations.values()):
        columns[name] = pa.array([each.bits.get(name, 0) for each in found], pa.int64())
    kinds = {name: numbers.kind for numbers, name in program.numbers.items()}
    for check in program.checks:
        metric = NUMBER_METRICS.get(check.metric)
        if metric is not None and metric.aggregate is not None:
            name, aggregate = program.number(check), AGGREGATES[metric.aggregate]
            values = [_value(each.numbers.get(name), total.numbers.get(name), aggregate, judged_at) for each in found]
            columns[aggregate_name(name, metric.aggregate)] = _column(values, aggregate, kinds[name])
    return local_frame(spark, pa.table(columns))


def aggregate_name(numbers: str, aggregate: str) -> str:
    """The column of an aggregate of a column of numbers."""
    return f"{numbers}_{aggregate}"


def _value(own: Moments | None, total: Moments | None, aggregate: Aggregate, judged_at: str) -> float | int | None:
    """The aggregate of one share."""
    return aggregate.of(own, total, micros(judged_at)) if own and total and own.count else None


def _column(values: list[float | int | None], aggregate: Aggregate, kind: str) -> pa.Array:
    """The values of shares: of whole numbers exact ones, whose sum may exceed 64 bits."""
    if aggregate.is_float or kind == "float":
        return pa.array(values, pa.float64())
    if aggregate.merge != "sum":
        return pa.array(values, pa.int64())
    return pa.array([None if each is None else Decimal(int(each)) for each in values], pa.decimal128(38, 0))


def local_frame(spark: SparkSession, table: pa.Table) -> DataFrame:
    """A small table as a frame of one partition that the driver holds.

    Rows given to `createDataFrame` would pass through Python workers, and a shuffle would follow.
    """
    jvm = spark._jvm  # noqa: SLF001 - PySpark converts Arrow this way, but from pandas alone
    assert jvm is not None
    with NamedTemporaryFile(suffix=".arrow") as file:
        with pa.ipc.new_stream(file.file, table.schema) as writer:
            writer.write_table(table)
        file.flush()
        batches = jvm.PythonSQLUtils.readArrowStreamFromFile(file.name)
    schema = from_arrow_schema(table.schema).json()
    frame = jvm.PythonSQLUtils.toDataFrame(batches, schema, spark._jsparkSession)  # noqa: SLF001 - likewise
    return DataFrame(frame, spark).coalesce(1)
