"""What a CSV file's lines are, decided before any value is read: the grammar of records, as columns of Spark.

A record is a line (LF or CRLF), or several where the contract allows line breaks in quoted values. It is split at the
delimiter; quotes are those of RFC 4180: a quoted value begins right after a delimiter, ends right before one, and doubles the
quotes inside. A CR elsewhere than before an LF is a line break too: other readers would split there. A line that keeps to none of
this is *malformed* and never guessed at.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name Spark's own documentation gives it

from engine.read.limits import LONGEST_RECORD

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from contracts.model import Csv

CHARSETS = {
    "utf-8": "UTF-8",
    "utf-8-sig": "UTF-8",
    "us-ascii": "US-ASCII",
    "iso-8859-1": "ISO-8859-1",
    "windows-1252": "windows-1252",
}
"""Encodings a contract may declare, with Java's names; in all of them a line feed is the byte 10."""

_NUL = "\x00"
_NEXT = _NUL + ","
"""Stands for a delimiter outside quotes; no text holds it, because a record with a NUL is malformed."""
_QUOTED = _NUL + "q"
"""Stands before a value that was quoted."""


def texts_of(lines: DataFrame, csv: Csv) -> DataFrame:
    """Add to lines (`value`) their `text`, decoded and without the CR of a CRLF."""
    return lines.withColumn("text", _chomped(_decoded(csv)))


def split_records(texts: DataFrame, csv: Csv, width: int) -> DataFrame:
    """Add `malformed` (a reason or null), `quoted` and `values` (`width` texts, or null) to records in `text`.

    Records that are `plain` are not looked at: their values are known.
    """
    pieces = F.col("pieces")
    judged = texts.withColumn("malformed", F.when(~F.col("plain"), _unusable(csv)))
    odd = ~F.col("plain") & F.col("malformed").isNull()
    quoted = judged.withColumn("quoted", odd & F.col("text").contains(csv.quote))
    pieced = quoted.withColumn("pieces", F.when(F.col("quoted"), F.split("text", literal_pattern(csv.quote), -1)))
    checked = pieced.withColumn("malformed", F.coalesce("malformed", F.when(_misquoted(pieces, csv), F.lit("quotes"))))
    valued = checked.withColumn("values", F.when(odd, _values(pieces, csv)))
    counted = F.coalesce("malformed", F.when(odd & (F.size("values") != width), F.lit("fields")))
    return valued.withColumn("malformed", counted).drop("pieces", "value")


def cell(position: int) -> str:
    """The text at a position of `values`, in SQL; null where there are none, or the value is empty and unquoted."""
    return f"CASE WHEN malformed IS NULL AND (quoted OR values[{position}] != '') THEN values[{position}] END"


def fold_lines(lines: DataFrame, quote: str) -> DataFrame:
    """Lines joined to records: a line with an open quote goes on in the next. One task, because only order tells."""

    def fold(batches):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 - Arrow ships no types
        import pyarrow as pa  # noqa: PLC0415 - a worker's import

        mark, held, size, is_open = quote.encode(), [], 0, False
        for batch in batches:
            folded = []
            for line in batch.column(0).cast(pa.binary()).to_pylist():
                held.append(line)
                size += len(line) + 1
                is_open ^= line.count(mark) % 2 == 1
                if not is_open or size > LONGEST_RECORD:
                    folded.append(b"\n".join(held))
                    held, size = [], 0
            yield pa.RecordBatch.from_arrays([pa.array(folded, pa.binary())], names=["value"])
        if held:
            yield pa.RecordBatch.from_arrays([pa.array([b"\n".join(held)], pa.binary())], names=["value"])

    folded = lines.select("value").coalesce(1).mapInArrow(fold, "value binary")
    return folded.select(F.col("value").cast("string").alias("value"))


def literal_pattern(text: str) -> str:
    """A pattern that matches just this text."""
    return re.sub(r"([^A-Za-z0-9,;\t\x00])", r"\\\1", text)


def _decoded(csv: Csv) -> Column:
    """UTF-8 is what Spark's texts are made of: those bytes are taken as they are and judged later."""
    if csv.encoding.startswith("utf-8"):
        return F.col("value")
    return F.decode(F.col("value").cast("binary"), CHARSETS[csv.encoding])


def _chomped(text: Column) -> Column:
    return F.when(text.endswith("\r"), text.substr(F.lit(1), F.length(text) - 1)).otherwise(text)


def _unusable(csv: Csv) -> Column:
    """Why the line cannot be read as text at all; a decoder writes U+FFFD where bytes are none of its encoding."""
    text = F.col("text")
    is_utf_8 = csv.encoding.startswith("utf-8")
    foreign = F.decode(text.cast("binary"), "UTF-8") != text if is_utf_8 else text.contains("\ufffd")
    broken = text.contains("\r") & ~(F.lit(csv.multi_line) & text.contains(csv.quote))
    return (
        F.when(F.octet_length("value") > LONGEST_RECORD, "too_long")
        .when(text.contains(_NUL), "nul")
        .when(foreign, "encoding")
        .when(broken, "quotes")
    )


def _misquoted(pieces: Column, csv: Csv) -> Column:
    """Whether the pieces between quotes break the grammar; pieces at even positions stand outside quotes."""
    last = F.size(pieces) - 1

    def is_bad(piece: Column, at: Column) -> Column:
        begins = (at == 0) | piece.startswith(csv.delimiter)
        ends = (at == last) | piece.endswith(csv.delimiter)
        return (at % 2 == 0) & (piece != "") & (~(begins & ends) | piece.contains("\r"))

    return (last % 2 == 1) | F.exists(F.transform(pieces, is_bad), lambda bad: bad)


def _values(pieces: Column, csv: Csv) -> Column:
    last, quote = F.size(pieces) - 1, F.lit(csv.quote)

    def spelled(piece: Column, at: Column) -> Column:
        outside = F.concat(
            F.replace(piece, F.lit(csv.delimiter), F.lit(_NEXT)), F.when(at < last, _QUOTED).otherwise("")
        )
        doubled = (piece == "") & (at > 0) & (at < last)
        return F.when(at % 2 == 1, piece).when(doubled, quote).otherwise(outside)

    def unmarked(value: Column) -> Column:
        return F.when(value.startswith(_QUOTED), value.substr(F.lit(len(_QUOTED) + 1), F.length(value))).when(
            value != "", value
        )

    spelled_out = F.split(F.array_join(F.transform(pieces, spelled), ""), literal_pattern(_NEXT), -1)
    return F.when(F.col("quoted"), F.transform(spelled_out, unmarked)).otherwise(
        F.split("text", literal_pattern(csv.delimiter), -1)
    )
