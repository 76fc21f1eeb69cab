"""Accepted and rejected rows written apart by Spark."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from errno import EIO
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812 - the name Spark's own documentation gives it
from pyspark.sql import types

from lakegate.base.errors import InputError
from lakegate.contract.file_formats import Compression, Format
from lakegate.engine.read.data_source import LINE, ROW, Source
from lakegate.engine.read.stored_types import Kind, Physical, to_canonical
from lakegate.engine.rejected_rows import Rejected, reasons_of
from lakegate.job.job_storage import store_for
from lakegate.plan.plan import Plan
from lakegate.plan.result import Shares, WrittenObject
from lakegate.spark.spark_session import OUTPUT_TIMESTAMPS, settings

if TYPE_CHECKING:
    import numpy as np
    from pyspark.sql import DataFrame, SparkSession

    Write = Callable[[Plan, "Judged", DataFrame, DataFrame, str], None]

# ---- Types in which Spark writes columns ----


def named_type(physical: Physical, form: Format) -> types.DataType:
    """The type in Spark, members of records under their own names."""
    inner = [named_type(part, form) for _, part in physical.parts]
    match physical.kind:
        case Kind.EXACT:
            return types.DecimalType(*physical.digits)
        case Kind.RECORD:
            members = zip(physical.parts, inner, strict=True)
            return types.StructType([types.StructField(name, each) for (name, _), each in members])
        case Kind.LIST | Kind.MAP:
            return types.ArrayType(inner[0]) if physical.kind is Kind.LIST else types.MapType(inner[0], inner[1])
        case Kind.WHOLE:
            return _WHOLE.get(physical.words, types.LongType)()
        # ORC knows no other moments from Spark, and it would mark those without a zone for itself alone.
        case Kind.MOMENT if physical.has_zone is False and form is not Format.ORC:
            return types.TimestampNTZType()
        case _:
            return _TYPES[physical.kind]()


_TYPES: dict[Kind, type[types.DataType]] = {
    Kind.TEXT: types.StringType,
    Kind.BYTES: types.BinaryType,
    Kind.FLOAT: types.FloatType,
    Kind.DOUBLE: types.DoubleType,
    Kind.BOOLEAN: types.BooleanType,
    Kind.DATE: types.DateType,
    Kind.MOMENT: types.TimestampType,
}
_WHOLE: dict[str, type[types.DataType]] = {
    "int8": types.ByteType,
    "int16": types.ShortType,
    "int32": types.IntegerType,
    "int": types.IntegerType,
    "uint8": types.ShortType,
    "uint16": types.IntegerType,
}
"""By the file's own name, the narrowest type that has its numbers: Spark has none without a sign."""


def stored_moments(kinds: Iterable[Physical]) -> str:
    """How Spark stores moments with a zone in Parquet (`spark.sql.parquet.outputTimestampType`), as the delivery does.

    One setting is for all columns: microseconds where they differ. Moments without a zone are always microseconds.
    """
    leaves = [leaf for kind in kinds for leaf in kind.leaves()]
    moments = [leaf for leaf in leaves if leaf.kind is Kind.MOMENT and leaf.has_zone is not False]
    forms = {"INT96" if leaf.is_of_any_zone else _STORED.get(leaf.words, _MICROSECONDS) for leaf in moments}
    return forms.pop() if len(forms) == 1 else _MICROSECONDS


_MICROSECONDS = "TIMESTAMP_MICROS"
_STORED = {"timestamp[ms, tz=UTC]": "TIMESTAMP_MILLIS"}


# ---- Accepted and rejected rows in the declared format ----
# ======================  ===========================  ==============================================================
# format                  accepted rows                rejected rows
# ======================  ===========================  ==============================================================
# csv                     unchanged records, in the    the same, after a first column `_reasons`
#                         delivery's encoding, each
#                         ended by LF
# jsonl                   unchanged lines              `{"_reasons": …, "_record": …}`, the unchanged record
# parquet, orc, avro      unchanged columns            the same, after a first column `_reasons`
# ======================  ===========================  ==============================================================
#
# A compressed delivery is compressed again, with the same codec.


REASONS = "_reasons"
RECORD = "_record"
RENAMED_AT_ONCE = 16
"""S3 copies an object to its new name, so that many at once are not much slower than one."""
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
    titles: bytes
    """The lines above it."""


def write_shares(spark: SparkSession, plan: Plan, judged: Judged, folder: str) -> Shares:
    """Write both shares below a folder, and list what was written."""
    good, bad = judged.frame.where(F.col("reasons") == ""), judged.frame.where(F.col("reasons") != "")
    WRITERS.get(plan.storage.format, _table)(plan, judged, good, bad, folder)
    if plan.storage.format in WRITERS:
        for share in ("accepted", "rejected"):
            _end_as_format(spark, f"{folder}/{share}", plan.storage.suffix)
    return Shares(accepted=_written(f"{folder}/accepted"), rejected=_written(f"{folder}/rejected"))


def _csv(plan: Plan, judged: Judged, good: DataFrame, bad: DataFrame, folder: str) -> None:
    quote, delimiter, header = plan.csv.quote, plan.csv.delimiter, judged.header
    reasons = F.concat(F.lit(quote), F.replace("reasons", F.lit(quote), F.lit(quote * 2)), F.lit(quote + delimiter))
    broken = F.concat(F.encode(reasons, plan.csv.encoding), "line")
    titles, encoding = judged.titles, plan.csv.encoding
    above = titles if header is None else titles + f"{header}\n".encode(encoding)
    _write_lines(plan, good.select(F.col("line").alias("value")), above, f"{folder}/accepted")
    above = titles if header is None else titles + f"{REASONS}{delimiter}{header}\n".encode(encoding)
    _write_lines(plan, bad.select(broken.alias("value")), above, f"{folder}/rejected")


def _jsonl(plan: Plan, _: Judged, good: DataFrame, bad: DataFrame, folder: str) -> None:
    reasons, broken = F.col("reasons").alias(REASONS), F.col("line").alias(RECORD)
    begun = F.regexp_replace(F.to_json(F.struct(reasons)), r"\}\z", f',"{RECORD}":')
    whole = F.concat(begun, "line", F.lit("}"))
    rejected = F.when(~F.col("malformed"), whole).otherwise(F.to_json(F.struct(reasons, broken)))
    _write_lines(plan, good.select(F.col("line").alias("value")), b"", f"{folder}/accepted")
    _write_lines(plan, bad.select(rejected.alias("value")), b"", f"{folder}/rejected")


def _table(plan: Plan, judged: Judged, good: DataFrame, bad: DataFrame, folder: str) -> None:
    form, kinds = plan.storage.format, judged.kinds
    columns = [
        F.col(f"x{at}").cast(named_type(kind, form)).alias(name) for at, (name, kind) in enumerate(kinds.items())
    ]
    rejected = bad.select(F.col("reasons").alias(REASONS), *columns)
    with settings(judged.frame.sparkSession, {OUTPUT_TIMESTAMPS: stored_moments(kinds.values())}):
        good.select(*columns).write.format(form.value).save(f"{folder}/accepted")
        rejected.write.format(form.value).save(f"{folder}/rejected")


def _write_lines(plan: Plan, lines: DataFrame, above: bytes, uri: str) -> None:
    """Text objects, each under the same lines; the first row of each task carries them. Bytes are written as they are."""
    first = F.monotonically_increasing_id().bitwiseAND(F.lit((1 << POSITION_BITS) - 1)) == 0
    headed = F.when(first, F.concat(F.lit(bytearray(above)), F.col("value"))).otherwise(F.col("value"))
    writer = lines.select((headed if above else F.col("value")).cast("string").alias("value")).write
    codec = plan.storage.compression
    (writer if codec is Compression.NONE else writer.option("compression", codec.value)).text(uri)


def _end_as_format(spark: SparkSession, uri: str, suffix: str) -> None:
    """Give the text objects of a folder the ending of their format: Spark ends each of them with `.txt`, whatever is in it.

    Before they are listed: the result states the only name that an object ever has in the lake. OSError where one is not renamed.
    """
    jvm, context = spark._jvm, spark.sparkContext  # noqa: SLF001 - PySpark has no other way to the file system of the writer
    assert jvm is not None
    configuration = context._jsc.hadoopConfiguration()  # noqa: SLF001 - as above

    def rename(part: str) -> None:
        folder, _, name = part.rpartition("/")
        before = jvm.org.apache.hadoop.fs.Path(part)
        after = jvm.org.apache.hadoop.fs.Path(f"{folder}/{name.partition('.')[0]}{suffix}")
        if not before.getFileSystem(configuration).rename(before, after):
            raise OSError(EIO, f"{name} was not renamed")

    with ThreadPoolExecutor(RENAMED_AT_ONCE) as pool:
        for _ in pool.map(rename, store_for(uri).list_parts(uri)):
            pass


def _written(uri: str) -> tuple[WrittenObject, ...]:
    store = store_for(uri)
    return tuple(WrittenObject(part, store.size(part), store.etag(part)) for part in store.list_parts(uri))


WRITERS: dict[Format, Write] = {Format.CSV: _csv, Format.JSONL: _jsonl}
"""Formats of text; Spark has a writer of its own for each table format."""


# ---- The split of a delivery ----
# 1. The evaluation has noted which records break which check; a record that was not evaluated is malformed.
# 2. Tasks read their shares once more and add the reasons to each record; `lakegate.spark.spark_row_split` writes the unchanged
#    records.
# 3. Together the two parts contain every record once.


ORC_GAP = -141437, -141428
"""Days (since 1970) from 1582-10-05 to 1582-10-14: Spark writes each of them to ORC as 1582-10-15."""


def split(spark: SparkSession, plan: Plan, source: Source, rejected: Rejected, output_uri: str) -> Shares:
    """Write both shares below `<output_uri>/rows/` and list what was written."""
    kinds, checks, is_orc = list(source.kinds.values()), rejected.checks, plan.storage.format is Format.ORC
    is_csv = plan.storage.format is Format.CSV

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number, payload in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                lines, masks = pickle.loads(payload)  # noqa: S301 - the driver wrote it
                for found in source.originals(source.shares[number]):
                    if is_orc:
                        _refuse_lost_dates(found.columns)
                    yield from _with_reasons(found if is_csv else _decoded(found), lines, masks, checks, kinds)

    columns = [f"x{at} {kind.sql}" for at, kind in enumerate(kinds)] or [f"{LINE} {'BINARY' if is_csv else 'STRING'}"]
    schema = ", ".join(["malformed BOOLEAN", "reasons STRING", *columns])
    rows = [(partial.number, bytearray(pickle.dumps(rejected.reasons(partial)))) for partial in rejected.partials]
    tasks = max(1, min(len(rows), spark.sparkContext.defaultParallelism))
    numbered = spark.createDataFrame(spark.sparkContext.parallelize(rows, tasks), "number INT, payload BINARY")
    judged = Judged(numbered.mapInArrow(read, schema), source.kinds, source.header, source.titles)
    return write_shares(spark, plan, judged, f"{output_uri}/rows")


def _refuse_lost_dates(columns: Iterable[pa.Array | pa.ChunkedArray]) -> None:
    """InputError if Spark would write a different date: no result is better than changed data."""
    for column in columns:
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        if pa.types.is_nested(column.type):
            for chunk in chunks:
                _refuse_lost_dates(chunk.flatten() if pa.types.is_struct(column.type) else [chunk.values])
        elif pa.types.is_date32(column.type):
            days = column.cast(pa.int32())
            if pc.any(pc.and_(pc.greater_equal(days, ORC_GAP[0]), pc.less_equal(days, ORC_GAP[1]))).as_py():
                raise InputError(
                    "a date from 1582-10-05 to 1582-10-14 cannot be written to ORC: use Parquet, or onReject: file"
                )


def _refuse_lost_values(originals: list[pa.Array], values: list[pa.Array], accepted: pa.Array) -> None:
    """InputError if a value that does not fit its type would be missing in an accepted row; in rejected ones it is null."""
    for before, after in zip(originals, values, strict=True):
        if _nulls(before) != _nulls(after) and _nulls(before.filter(accepted)) != _nulls(after.filter(accepted)):
            raise InputError(
                "a value that does not fit the type of its column, which no rule rejects, cannot be written again: "
                "declare the column, or use onReject: file"
            )


def _nulls(array: pa.Array) -> int:
    """Nulls at every level of an array."""
    kind, own = array.type, int(array.null_count)
    if pa.types.is_map(kind):
        return own + sum(map(_nulls, pa.StructArray.from_arrays([array.keys, array.items], ["k", "v"]).flatten()))
    if pa.types.is_struct(kind):
        return own + sum(map(_nulls, array.flatten()))
    return own + _nulls(array.flatten()) if pa.types.is_nested(kind) else own


def _with_reasons(
    found: pa.Table, lines: np.ndarray, masks: np.ndarray, checks: tuple[str, ...], kinds: list[Physical]
) -> Iterator[pa.RecordBatch]:
    is_judged, reasons = reasons_of(found, lines, masks, checks)
    originals = [found.column(f"x{n}").combine_chunks() for n in range(len(kinds))]
    values = [to_canonical(each, kind) for each, kind in zip(originals, kinds, strict=True)]
    _refuse_lost_values(originals, values, pa.array([each == "" for each in reasons], pa.bool_()))
    columns = [
        pa.array(~is_judged),
        pa.array(reasons, pa.string()),
        *(values or [found.column(LINE)]),
    ]
    names = ["malformed", "reasons", *([f"x{n}" for n in range(len(kinds))] or [LINE])]
    yield from pa.table(columns, names=names).to_batches()


def _decoded(found: pa.Table) -> pa.Table:
    """The lines of JSON as text."""
    if LINE not in found.column_names:
        return found
    lines = [line.decode(errors="replace") for line in found.column(LINE).to_pylist()]
    return pa.table({ROW: found.column(ROW), LINE: pa.array(lines, pa.string())})
