"""The columns of accepted and rejected parts have the types of the delivery, or those that docs/data.md says."""

from __future__ import annotations

import datetime as dt
import io
import json
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc
from pyspark.sql import functions as F  # noqa: N812 - the name Spark's own documentation gives it

from lakegate.contract.delivery_policy import OnReject, Policy
from lakegate.contract.file_formats import Format, Storage
from lakegate.plan.result import WrittenObject
from lakegate.verdict.verdict import Verdict
from tests.deliveries.delivery import Judged, plan_of, rule
from tests.deliveries.written import as_orc, as_parquet, written
from tests.engine.unfit import JULIAN_1970, int96

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
PLAN = plan_of({"id": "integer"}, rule("unique", "id"), policy=Policy(on_reject=OnReject.ROWS))
MOMENT = dt.datetime(2026, 11, 30, 1, 2, 3, 4000)  # noqa: DTZ001 - it has no zone
MICROSECONDS = 86_400_000_000
"""Those of a day."""
NAIVE, ZONED = pa.timestamp("us"), pa.timestamp("us", "UTC")
KEPT: dict[str, tuple[pa.DataType, Any]] = {
    "text": (pa.string(), "a"),
    "words": (pa.dictionary(pa.int32(), pa.string()), "a"),
    "bytes": (pa.binary(), b"\xff"),
    "boolean": (pa.bool_(), True),
    "tiny": (pa.int8(), -128),
    "small": (pa.int16(), -32768),
    "int": (pa.int32(), -(2**31)),
    "long": (pa.int64(), -(2**63)),
    "float": (pa.float32(), 0.5),
    "double": (pa.float64(), 0.1),
    "short_decimal": (pa.decimal128(9, 2), Decimal("1234567.89")),
    "decimal": (pa.decimal128(18, 0), Decimal(10**17)),
    "wide_decimal": (pa.decimal128(38, 18), Decimal("1.000000000000000001")),
    "date": (pa.date32(), MOMENT.date()),
    "naive": (NAIVE, MOMENT),
    "zoned": (ZONED, MOMENT.replace(tzinfo=dt.UTC)),
    "record": (pa.struct({"small": pa.int16(), "at": NAIVE}), {"small": 1, "at": MOMENT}),
    "list": (pa.list_(pa.struct({"at": NAIVE, "on": ZONED})), [{"at": MOMENT, "on": MOMENT.replace(tzinfo=dt.UTC)}]),
    "map": (pa.map_(pa.string(), NAIVE), [("a", MOMENT)]),
}
"""Types that are written as they came, each with a value."""
OTHERS: dict[str, tuple[pa.DataType, Any, pa.DataType, Any]] = {
    "u8": (pa.uint8(), 255, pa.int16(), 255),
    "u16": (pa.uint16(), 65535, pa.int32(), 65535),
    "u32": (pa.uint32(), 2**32 - 1, pa.int64(), 2**32 - 1),
    "u64": (pa.uint64(), 2**64 - 1, pa.decimal128(20, 0), Decimal(2**64 - 1)),
    "half": (pa.float16(), 0.5, pa.float32(), 0.5),
    "fixed": (pa.binary(2), b"\x00\xff", pa.binary(), b"\x00\xff"),
    "ms": (pa.timestamp("ms"), MOMENT, NAIVE, MOMENT),
    "ns": (pa.timestamp("ns"), MOMENT, NAIVE, MOMENT),
    "zoned_ms": (pa.timestamp("ms", "UTC"), MOMENT.replace(tzinfo=dt.UTC), ZONED, MOMENT.replace(tzinfo=dt.UTC)),
    "list_ms": (pa.list_(pa.timestamp("ms")), [MOMENT], pa.list_(NAIVE), [MOMENT]),
}
"""Types that Spark does not write: what stands for them."""


def test_parts_have_the_types_of_the_delivery(judge_files: Callable[..., Judged]) -> None:
    """Every type of Parquet that Spark writes, within records, lists and maps, too; the values are equal."""
    columns = {name: (kind, value, kind, value) for name, (kind, value) in KEPT.items()}

    accepted, rejected = _parts(judge_files, _table({**columns, **OTHERS}))

    types = {name: kind for name, (_, _, kind, _) in {**columns, **OTHERS}.items()}
    expected_schema = _as_read(pa.schema({"id": pa.int64(), **types}))
    assert accepted.schema.equals(expected_schema)
    assert rejected.schema.equals(expected_schema.insert(0, pa.field("_reasons", pa.string())))
    expected = {"id": 1} | {name: value for name, (_, _, _, value) in {**columns, **OTHERS}.items()}
    assert accepted.to_pylist() == [expected]
    assert rejected.to_pylist() == [{"_reasons": "unique/id"} | expected | {"id": 2}] * 2


@pytest.mark.parametrize(
    ("kinds", "options", "stored"),
    [
        ([NAIVE, NAIVE], {"use_deprecated_int96_timestamps": True}, ["INT96", "INT96"]),
        ([pa.timestamp("ms", "UTC")] * 2, {}, ["milliseconds with", "milliseconds with"]),
        ([pa.timestamp("ms", "UTC"), ZONED], {}, ["microseconds with", "microseconds with"]),
        ([pa.timestamp("ms", "UTC"), NAIVE], {}, ["milliseconds with", "microseconds without"]),
    ],
)
def test_moments_are_stored_as_they_came(
    kinds: list[pa.DataType], options: dict[str, Any], stored: list[str], judge_files: Callable[..., Judged]
) -> None:
    """INT96 as INT96; milliseconds with a zone as these, where all moments with a zone of the delivery are some."""
    value = [MOMENT.replace(tzinfo=dt.UTC) if kind.tz else MOMENT for kind in kinds]
    table = pa.table({"id": [1, 2, 2], **{f"at{n}": pa.array([value[n]] * 3, kind) for n, kind in enumerate(kinds)}})
    shares = _judged(judge_files, as_parquet(table, store_schema=False, **options)).result.shares
    assert shares is not None

    for part in (shares.accepted, shares.rejected):
        (written,) = part
        schema = pq.ParquetFile(_path(written)).schema
        by_name = {schema.column(n).name: schema.column(n) for n in range(len(schema))}
        assert [_stored(by_name[f"at{n}"]) for n in range(len(kinds))] == stored
        rows = pq.read_table(_path(written), coerce_int96_timestamp_unit="us").to_pylist()
        assert [row[f"at{n}"] for row in rows for n in range(len(kinds))] == value * len(rows)


@pytest.mark.parametrize("form", [Format.PARQUET, Format.AVRO])
def test_an_accepted_part_is_accepted_by_its_contract(form: Format, judge_files: Callable[..., Judged]) -> None:
    """A contract that tells moments with a zone from others takes the accepted part as it took the delivery."""
    fields = {"id": "integer", "naive": "timestamp", "zoned": "timestamp"}
    plan = plan_of(fields, rule("unique", "id"), policy=PLAN.policy)
    zones = {"naive": False, "zoned": True}
    planned = tuple(replace(field, zone=zones.get(field.name)) for field in plan.fields)
    plan = replace(plan, fields=planned, storage=Storage(form))
    table = pa.table(
        {
            "id": [1, 2, 2],
            "naive": pa.array([MOMENT] * 3, NAIVE),
            "zoned": pa.array([MOMENT] * 3, ZONED),
        }
    )
    judged = judge_files(plan, written(table, plan.storage))
    shares = judged.result.shares
    assert shares is not None
    assert judged.verdict == Verdict.ACCEPTED_WITH_WARNINGS

    again = judge_files(plan, *(_path(each).read_bytes() for each in shares.accepted))

    assert (again.verdict, again.result.rows) == (Verdict.ACCEPTED, 1)


def test_integers_of_orc_keep_their_widths(judge_files: Callable[..., Judged]) -> None:
    """As do moments without a zone, the only ones that Spark writes to ORC."""
    kinds = {"tiny": pa.int8(), "small": pa.int16(), "int": pa.int32(), "long": pa.int64()}
    columns = {name: pa.array([-1, 0, 1], kind) for name, kind in kinds.items()}
    moments = pa.array([MOMENT] * 3, pa.timestamp("ns"))
    table = pa.table({"id": [1, 2, 2], **columns, "at": moments, "list": pa.array([[1]] * 3, pa.list_(pa.int8()))})
    shares = _judged(judge_files, as_orc(table), Format.ORC).result.shares
    assert shares is not None

    (accepted,), (rejected,) = shares.accepted, shares.rejected
    assert orc.read_table(_path(accepted)).equals(table[:1])
    assert orc.read_table(_path(rejected)).drop_columns("_reasons").equals(table[1:])


@pytest.mark.parametrize("kind", [ZONED, pa.list_(ZONED)])
def test_an_orc_file_with_a_zone_is_refused(kind: pa.DataType, judge_files: Callable[..., Judged]) -> None:
    """Spark would write its moments without one; a file that is not split may have it."""
    plan = replace(PLAN, storage=Storage(Format.ORC))
    body = as_orc(pa.table({"id": [1, 2, 2], "at": pa.array([None] * 3, kind)}))

    refused = judge_files(plan, body)
    whole = judge_files(replace(plan, policy=replace(plan.policy, on_reject=OnReject.FILE)), body)

    assert refused.verdict == whole.verdict == Verdict.REJECTED
    message = "the column at has a type that cannot be written to split files"
    assert [message in judged.reasons for judged in (refused, whole)] == [True, False]


def test_a_moment_that_spark_cannot_write_as_int96_is_null(
    judge_files: Callable[..., Judged], spark: SparkSession
) -> None:
    """INT96 before the first Julian day, or so late that microseconds since that day need more than 64 bits."""
    first, last, declared = -JULIAN_1970, 104_311_403, plan_of({"x": "timestamp"}, policy=PLAN.policy)
    body = int96((0, 0), (0, first), (0, first - 1), (0, last), (0, last + 1))
    judged = judge_files(replace(declared, storage=Storage(Format.PARQUET)), body)
    shares = judged.result.shares
    assert shares is not None

    (accepted,), (rejected,) = shares.accepted, shares.rejected
    days = [  # by Spark: Arrow reads the first Julian day as one of 1970
        [
            row.micros and row.micros // MICROSECONDS
            for row in frame.select(F.unix_micros("x").alias("micros")).collect()
        ]
        for frame in (spark.read.parquet(accepted.uri), spark.read.parquet(rejected.uri))
    ]
    assert days == [[0], [first, None, last, None]]


def _stored(column: Any) -> str:
    if column.physical_type == "INT96":
        return "INT96"
    found = json.loads(column.logical_type.to_json())
    return f"{found['timeUnit']} {'with' if found['isAdjustedToUTC'] else 'without'}"


def _as_read(schema: pa.Schema) -> pa.Schema:
    """The types of a file with these, by what Parquet says of them."""
    return pq.read_schema(io.BytesIO(as_parquet(schema.empty_table(), store_schema=False)))


def _table(columns: dict[str, tuple[pa.DataType, Any, pa.DataType, Any]]) -> bytes:
    """A file with one good row, and two of the same id."""
    values = {name: pa.array([value] * 3, kind) for name, (kind, value, _, _) in columns.items()}
    return as_parquet(pa.table({"id": [1, 2, 2], **values}))


def _judged(judge_files: Callable[..., Judged], body: bytes, form: Format = Format.PARQUET) -> Judged:
    judged = judge_files(replace(PLAN, storage=Storage(form)), body)
    assert (judged.verdict, judged.result.rejected_rows) == (Verdict.ACCEPTED_WITH_WARNINGS, 2)
    return judged


def _parts(judge_files: Callable[..., Judged], body: bytes) -> tuple[pa.Table, pa.Table]:
    shares = _judged(judge_files, body).result.shares
    assert shares is not None
    (accepted,), (rejected,) = shares.accepted, shares.rejected
    return pq.ParquetFile(_path(accepted)).read(), pq.ParquetFile(_path(rejected)).read()


def _path(written: WrittenObject) -> Path:
    return Path(urlsplit(written.uri).path)
