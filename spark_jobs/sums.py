"""What the records of a level add up to, as a small frame with a row for each share."""

from __future__ import annotations

from decimal import Decimal
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from lakegate.engine.measure.metrics import micros
from lakegate.engine.measure.partial import LevelCounts, Moments

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakegate.engine.evaluate.program import Program
    from lakegate.engine.measure.partial import Partial

JUDGED = "judged"
"""The column of the number of judged records."""
_WHOLE = pa.decimal128(38, 0)


def sums(
    spark: SparkSession, program: Program, total: LevelCounts, partials: list[Partial], judged_at: str
) -> DataFrame:
    """Counts of each bit; of numbers the sum, squares about the mean of all, ages and the greatest, null without a number."""
    found = [each.levels.get(program.level, LevelCounts()) for each in partials]
    columns = {JUDGED: pa.array([each.rows for each in found], pa.int64())}
    for name in (*program.predicates.values(), *program.populations.values()):
        columns[name] = pa.array([each.bits.get(name, 0) for each in found], pa.int64())
    for numbers, name in program.numbers.items():
        cells = [
            _cells(each.numbers.get(name, Moments()), total.numbers[name], numbers.kind, judged_at) for each in found
        ]
        types = [pa.float64() if numbers.kind == "float" else _WHOLE, pa.float64(), pa.int64(), pa.int64(), pa.int64()]
        names = [f"{name}_{of}" for of in ("total", "squares", "youngest", "oldest", "greatest")]
        columns |= {
            each: pa.array(own, kind) for each, own, kind in zip(names, zip(*cells, strict=True), types, strict=True)
        }
    return local_frame(spark, pa.table(columns))


def _cells(of: Moments, all_shares: Moments, kind: str, judged_at: str) -> tuple[object, ...]:
    """Of one share: sum, squares about the mean of all shares, ages and greatest."""
    if not of.count:
        return (None,) * 5
    distance = of.mean - all_shares.mean
    squares = of.squares + of.count * distance * distance
    if kind == "float":
        return float(of.total), squares, None, None, None
    if kind not in {"moment", "delay"}:
        return Decimal(int(of.total)), squares, None, None, None
    judged, least, greatest = micros(judged_at), int(of.least or 0), int(of.greatest or 0)
    return Decimal(int(of.total)), squares, judged - greatest, judged - least, greatest


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
