"""Reading: exactly the staged bytes, as one data frame of records with a text and a value for each declared field.

Columns of the frame: `part`, `id` (task and position), `bytes`, `no_record` (header and blank lines), `plain`, `malformed` and
`line` (the record as text); and of each declared field its text under the alias (`c0`), its typed value (`vc0`) and, of a
number, the text only where the record is not plain (`oc0`): Spark would compute a text that is used twice for each record.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name Spark's own documentation gives it

from contracts.errors import InputError
from contracts.header import HEAD, columns_of, first_line, text_of
from contracts.kinds import BOM, UnreadableError
from contracts.result import Columns
from spark_jobs.plain import is_parsed, mark_plain, plain_text
from spark_jobs.records import cell, fold_lines, split_records, texts_of
from spark_jobs.store import store_for
from spark_jobs.typed import odd_name, typed_value, value_name

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

    from contracts.model import Csv
    from contracts.plan import Plan, PlanField
    from contracts.request import Part, Request

POSITION_BITS = 33
"""Spark's own: `monotonically_increasing_id` holds the task above these bits and the position in it below."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """The records of a delivery, not yet read."""

    frame: DataFrame
    columns: Columns
    header: str | None
    """The header line as the file has it; None where it has none."""
    sizes: tuple[int, ...]
    """Bytes of each part, which reading must account for."""


def open_delivery(spark: SparkSession, plan: Plan, request: Request) -> Delivery:
    """The delivery as a lazy frame.

    UnreadableError where it is none of the promised shape, InputError where its bytes are not the pinned ones.
    """
    heads = [_head(part) for part in request.parts]
    header, columns = _header(heads, plan)
    frames = [
        _lines(spark, plan, part.uri, number, len(BOM) if head.startswith(BOM) else 0)
        for number, (part, head) in enumerate(zip(request.parts, heads, strict=True))
    ]
    declared = {field.name: field for field in plan.fields}
    found = [declared.get(name) for name in columns.found]
    texts = texts_of(reduce(DataFrame.union, frames), plan.csv)
    records = split_records(mark_plain(texts, plan.csv, found), plan.csv, len(found))
    marked = records.withColumn("no_record", _no_record(header, len(columns.found)))
    return Delivery(_named(marked, plan, columns), columns, header, tuple(part.size for part in request.parts))


def _header(heads: list[bytes], plan: Plan) -> tuple[str | None, Columns]:
    """The header line that all parts share, if the contract has one, and the columns it names."""
    lines = [first_line(text_of(head, plan.storage, plan.csv) or b"", plan.csv) for head in heads]
    declared = tuple(field.name for field in plan.fields)
    if not plan.csv.header:
        return None, Columns(declared)
    if len(set(lines)) > 1:
        raise UnreadableError(
            "header", "the objects of the delivery have different headers: give all of them the same one"
        )
    return lines[0], columns_of(lines[0], plan.csv, declared)


def _head(part: Part) -> bytes:
    store = store_for(part.uri)
    try:
        size = store.size(part.uri)
    except OSError as error:
        raise InputError(f"the staged object cannot be read ({error.strerror}): stage it again") from error
    if size != part.size:
        raise InputError(f"the staged object has {size:,} bytes, the request says {part.size:,}: stage it again")
    return store.read(part.uri, HEAD)


def _lines(spark: SparkSession, plan: Plan, uri: str, number: int, unseen: int) -> DataFrame:
    """The lines of one object (or its folded records), numbered, each with the bytes it accounts for.

    `unseen` bytes stand before the first line: Spark's text reader passes over a byte order mark.
    """
    lines = spark.read.option("lineSep", "\n").text(uri).select("value")
    if plan.csv.multi_line:
        lines = fold_lines(lines, plan.csv.quote)
    numbered = lines.select("value", F.lit(number).alias("part"), F.monotonically_increasing_id().alias("id"))
    before = F.when(F.col("id") == 0, unseen).otherwise(0) if unseen else F.lit(0)
    return numbered.withColumn("bytes", F.octet_length("value") + 1 + before)


def _no_record(header: str | None, width: int) -> Column:
    """The header is the first line of its object; blank lines are no records where a record has several values."""
    blank = (F.col("text") == "") if width > 1 else F.lit(False)
    return blank if header is None else blank | ((F.col("id") == 0) & (F.col("text") == header))


def _named(records: DataFrame, plan: Plan, columns: Columns) -> DataFrame:
    place = {name: position for position, name in enumerate(columns.found)}
    texts = [
        f"{sql} AS {name}" for each in plan.fields for name, sql in _texts(each, plan.csv, place.get(each.name)).items()
    ]
    kept = ("part", "id", "bytes", "no_record", "plain", "malformed", "parsed", "text AS line")
    named = _with_nulls(records.selectExpr(*kept, *texts), plan)
    values = [f"{_value(each, plan.csv, place)} AS {value_name(each.alias)}" for each in plan.fields]
    return named.selectExpr("*", *values).drop("parsed")


def _texts(field: PlanField, csv: Csv, at: int | None) -> dict[str, str]:
    """The columns that hold a field's text, by name, in SQL."""
    if at is None:
        return {field.alias: "string(NULL)"}
    text = {field.alias: f"CASE WHEN plain THEN {plain_text(field, csv, at)} ELSE {cell(at)} END"}
    return text | {odd_name(field.alias): cell(at)} if is_parsed(field, csv) else text


def _value(field: PlanField, csv: Csv, place: dict[str, int]) -> str:
    """The typed value, in SQL: as it was parsed, or by way of the text."""
    if field.name not in place or not is_parsed(field, csv):
        return typed_value(field, field.alias)
    return f"CASE WHEN plain THEN parsed.{field.alias} ELSE {typed_value(field, odd_name(field.alias))} END"


def _with_nulls(named: DataFrame, plan: Plan) -> DataFrame:
    """Texts that the contract declares to mean null become null."""
    if not plan.csv.null_values:
        return named
    nulls = list(plan.csv.null_values)
    return named.withColumns(
        {each.alias: F.when(~F.col(each.alias).isin(nulls), F.col(each.alias)) for each in plan.fields}
    )
