"""The short way: records that need no second look, which are nearly all in files that machines write.

A record is *plain* when one expression finds the alphabet of each value between its delimiters, and nothing that the grammar of
records knows more about (a quote, a NUL, a stray CR, bytes that are none of the encoding); and when Spark's own CSV parser can
read a number wherever one is promised. That parser is lenient about numbers (` 1`, `1d`, `NaN`), the alphabet is not: together
they are the grammar of docs/types.md. Whatever is not plain goes the long way, value by value, and gets the same answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name Spark's own documentation gives it

from contracts.types import GRAMMARS, Cast
from engine.read.limits import LONGEST_RECORD
from spark_jobs.records import literal_pattern

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from contracts.model import Csv
    from contracts.plan import PlanField

_DELIMITERS = ",;\t|"
_QUOTES = "\"'"
"""Characters that no grammar of a typed value uses."""
_NUMBERS = {Cast.LONG: (r"[-+0-9]*", "BIGINT"), Cast.DOUBLE: (r"[-+.0-9]{0,200}+", "DOUBLE")}
"""The alphabet of numbers without an exponent, and what Spark's parser reads them as."""
_BAD = "bad"
"""A name no alias has: where the parser puts a record with a value it cannot read."""


def mark_plain(texts: DataFrame, csv: Csv, fields: list[PlanField | None]) -> DataFrame:
    """Add `plain`, `parsed` (the values of a plain record by alias) and `cells` (its texts by position) to records in `text`.

    `fields` are those the records should hold, in order; None stands for a value that no field declares.
    """
    if csv.delimiter not in _DELIMITERS or csv.quote not in _QUOTES:
        nothing = F.struct(*[F.lit(None).cast(_kind(each, csv)).alias(each.alias) for each in fields if each])
        cells = F.lit(None).cast("array<string>")
        return texts.withColumns({"plain": F.lit(False), "parsed": nothing, "cells": cells})
    options = {"sep": csv.delimiter, "quote": "", "columnNameOfCorruptRecord": _BAD}
    parsed = F.when(_is_spelt(csv, fields), F.from_csv("text", _schema(fields, csv), options))
    plain = F.col("parsed").isNotNull() & F.col(f"parsed.{_BAD}").isNull()
    cells = F.when(F.col("plain"), F.split("text", literal_pattern(csv.delimiter), -1))
    return texts.withColumn("parsed", parsed).withColumn("plain", plain).withColumn("cells", cells)


def is_parsed(field: PlanField, csv: Csv) -> bool:
    """Whether the number in a plain record is read already; not where some numbers mean null."""
    return GRAMMARS[field.type].cast in _NUMBERS and not csv.null_values


def plain_text(field: PlanField, csv: Csv, position: int) -> str:
    """The text of a field in a plain record, in SQL; null where it is empty."""
    if not is_parsed(field, csv):
        return f"parsed.{field.alias}"
    return f"nullif(cells[{position}], '')"


def _is_spelt(csv: Csv, fields: list[PlanField | None]) -> Column:
    record = literal_pattern(csv.delimiter).join(_alphabet(each, csv) for each in fields)
    text = F.col("text")
    return (F.octet_length("value") <= LONGEST_RECORD) & (text != "") & text.rlike(rf"\A{record}\z")


def _alphabet(field: PlanField | None, csv: Csv) -> str:
    if field and is_parsed(field, csv):
        return _NUMBERS[GRAMMARS[field.type].cast][0]
    pattern = GRAMMARS[field.type].pattern if field else None
    anything = rf"[^{literal_pattern(csv.delimiter)}{literal_pattern(csv.quote)}\x00\r\ufffd]*+"
    return anything if pattern is None else f"(?:{pattern})?+"


def _schema(fields: list[PlanField | None], csv: Csv) -> str:
    names = [f"{each.alias} {_kind(each, csv)}" if each else f"x{at} STRING" for at, each in enumerate(fields)]
    return ", ".join([*names, f"{_BAD} STRING"])


def _kind(field: PlanField, csv: Csv) -> str:
    return _NUMBERS[GRAMMARS[field.type].cast][1] if is_parsed(field, csv) else "STRING"
