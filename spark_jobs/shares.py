"""Writes accepted and rejected rows in the declared format, rejected rows with their reasons.

======================  ===========================  ==============================================================
format                  accepted rows                rejected rows
======================  ===========================  ==============================================================
csv                     unchanged lines              the same, after a first column `_reasons`
jsonl                   unchanged lines              `{"_reasons": …, "_record": …}`, the unchanged record
parquet, orc, avro      unchanged columns            the same, after a first column `_reasons`
======================  ===========================  ==============================================================

A compressed delivery is compressed again, with the same codec.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name Spark's own documentation gives it

from lakegate.contracts.model.storage import Compression, Format
from lakegate.contracts.plan.result import Shares, WrittenObject
from lakegate.spark_jobs.store import store_for
from lakegate.spark_jobs.table_types import named_type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame, DataFrameWriter

    from lakegate.contracts.plan.plan import Plan
    from lakegate.engine.type.physical import Physical

    Write = Callable[[Plan, "Judged", DataFrame, DataFrame, str], None]

REASONS = "_reasons"
RECORD = "_record"
POSITION_BITS = 33
"""Spark's own: `monotonically_increasing_id` holds the task above these bits and the position in it below."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The unchanged records, and whether and why they are rejected."""

    frame: DataFrame
    """`malformed`, `reasons`, and `line`; of a table its columns `x0`, `x1`, … instead."""
    kinds: Mapping[str, Physical]
    """The columns of a table by their names in the file."""
    header: str | None
    """The header line of CSV."""


def write_shares(plan: Plan, judged: Judged, folder: str) -> Shares:
    """Write both shares below a folder, and list what was written."""
    good, bad = judged.frame.where(F.col("reasons") == ""), judged.frame.where(F.col("reasons") != "")
    WRITERS.get(plan.storage.format, _table)(plan, judged, good, bad, folder)
    return Shares(accepted=_written(f"{folder}/accepted"), rejected=_written(f"{folder}/rejected"))


def _csv(plan: Plan, judged: Judged, good: DataFrame, bad: DataFrame, folder: str) -> None:
    quote, delimiter, header = plan.csv.quote, plan.csv.delimiter, judged.header
    reasons = F.concat(F.lit(quote), F.replace("reasons", F.lit(quote), F.lit(quote * 2)), F.lit(quote + delimiter))
    _write_lines(plan, good.select(F.col("line").alias("value")), header, f"{folder}/accepted")
    above = header and f"{REASONS}{delimiter}{header}"
    _write_lines(plan, bad.select(F.concat(reasons, "line").alias("value")), above, f"{folder}/rejected")


def _jsonl(plan: Plan, _: Judged, good: DataFrame, bad: DataFrame, folder: str) -> None:
    reasons, broken = F.col("reasons").alias(REASONS), F.col("line").alias(RECORD)
    begun = F.regexp_replace(F.to_json(F.struct(reasons)), r"\}\z", f',"{RECORD}":')
    whole = F.concat(begun, "line", F.lit("}"))
    rejected = F.when(~F.col("malformed"), whole).otherwise(F.to_json(F.struct(reasons, broken)))
    _write_lines(plan, good.select(F.col("line").alias("value")), None, f"{folder}/accepted")
    _write_lines(plan, bad.select(rejected.alias("value")), None, f"{folder}/rejected")


def _table(plan: Plan, judged: Judged, good: DataFrame, bad: DataFrame, folder: str) -> None:
    columns = [
        F.col(f"x{at}").cast(named_type(kind)).alias(name) for at, (name, kind) in enumerate(judged.kinds.items())
    ]
    good.select(*columns).write.format(plan.storage.format.value).save(f"{folder}/accepted")
    rejected = bad.select(F.col("reasons").alias(REASONS), *columns)
    rejected.write.format(plan.storage.format.value).save(f"{folder}/rejected")


def _write_lines(plan: Plan, lines: DataFrame, header: str | None, uri: str) -> None:
    """Text objects, each under the header; the first row of each task carries it."""
    first = F.monotonically_increasing_id().bitwiseAND(F.lit((1 << POSITION_BITS) - 1)) == 0
    headed = F.when(first, F.concat(F.lit(f"{header}\n"), F.col("value"))).otherwise(F.col("value"))
    found = lines.select((headed if header is not None else F.col("value")).alias("value"))
    _packed(plan, found.write).text(uri)


def _packed(plan: Plan, writer: DataFrameWriter) -> DataFrameWriter:
    codec = plan.storage.compression
    return writer if codec is Compression.NONE else writer.option("compression", codec.value)


def _written(uri: str) -> tuple[WrittenObject, ...]:
    store = store_for(uri)
    return tuple(WrittenObject(each, store.size(each), store.etag(each)) for each in store.list_parts(uri))


WRITERS: dict[Format, Write] = {Format.CSV: _csv, Format.JSONL: _jsonl}
"""Formats of text; Spark has a writer of its own for each table format."""
