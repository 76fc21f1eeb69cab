"""The lines of an object, or the elements of a JSON array, numbered, each with the bytes it accounts for.

Plain lines are Spark's to read, in as many tasks as there are cores. What is packed, and an array, is read as a stream in one
task (`engine.read.streams`): Spark would unpack by a file's name, and take an array for one line.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name Spark's own documentation gives it

from contracts.header import HEAD
from contracts.kinds import BOM
from contracts.model import Compression, Format
from engine.read.limits import LONGEST_LINE, unreadable
from engine.read.streams import BrokenError, elements, folded, lines, unpacked
from spark_jobs.records import fold_lines
from spark_jobs.store import store_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from contracts.plan import Plan
    from engine.read.streams import Batch, Piece

_LONGEST_LINE_OPTION = "mapreduce.input.linerecordreader.line.maxlength"
_STREAMED = "value binary, bytes long, broken string"


@dataclass(frozen=True, slots=True)
class Stream:
    """How an object is read in one task."""

    address: str
    compression: Compression
    is_array: bool
    quote: str | None
    """The quote in which lines go on; None where a line is a record."""
    skips_mark: bool
    """Whether a byte order mark is promised."""


def is_streamed(plan: Plan) -> bool:
    """Whether objects of a plan are read in one task each."""
    return plan.storage.compression is not Compression.NONE or plan.storage.format is Format.JSON


def text_lines(spark: SparkSession, plan: Plan, address: str, number: int, unseen: int) -> DataFrame:
    """The lines of one plain object (or its folded records).

    `unseen` bytes stand before the first line: Spark's text reader passes over a byte order mark.
    """
    reader = spark.read.option("lineSep", "\n").option(_LONGEST_LINE_OPTION, str(LONGEST_LINE))
    found = reader.text(address).select("value")
    if plan.csv.multi_line:
        found = fold_lines(found, plan.csv.quote)
    numbered = found.select("value", F.lit(number).alias("part"), F.monotonically_increasing_id().alias("id"))
    before = F.when(F.col("id") == 0, unseen).otherwise(0) if unseen else F.lit(0)
    return numbered.withColumn("bytes", F.octet_length("value") + 1 + before)


def streamed_lines(spark: SparkSession, stream: Stream, number: int) -> DataFrame:
    """The records of one object as a stream; the last row has no value, and says in `broken` why the file has no good end."""

    def read(_: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches(stream)

    found = spark.range(0, 1, 1, 1).mapInArrow(read, _STREAMED)
    numbered = found.select("*", F.lit(number).alias("part"), F.monotonically_increasing_id().alias("id"))
    return numbered.withColumn("value", F.col("value").cast("string"))


def stream_of(plan: Plan, address: str) -> Stream:
    """How the contract has an object read."""
    is_array, csv = plan.storage.format is Format.JSON, plan.csv
    folds = plan.storage.format is Format.CSV and csv.multi_line
    marked = plan.storage.format is Format.CSV and csv.encoding == "utf-8-sig"
    return Stream(address, plan.storage.compression, is_array, csv.quote if folds else None, marked)


def beginning_of(stream: Stream) -> bytes:
    """The first unpacked bytes of a packed object, which is counted to its end; UnreadableError where it has no good one.

    A bomb is told before Spark reads: unpacking takes seconds for what parsing would take minutes for.
    """
    found = b""
    try:
        with closing(store_for(stream.address).stream(stream.address)) as source:
            for piece, _ in unpacked(source, stream.compression):
                found += piece[: HEAD - len(found)]
    except BrokenError as error:
        raise unreadable(error.code) from None
    return found


def has_giant_line(address: str) -> bool:
    """Whether an object has a line that Spark was told to pass over: asked where bytes are missing."""
    size = 0
    with closing(store_for(address).stream(address)) as source:
        for piece, _ in unpacked(source, Compression.NONE):
            first, *rest = piece.split(b"\n")
            size += len(first)
            if size >= LONGEST_LINE:
                return True
            size = len(rest[-1]) if rest else size
    return False


def batches(stream: Stream) -> Iterator[pa.RecordBatch]:
    """The records of a stream, in a worker."""
    import pyarrow as pa  # noqa: PLC0415 - a worker's import

    rest, broken = 0, None
    with closing(store_for(stream.address).stream(stream.address)) as source:
        try:
            for found, taken in _records(unpacked(source, stream.compression), stream):
                rest += taken
                if found:
                    size = [rest] + [0] * (len(found) - 1)
                    columns = [
                        pa.array(found, pa.binary()),
                        pa.array(size, pa.int64()),
                        pa.nulls(len(found), pa.string()),
                    ]
                    yield pa.RecordBatch.from_arrays(columns, names=["value", "bytes", "broken"])
                    rest = 0
        except BrokenError as error:
            broken = error.code
    end = [pa.array([None], pa.binary()), pa.array([rest], pa.int64()), pa.array([broken], pa.string())]
    yield pa.RecordBatch.from_arrays(end, names=["value", "bytes", "broken"])


def _records(pieces: Iterator[Piece], stream: Stream) -> Iterable[Batch]:
    if stream.is_array:
        return elements(pieces)
    found = lines(_without_mark(pieces) if stream.skips_mark else pieces)
    return found if stream.quote is None else folded(found, stream.quote.encode())


def _without_mark(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """The byte order mark is no text; pieces may be smaller than it."""
    head, taken = b"", 0
    for piece, packed in pieces:
        head, taken = head + piece, taken + packed
        if len(head) >= len(BOM):
            break
    yield from chain([(head.removeprefix(BOM), taken)], pieces)
