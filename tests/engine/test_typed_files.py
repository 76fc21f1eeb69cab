"""Accepted rows as typed files of a table: every type in every format, nested values, divisions and splits."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakegate.contract.delivery_policy import Mode, OnReject, Policy
from lakegate.contract.file_formats import Compression, Format, Storage
from lakegate.engine import accepted_rows, row_groups
from lakegate.engine.read import csv, json
from lakegate.engine.read.data_source import path_of
from lakegate.features.tables.table_rows import table_schema
from lakegate.lints.linter import read
from lakegate.plan.plan import Plan
from lakegate.rules.compile_plan import compile_plan
from tests.deliveries.delivery import plan_of, rule
from tests.deliveries.typed import rows_of, typed_files
from tests.deliveries.written import STORAGES, as_parquet, written
from tests.engine.formats import FIELDS, TABLE, stored
from tests.reference.cases import only_plan

UTC = dt.UTC
NESTING = [each for each in STORAGES if each.format is not Format.CSV and each.compression is Compression.NONE]
TYPED = pa.schema(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        ("ok", pa.bool_()),
        ("share", pa.float64()),
        ("price", pa.decimal128(38, 18)),
        ("day", pa.date32()),
        ("at", pa.string()),
        ("seen", pa.timestamp("us", "UTC")),
    ]
)
AT = ["12:00:00.000000", "23:59:59.500000", None, "00:00:00.000000"]
"""Spark and Athena read no table that has a column of times of day."""


@pytest.mark.parametrize("storage", STORAGES, ids=lambda storage: storage.suffix)
def test_each_type_is_in_the_file_as_it_was_delivered(storage: Storage, tmp_path: Path) -> None:
    """From every format and codec the same typed columns, and no others; nulls stay nulls."""
    plan = stored(plan_of(FIELDS), storage)
    found = rows_of(typed_files(plan, tmp_path, written(TABLE, storage)))
    seen = [None if each is None else each.replace(tzinfo=UTC) for each in TABLE.column("seen").to_pylist()]

    assert found.equals(pa.table(TABLE.to_pydict() | {"at": AT, "seen": seen}, schema=TYPED))
    assert found.schema.equals(TYPED)
    assert table_schema(plan) == TYPED


def test_a_file_is_packed_with_zstd_and_has_statistics_and_no_ids(tmp_path: Path) -> None:
    """A table of Iceberg finds the columns by their names; it prunes by statistics and the page index."""
    (found,) = typed_files(plan_of({"id": "integer", "name": "string"}), tmp_path, b"id,name\n1,a\n2,b\n")
    file = pq.ParquetFile(path_of(found.uri))
    columns = [file.metadata.row_group(0).column(at) for at in range(2)]

    assert [(each.path_in_schema, each.compression) for each in columns] == [("id", "ZSTD"), ("name", "ZSTD")]
    assert [(each.statistics.min, each.statistics.max) for each in columns] == [(1, 2), ("a", "b")]
    assert all(each.has_column_index for each in columns)
    assert [field.metadata for field in file.schema_arrow] == [None, None]


MODEL = """\
dataContractSpecification: 1.2.1
id: nested
info: {title: Nested, version: 1.0.0}
models:
  m:
    fields:
      id: {type: long}
      items:
        type: array
        items:
          type: record
          fields:
            sku: {type: string}
            place: {type: record, fields: {"a.b": {type: double}, tags: {type: array, items: {type: string}}}}
            grid: {type: array, items: {type: array, items: {type: long}}}
            prices: {type: map, keys: {type: string}, values: {type: decimal}}
      names:
        type: map
        keys: {type: string}
        values: {type: record, fields: {n: {type: long}, ns: {type: array, items: {type: long}}}}
"""
ITEM = pa.struct(
    [
        ("sku", pa.string()),
        ("place", pa.struct([("a.b", pa.float64()), ("tags", pa.list_(pa.string()))])),
        ("grid", pa.list_(pa.list_(pa.int64()))),
        ("prices", pa.map_(pa.string(), pa.decimal128(38, 18))),
    ]
)
NAMED = pa.struct([("n", pa.int64()), ("ns", pa.list_(pa.int64()))])
DELIVERED = pa.table(
    {
        "id": pa.array([1, 2, 3, 4], pa.int64()),
        "items": pa.array(
            [
                [
                    {
                        "sku": "a",
                        "place": {"a.b": 0.5, "tags": ["x", None]},
                        "grid": [[1], [], None],
                        "prices": [("p", Decimal("0.1"))],
                    },
                    None,
                    {"sku": None, "place": None, "grid": [], "prices": []},
                ],
                [],
                None,
                [
                    {"sku": "b", "place": {"a.b": None, "tags": None}, "grid": None, "prices": None},
                    {
                        "sku": "c",
                        "place": {"a.b": 1.0, "tags": ["y", "z"]},
                        "grid": [[2, 3]],
                        "prices": [("q", None), ("r", Decimal(2))],
                    },
                ],
            ],
            pa.list_(ITEM),
        ),
        "names": pa.array(
            [
                [("k", {"n": 1, "ns": [1, 2]}), ("l", None), ("m", {"n": None, "ns": []})],
                None,
                [],
                [("n[0]", {"n": 2, "ns": None}), ("o", {"n": 3, "ns": [None, 3]})],
            ],
            pa.map_(pa.string(), NAMED),
        ),
    }
)


def nested(storage: Storage) -> Plan:
    """The plan of nested fields in a format."""
    contract = read(MODEL.encode())
    (dataset,) = contract.datasets
    return compile_plan(contract, replace(dataset, storage=storage))


@pytest.mark.parametrize("storage", NESTING, ids=lambda storage: storage.suffix)
def test_records_lists_and_maps_are_put_together_again(storage: Storage, tmp_path: Path) -> None:
    """Records in lists and maps, lists and maps in such records, with nulls and empty ones at every level."""
    plan = nested(storage)
    found = rows_of(typed_files(plan, tmp_path, written(DELIVERED, storage)))

    assert found.to_pylist() == DELIVERED.to_pylist()
    assert found.schema == table_schema(plan) == DELIVERED.schema


def test_levels_without_elements_are_empty_lists_and_maps(tmp_path: Path) -> None:
    """No record has an element, and of a file without the columns all values are null."""
    plan = nested(Storage(Format.PARQUET))
    observed = replace(plan, policy=Policy(mode=Mode.OBSERVE))
    absent = rows_of(typed_files(observed, tmp_path / "b", as_parquet(DELIVERED.select(["id"]))))

    assert rows_of(typed_files(plan, tmp_path / "a", as_parquet(DELIVERED.slice(2, 1)))).to_pylist() == [
        {"id": 3, "items": None, "names": []}
    ]
    assert absent.to_pylist() == [{"id": each, "items": None, "names": None} for each in (1, 2, 3, 4)]


def test_an_entry_whose_key_has_not_its_type_is_left_out(tmp_path: Path) -> None:
    """With `mode: observe`: a map has no null as a key."""
    text = MODEL.partition("      items:")[0] + "      days: {type: map, keys: {type: date}, values: {type: long}}\n"
    contract = read(text.encode())
    dataset = replace(contract.datasets[0], storage=Storage(Format.JSONL), policy=Policy(mode=Mode.OBSERVE))
    lines = b'{"id": 1, "days": {"2020-01-02": 1, "x": 2}}\n{"id": 2, "days": {"y": 3}}\n{"id": 3, "days": {"2020-01-03": 4}}\n'
    found = rows_of(typed_files(compile_plan(contract, dataset), tmp_path, lines))

    assert found.to_pylist() == [
        {"id": 1, "days": [(dt.date(2020, 1, 2), 1)]},
        {"id": 2, "days": []},
        {"id": 3, "days": [(dt.date(2020, 1, 3), 4)]},
    ]


ZONES = """\
dataContractSpecification: 1.2.1
id: zones
info: {title: Zones, version: 1.0.0}
models:
  m:
    config: {lakegate: {format: parquet}}
    fields: {local: {type: timestamp_ntz}, zoned: {type: timestamp_tz}}
"""


def test_moments_have_a_zone_unless_the_contract_declares_none(tmp_path: Path) -> None:
    """In microseconds; those with a zone are in UTC."""
    plan = only_plan(read(ZONES.encode()))
    moments = [dt.datetime(2020, 1, 2, 3, 4, 5, 678901), None]  # noqa: DTZ001 - the point of the test
    zoned = [dt.datetime(2020, 1, 2, 3, 4, 5, 678901, dt.timezone(dt.timedelta(hours=2))), None]
    given = {"local": pa.array(moments, pa.timestamp("us")), "zoned": pa.array(zoned, pa.timestamp("us", "+02:00"))}
    found = rows_of(typed_files(plan, tmp_path, as_parquet(pa.table(given))))

    assert found.schema == pa.schema([("local", pa.timestamp("us")), ("zoned", pa.timestamp("us", "UTC"))])
    assert found.to_pydict() == {"local": moments, "zoned": zoned}


ROWS = b"id,word\n" + b"".join(b"%d,%s\n" % (number, b"abc"[: number % 4]) for number in range(2000))


def test_a_file_ends_where_a_slice_would(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After so many shares or rows; groups have so many rows; the rows of all files are those of one."""
    plan = plan_of({"id": "integer", "word": "string"})
    whole = typed_files(plan, tmp_path / "whole", ROWS)
    monkeypatch.setattr(csv, "SHARE_BYTES", 1000)
    monkeypatch.setattr(accepted_rows, "FILE_SHARES", 4)
    by_shares = typed_files(plan, tmp_path / "shares", ROWS)
    monkeypatch.setattr(accepted_rows, "FILE_ROWS", 250)
    monkeypatch.setattr(row_groups, "GROUP_ROWS", 100)
    by_rows = typed_files(plan, tmp_path / "rows", ROWS)
    groups = pq.ParquetFile(path_of(by_rows[0].uri)).metadata

    assert [len(each) for each in (whole, by_shares, by_rows)] == [1, 4, 7]
    assert all(250 <= each.rows < 450 for each in by_rows[:-1])
    assert [groups.row_group(at).num_rows >= 100 for at in range(groups.num_row_groups)] == [True, True]
    assert rows_of(whole).equals(rows_of(by_shares))
    assert rows_of(whole).equals(rows_of(by_rows))


def test_rejected_rows_are_in_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `onReject: rows`; nor are records that cannot be read, and of a delivery without rows there is no file."""
    monkeypatch.setattr(json, "SHARE_BYTES", 24)
    plan = plan_of({"id": "integer", "n": "integer"}, rule("maximum", "n", value=9), rule("unique", "id"))
    plan = stored(replace(plan, policy=Policy(on_reject=OnReject.ROWS, allow_empty=True)), Storage(Format.JSONL))
    lines = (b'{"id": 1, "n": 1}', b'{"id": 2, "n": 10}', b'{"id": 2}', b"broken", b'{"id": 3}', b'{"id": 4, "n": "x"}')
    found = typed_files(plan, tmp_path / "some", b"\n".join(lines) + b"\n")

    assert rows_of(found).to_pydict() == {"id": [1, 3], "n": [1, None]}
    assert typed_files(plan, tmp_path / "none", b"") == ()


def test_nothing_is_written_of_a_rejected_delivery(tmp_path: Path) -> None:
    """Nor of one whose rows nobody wants as typed files."""
    plan = plan_of({"id": "integer"})

    assert typed_files(plan, tmp_path, b"id\nx\n") == ()
    assert not (tmp_path / "out").exists()


def test_values_at_the_ends_of_their_types(tmp_path: Path) -> None:
    """Whole numbers of 64 bits, decimals of 38 digits, moments of microseconds, bytes, the first and the last day."""
    given: dict[str, list[Any]] = {
        "whole": [2**63 - 1, -(2**63), None],
        "wide": [Decimal("9" * 38), Decimal(-1), None],
        "fine": [Decimal("0." + "9" * 38), Decimal("-0." + "0" * 37 + "1"), None],
        "at": [dt.time(23, 59, 59, 999999), dt.time(0, 0, 0, 1), None],
        "seen": [dt.datetime.max.replace(tzinfo=UTC), dt.datetime.min.replace(tzinfo=UTC), None],
        "day": [dt.date.max, dt.date.min, None],
        "raw": [b"\x00\xff", b"", None],
    }
    fields = {"whole": "integer", "wide": "decimal(38,0)", "fine": "decimal(38,38)", "at": "time"}
    fields |= {"seen": "timestamp", "day": "date", "raw": "binary"}
    schema = pa.schema(
        [
            ("whole", pa.int64()),
            ("wide", pa.decimal128(38, 0)),
            ("fine", pa.decimal128(38, 38)),
            ("at", pa.time64("us")),
            ("seen", pa.timestamp("us", "UTC")),
            ("day", pa.date32()),
            ("raw", pa.binary()),
        ]
    )
    delivered = as_parquet(pa.table(given, schema=schema))
    found = rows_of(typed_files(stored(plan_of(fields), Storage(Format.PARQUET)), tmp_path, delivered))

    assert found.schema == schema.set(schema.get_field_index("at"), pa.field("at", pa.string()))
    assert found.to_pydict() == given | {"at": ["23:59:59.999999", "00:00:00.000001", None]}
