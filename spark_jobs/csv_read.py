"""CSV: a text and a value for each declared field of each record (decisions 2 and 4).

Beside the columns of every delivery a number has its text only where the record is not plain (`oc0`): Spark would compute a text
that is used twice for each record.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name Spark's own documentation gives it

from contracts.header import columns_of, first_line
from contracts.kinds import BOM, UnreadableError
from contracts.result import Columns
from spark_jobs.delivery import Delivery, object_number
from spark_jobs.lines import is_streamed, stream_of, streamed_lines, text_lines
from spark_jobs.plain import is_parsed, mark_plain, plain_text
from spark_jobs.records import cell, split_records, texts_of
from spark_jobs.typed import odd_name, typed_value, value_name

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

    from contracts.model import Csv
    from contracts.plan import Plan, PlanField
    from contracts.request import Request


def open_csv(spark: SparkSession, plan: Plan, request: Request, heads: list[bytes]) -> Delivery:
    """The delivery as a lazy frame; `heads` are the first unpacked bytes of each part."""
    header, columns = _header(heads, plan)
    frames = [
        streamed_lines(spark, stream_of(plan, part.uri), number)
        if is_streamed(plan)
        else text_lines(spark, plan, part.uri, number, len(BOM) if head.startswith(BOM) else 0)
        for number, (part, head) in enumerate(zip(request.parts, heads, strict=True))
    ]
    declared = {field.name: field for field in plan.fields}
    found = [declared.get(name) for name in columns.found]
    texts = texts_of(reduce(DataFrame.union, frames), plan.csv)
    records = split_records(mark_plain(texts, plan.csv, found), plan.csv, len(found))
    marked = records.withColumn("no_record", _no_record(header, len(columns.found)))
    if is_streamed(plan):
        marked = _with_ends(marked)
    sizes, addresses = tuple(part.size for part in request.parts), tuple(part.uri for part in request.parts)
    slack = 0 if is_streamed(plan) else 1
    return Delivery(_named(marked, plan, columns), columns, header, sizes, slack, addresses)


def _header(heads: list[bytes], plan: Plan) -> tuple[str | None, Columns]:
    """The header line that all parts share, if the contract has one, and the columns it names."""
    lines = [_first_line(number, head, plan) for number, head in enumerate(heads)]
    declared = tuple(field.name for field in plan.fields)
    if not plan.csv.header:
        return None, Columns(declared)
    if len(set(lines)) > 1:
        raise UnreadableError(
            "header", "the objects of the delivery have different headers: give all of them the same one"
        )
    with object_number(0):
        return lines[0], columns_of(lines[0], plan.csv, declared, heads[0])


def _first_line(number: int, head: bytes, plan: Plan) -> str:
    with object_number(number):
        return first_line(head, plan.csv)


def _with_ends(records: DataFrame) -> DataFrame:
    """A stream ends in a row without a value: no record, or the reason why the file has no good end."""
    is_end = F.col("text").isNull()
    return records.withColumns(
        {
            "no_record": F.when(is_end, F.col("broken").isNull()).otherwise(F.col("no_record")),
            "malformed": F.when(is_end, F.col("broken")).otherwise(F.col("malformed")),
        }
    )


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
