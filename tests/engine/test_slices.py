"""Accepted rows as slices of Open Data Fabric: every type in every format, nested values, divisions and splits."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal
from math import ceil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakegate.contract.delivery_policy import Mode, OnReject, Policy
from lakegate.contract.file_formats import Compression, Csv, Format, Storage
from lakegate.engine import accepted_rows, row_groups
from lakegate.engine.read import csv, json
from lakegate.engine.read.data_source import path_of
from lakegate.features.odf.format.logical_hash import digest_of
from lakegate.lints.linter import read
from lakegate.plan.plan import Plan
from lakegate.plan.slice_order import SliceOrder
from lakegate.rules.compile_plan import compile_plan
from tests.deliveries.delivery import measure_natively, plan_of, request_for, rule
from tests.deliveries.sliced import COMMON, NOW, common, rows_of, slices
from tests.deliveries.written import STORAGES, as_parquet, written
from tests.engine.formats import FIELDS, TABLE, moment, stored

UTC = dt.UTC
NESTING = [each for each in STORAGES if each.format is not Format.CSV and each.compression is Compression.NONE]
TYPED = pa.schema(
    [
        pa.field("offset", pa.uint64(), nullable=False),
        pa.field("op", pa.uint8(), nullable=False),
        pa.field("system_time", pa.timestamp("ms", "UTC"), nullable=False),
        pa.field("event_time", pa.timestamp("ms", "UTC"), nullable=False),
        ("id", pa.int64()),
        ("name", pa.string()),
        ("ok", pa.bool_()),
        ("share", pa.float64()),
        ("price", pa.decimal128(38, 18)),
        ("day", pa.date32()),
        ("at", pa.time64("us")),
        ("seen", pa.timestamp("us", "UTC")),
    ]
)
AT = [dt.time(12), dt.time(23, 59, 59, 500000), None, dt.time(0)]


@pytest.mark.parametrize("storage", STORAGES, ids=lambda storage: storage.suffix)
def test_each_type_is_in_the_slice_as_it_was_delivered(storage: Storage, tmp_path: Path) -> None:
    """From every format and codec the same typed columns, so the same logical hash; nulls stay nulls."""
    found = slices(stored(plan_of(FIELDS), storage), tmp_path, written(TABLE, storage))
    seen = [None if each is None else each.replace(tzinfo=UTC) for each in TABLE.column("seen").to_pylist()]
    own = TABLE.to_pydict() | {"at": AT, "seen": seen}
    expected = pa.table(common(4) | own, schema=TYPED)

    assert rows_of(found).equals(expected)
    assert rows_of(found).schema.equals(TYPED)
    pq.write_table(expected, tmp_path / "expected.parquet")
    assert [each.logical for each in found] == [digest_of(tmp_path / "expected.parquet").logical]


def test_a_slice_is_packed_with_zstd_and_has_statistics_for_pruning(tmp_path: Path) -> None:
    """ODF's encoding of offsets, dictionaries elsewhere, and a page index."""
    (found,) = slices(plan_of({"id": "integer", "name": "string"}), tmp_path, b"id,name\n1,a\n2,b\n")
    group = pq.ParquetFile(path_of(found.uri)).metadata.row_group(0)
    columns = {group.column(at).path_in_schema: group.column(at) for at in range(group.num_columns)}

    assert list(columns) == [*COMMON, "id", "name"]
    assert {each.compression for each in columns.values()} == {"ZSTD"}
    assert columns["offset"].encodings == ("RLE", "DELTA_BINARY_PACKED")
    assert "RLE_DICTIONARY" in columns["op"].encodings
    assert (columns["id"].statistics.min, columns["id"].statistics.max) == (1, 2)
    assert columns["id"].has_column_index


NESTED = """\
dataContractSpecification: 1.2.1
id: nested
info: {title: Nested, version: 1.0.0}
models:
  m:
    fields:
      id: {type: long}
      address:
        type: record
        fields:
          street: {type: string}
          place: {type: record, fields: {lat: {type: double}}}
          phones: {type: array, items: {type: string}}
      grid: {type: array, items: {type: array, items: {type: long}}}
"""


def nested(storage: Storage) -> Plan:
    """The plan of nested fields in a format."""
    contract = read(NESTED.encode())
    (dataset,) = contract.datasets
    return compile_plan(contract, replace(dataset, storage=storage))


DELIVERED = pa.table(
    {
        "id": pa.array([1, 2, 3, 4], pa.int64()),
        "address": pa.array(
            [
                {"street": "a", "place": {"lat": 0.5}, "phones": ["1", None, "3"]},
                None,
                {"street": None, "place": None, "phones": []},
                {"street": "d", "place": {"lat": None}, "phones": None},
            ],
            pa.struct(
                [
                    ("street", pa.string()),
                    ("place", pa.struct([("lat", pa.float64())])),
                    ("phones", pa.list_(pa.string())),
                ]
            ),
        ),
        "grid": pa.array([[[1, 2], [], [3]], [], None, [None, [4, None]]], pa.list_(pa.list_(pa.int64()))),
    }
)


@pytest.mark.parametrize("storage", NESTING, ids=lambda storage: storage.suffix)
def test_records_and_lists_are_put_together_again(storage: Storage, tmp_path: Path) -> None:
    """Records in records, lists in records and lists in lists, with nulls and empty lists at every level."""
    plan = nested(storage)
    found = rows_of(slices(plan, tmp_path, written(DELIVERED, storage)))

    assert found.select(["id", "address", "grid"]).to_pylist() == DELIVERED.to_pylist()
    assert found.schema.field("address").type == DELIVERED.schema.field("address").type
    assert found.schema.field("grid").type == DELIVERED.schema.field("grid").type


def test_a_level_without_elements_is_a_column_of_empty_lists(tmp_path: Path) -> None:
    """No record has an element, and of a file without the column all values are null."""
    plan = nested(Storage(Format.PARQUET))
    empty = DELIVERED.slice(1, 1).select(["id", "address", "grid"])
    absent = DELIVERED.select(["id"])

    assert rows_of(slices(plan, tmp_path / "a", as_parquet(empty))).select(["id", "address", "grid"]).to_pylist() == [
        {"id": 2, "address": None, "grid": []}
    ]
    observed = replace(plan, policy=Policy(mode=Mode.OBSERVE))
    assert rows_of(slices(observed, tmp_path / "b", as_parquet(absent))).column("grid").to_pylist() == [None] * 4


BYTES = pa.table({"data": pa.array([b"\x00\xff", None, "é".encode()], pa.binary())})


def test_bytes_stay_bytes(tmp_path: Path) -> None:
    """Of a table as they are; a text of CSV is its UTF-8."""
    plan = plan_of({"data": "binary"})

    parquet = slices(stored(plan, Storage(Format.PARQUET)), tmp_path / "a", as_parquet(BYTES))
    text = slices(plan, tmp_path / "b", "data\né\n".encode())
    assert rows_of(parquet).column("data").to_pylist() == BYTES.column("data").to_pylist()
    assert rows_of(text).column("data").to_pylist() == ["é".encode()]


ROWS = b"id,word\n" + b"".join(b"%d,%s\n" % (number, b"abc"[: number % 4]) for number in range(2000))


@pytest.mark.parametrize(("share", "most"), [(1000, 4), (700, 1), (1 << 20, 1)])
def test_shares_change_the_division_and_nothing_else(
    share: int, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Consecutive shares are one slice up to a number of them; the rows of all slices are those of one."""
    plan = plan_of({"id": "integer", "word": "string"})
    whole = slices(plan, tmp_path / "whole", ROWS)
    monkeypatch.setattr(csv, "SHARE_BYTES", share)
    monkeypatch.setattr(accepted_rows, "FILE_SHARES", most)
    monkeypatch.setattr(row_groups, "GROUP_ROWS", 100)
    found = slices(plan, tmp_path / "cut", ROWS)

    assert len(whole) == 1
    assert len(found) == ceil(ceil(len(ROWS) / share) / most)
    assert rows_of(found).equals(rows_of(whole))


def test_slices_end_when_they_have_enough_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever comes first: enough rows, enough shares or the end of the delivery."""
    plan = plan_of({"id": "integer", "word": "string"})
    monkeypatch.setattr(csv, "SHARE_BYTES", 1000)
    monkeypatch.setattr(accepted_rows, "FILE_ROWS", 500)
    found = slices(plan, tmp_path, ROWS)

    assert sum(each.rows for each in found) == 2000
    assert all(500 <= each.rows < 700 for each in found[:-1])


def test_objects_follow_one_another(tmp_path: Path) -> None:
    """The rows of a delivery of several objects are in the order of its objects."""
    found = slices(plan_of({"id": "integer"}), tmp_path, b"id\n3\n1\n", b"id\n2\n")

    assert rows_of(found).select(["offset", "id"]).to_pydict() == {"offset": [7, 8, 9], "id": [3, 1, 2]}


def test_rejected_rows_are_in_no_slice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `onReject: rows` offsets are those of accepted rows; shares without any are passed over."""
    monkeypatch.setattr(json, "SHARE_BYTES", 24)
    plan = plan_of({"id": "integer", "n": "integer"}, rule("maximum", "n", value=9), rule("unique", "id"))
    plan = stored(replace(plan, policy=Policy(on_reject=OnReject.ROWS)), Storage(Format.JSONL))
    lines = [
        b'{"id": 1, "n": 1}',
        b'{"id": 2, "n": 10}',
        b'{"id": 2, "n": 3}',
        b"broken",
        b'{"id": 3, "n": null}',
        b'{"id": 4, "n": "x"}',
    ]
    found = slices(plan, tmp_path, b"\n".join(lines) + b"\n")

    assert rows_of(found).select(["offset", "id", "n"]).to_pydict() == {"offset": [7, 8], "id": [1, 3], "n": [1, None]}


def test_nothing_is_written_of_what_is_not_accepted_or_has_no_rows(tmp_path: Path) -> None:
    """A rejected delivery, and an accepted one without rows."""
    plan = plan_of({"id": "integer"})
    empty = replace(plan, policy=Policy(allow_empty=True))

    assert slices(plan, tmp_path / "a", b"id\nx\n") == ()
    assert slices(empty, tmp_path / "b", b"id\n") == ()


def test_a_value_of_another_type_is_null_where_the_contract_lets_it_through(tmp_path: Path) -> None:
    """With `mode: observe`; a record that cannot be read has no row."""
    plan = replace(plan_of({"id": "integer", "n": "number"}), policy=Policy(mode=Mode.OBSERVE))
    found = slices(plan, tmp_path, b"id,n\n1,x\n2\n3,1e3\n")

    assert rows_of(found).select(["id", "n"]).to_pydict() == {"id": [1, 3], "n": [None, 1000.0]}


def test_the_time_of_an_event_is_that_of_a_column(tmp_path: Path) -> None:
    """In whole milliseconds, rounded down; of a day its midnight; without one in the years 1 to 9999 the judging time."""
    texts = ["1969-12-31T23:59:59.999999Z", "2020-02-03T04:05:06.789999+01:00", "", "0000-12-31T23:59:59Z"]
    days = ["1969-12-31", "2020-02-03", "", "0000-12-31"]
    lines = "".join(f"{text},{day}\n" for text, day in zip(texts, days, strict=True))
    plan = plan_of({"seen": "timestamp", "day": "date"}, csv=Csv())
    content = f"seen,day\n{lines}".encode()

    by_moment = slices(plan, tmp_path / "a", content, order=SliceOrder(0, "seen"))
    by_day = slices(plan, tmp_path / "b", content, order=SliceOrder(0, "day"))
    assert rows_of(by_moment).column("event_time").to_pylist() == [
        moment("1969-12-31T23:59:59.999+00:00"),
        moment("2020-02-03T03:05:06.789+00:00"),
        NOW,
        NOW,
    ]
    assert rows_of(by_day).column("event_time").to_pylist() == [
        moment("1969-12-31T00:00:00+00:00"),
        moment("2020-02-03T00:00:00+00:00"),
        NOW,
        NOW,
    ]


def test_numbers_of_every_width_become_the_declared_type(tmp_path: Path) -> None:
    """Narrow and unsigned numbers, decimals of other scales and short floats of Parquet."""
    given = pa.table(
        {
            "a": pa.array([1, None], pa.uint8()),
            "b": pa.array([1.5, None], pa.float32()),
            "c": pa.array([Decimal("1.25"), None], pa.decimal128(5, 2)),
            "d": pa.array([2, None], pa.int32()),
            "e": pa.array([Decimal(f"0.{'9' * 38}"), None], pa.decimal128(38, 38)),
            "f": pa.array([Decimal("7.00"), None], pa.decimal128(5, 2)),
        }
    )
    fields = {"a": "integer", "b": "number", "c": "decimal", "d": "number", "e": "decimal(38,38)", "f": "decimal(38,0)"}
    plan = stored(plan_of(fields), Storage(Format.PARQUET))
    found = rows_of(slices(plan, tmp_path, as_parquet(given)))

    assert found.select(list(fields)).to_pylist() == [
        {"a": 1, "b": 1.5, "c": Decimal("1.25"), "d": 2.0, "e": Decimal(f"0.{'9' * 38}"), "f": Decimal(7)},
        dict.fromkeys(fields),
    ]
    assert [found.schema.field(each).type.scale for each in "cef"] == [18, 38, 0]


@pytest.mark.parametrize(
    ("watermark", "late"),
    [
        ("", [0]),
        ("2023-11-01T00:00:00.000000Z", [0]),
        ("2023-11-01T00:00:00.001000Z", [1]),
        ("2023-11-02T00:00:00.000000Z", [1]),
        ("9999-12-31T23:59:59.999000Z", [3]),
    ],
)
def test_rows_of_events_before_the_watermark_are_counted(tmp_path: Path, watermark: str, late: list[int]) -> None:
    """A row without a time of its own has the judging time; rejected rows are none; the result states the watermark."""
    plan = plan_of({"id": "integer", "day": "date"}, rule("required", "id"), policy=Policy(on_reject=OnReject.ROWS))
    delivered = b"id,day\n1,2023-11-01\n2,2023-11-02\n,2023-01-01\n4,\n"
    request = replace(request_for(plan, tmp_path, delivered), slices=SliceOrder(0, "day", watermark))
    found = measure_natively(request, plan)

    assert ([each.late for each in found.slices], found.watermark) == (late, watermark)
