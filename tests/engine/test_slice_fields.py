"""The columns of slices as ODF's schema, and slices that came from elsewhere."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakegate.base.errors import InputError
from lakegate.contract.documents.read_document import parse
from lakegate.contract.file_formats import Format, Storage
from lakegate.features.odf.exchange.odf_repositories import checked_slice
from lakegate.features.odf.exchange.odf_schema import odf
from lakegate.features.odf.format.logical_hash import digest_of
from lakegate.features.odf.format.metadata_chain import DataSlice
from lakegate.features.odf.slices.slice_writer import bare, odf_fields, plan_fields, schema_of
from lakegate.lints.linter import read
from lakegate.rules.compile_plan import compile_plan


def member(name: str, kind: str, **value: Any) -> dict[str, Any]:
    return {f"{name}_type": f"DataType{kind}", name: value}


def option(kind: str, **value: Any) -> dict[str, Any]:
    return member("type", "Option", **member("inner", kind, **value))


MILLIS = {"unit": "Millisecond", "timezone": "UTC"}
TYPES = [
    (pa.bool_(), "Bool", {}),
    (pa.int8(), "Int8", {}),
    (pa.uint64(), "UInt64", {}),
    (pa.float32(), "Float32", {}),
    (pa.decimal128(38, 18), "Decimal", {"precision": 38, "scale": 18}),
    (pa.date32(), "Date", {}),
    (pa.time64("us"), "Time", {"unit": "Microsecond"}),
    (pa.timestamp("us", "UTC"), "Timestamp", {"unit": "Microsecond", "timezone": "UTC"}),
    (pa.timestamp("s"), "Timestamp", {"unit": "Second"}),
    (pa.string_view(), "String", {}),
    (pa.dictionary(pa.int8(), pa.string()), "String", {}),
    (pa.binary(16), "Binary", {}),
    (pa.list_(pa.field("element", pa.int64(), nullable=False)), "List", member("item_type", "Int64")),
    (pa.struct([("a", pa.string())]), "Struct", {"fields": [{"name": "a", **option("String")}]}),
]


@pytest.mark.parametrize(("kind", "name", "value"), TYPES)
def test_types_of_columns(kind: pa.DataType, name: str, value: dict[str, Any]) -> None:
    """Each type of Arrow has one of ODF; a column that may be null is an option."""
    needed, maybe = pa.field("a", kind, nullable=False), pa.field("b", kind)

    assert odf_fields([needed, maybe]) == (
        {"name": "a", **member("type", name, **value)},
        {"name": "b", **option(name, **value)},
    )


def test_a_type_that_odf_does_not_have_is_refused() -> None:
    """An interval of months is no type of ODF."""
    with pytest.raises(InputError, match="the column `a` has a type that ODF does not have"):
        odf_fields([pa.field("a", pa.month_day_nano_interval())])


DOCUMENT = b"""\
dataContractSpecification: 1.2.1
id: every
info: {title: Every type, version: 1.0.0}
models:
  m:
    fields:
      id: {type: long, required: true}
      price: {type: decimal}
      ratio: {type: double}
      fresh: {type: boolean}
      day: {type: date}
      clock: {type: time}
      at: {type: timestamp}
      raw: {type: bytes}
      address:
        type: record
        fields:
          street: {type: string}
          place: {type: record, fields: {lat: {type: double}}}
          phones: {type: array, items: {type: string}}
      grid: {type: array, items: {type: array, items: {type: long}}}
"""


def test_the_schema_is_that_of_convert() -> None:
    """Slices of a plan have the names and types that `lakegate convert --to odf` writes of the contract."""
    contract = read(DOCUMENT)
    dataset = replace(contract.datasets[0], storage=Storage(Format.PARQUET))
    written = parse(odf(contract, dataset).text.encode()).top["schema"]["fields"].items

    assert bare(map(as_table, written)) == bare(plan_fields(compile_plan(contract, dataset)))


def as_table(place: Any) -> dict[str, Any]:
    return {"name": place["name"].text, **typed("type", place["type"])}


def typed(name: str, place: Any) -> dict[str, Any]:
    """A type of the YAML in the form of the blocks."""
    value: dict[str, Any] = {}
    for key in place.entries:
        if key == "fields":
            value[key] = list(map(as_table, place[key].items))
        elif key in {"inner", "itemType"}:
            value |= typed({"itemType": "item_type"}.get(key, key), place[key])
        elif key != "kind":
            value[key] = place[key].scalar
    return member(name, place["kind"].text, **value)


SCHEMA = schema_of(pa.schema([("id", pa.int64())]))
FIELDS = odf_fields(SCHEMA)


def rows(count: int, first: int = 5) -> pa.Table:
    moments = pa.array([0] * count, pa.timestamp("ms", "UTC"))
    offsets = pa.array(np.arange(first, first + count, dtype=np.uint64))
    return pa.table(
        [offsets, pa.array([0] * count, pa.uint8()), moments, moments, pa.array(range(count))], schema=SCHEMA
    )


def stated(path: Path, first: int = 5) -> DataSlice:
    found = digest_of(path)
    return DataSlice(found.logical, found.physical, first, first + found.rows - 1, found.size)


@pytest.fixture
def slice_file(tmp_path: Path) -> Path:
    path = tmp_path / "a slice.parquet"
    pq.write_table(rows(4), path)
    return path


def test_a_slice_that_is_as_stated_passes(slice_file: Path) -> None:
    """Bytes, rows, offsets and columns are those of the block; that columns may be null does not count."""
    checked_slice(slice_file, stated(slice_file), FIELDS)
    checked_slice(slice_file, stated(slice_file), odf_fields([each.with_nullable(False) for each in SCHEMA]))


OTHER = "f1680c001200000000000000000000000000000000000000000000000000000000000000000"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"size": 1}, "its bytes are others"),
        ({"physical": OTHER}, "its bytes are others"),
        ({"start": 4}, "it has 4 rows, not 5"),
        ({"start": 4, "end": 7}, "the offsets 5 to 8, not 4 to 7"),
        ({"logical": OTHER}, "another logical hash"),
    ],
)
def test_a_slice_that_is_not_as_stated_is_refused(slice_file: Path, change: dict[str, Any], reason: str) -> None:
    """Each thing that a block states is compared."""
    with pytest.raises(InputError, match=reason):
        checked_slice(slice_file, replace(stated(slice_file), **change), FIELDS)


@pytest.mark.parametrize(
    "fields",
    [
        FIELDS[:-1],
        (*FIELDS[:-1], {"name": "id", **member("type", "Int32")}),
        (*FIELDS[:-1], {"name": "other", **member("type", "Int64")}),
        (FIELDS[-1], *FIELDS[:-1]),
    ],
)
def test_a_slice_with_other_columns_is_refused(slice_file: Path, fields: tuple[dict[str, Any], ...]) -> None:
    """Names, types and order are those of the schema."""
    with pytest.raises(InputError, match="its columns are others"):
        checked_slice(slice_file, stated(slice_file), fields)


def test_a_bomb_is_refused_before_it_is_read(tmp_path: Path) -> None:
    """A small file of a billion equal rows is refused by what its end states."""
    path = tmp_path / "bomb.parquet"
    with pq.ParquetWriter(path, SCHEMA, compression="zstd") as writer:
        for first in range(0, 1 << 25, 1 << 22):
            writer.write_table(rows_of_zeros(1 << 22, first))
    with pytest.raises(InputError, match="unpacks to more than"):
        checked_slice(path, DataSlice(OTHER, stated_hash(path), 0, (1 << 25) - 1, path.stat().st_size), FIELDS)


def rows_of_zeros(count: int, _first: int) -> pa.Table:
    zeros = np.zeros(count, dtype=np.int64)
    columns = [pa.array(zeros).cast(each.type) for each in SCHEMA]
    return pa.table(columns, schema=SCHEMA)


def stated_hash(path: Path) -> str:
    import hashlib  # noqa: PLC0415 - for this test alone

    return f"f1620{hashlib.sha3_256(path.read_bytes()).hexdigest()}"


def test_a_file_that_is_no_table_is_refused(tmp_path: Path) -> None:
    """Bytes with the right hash may still be anything."""
    path = tmp_path / "text.parquet"
    path.write_bytes(b"PAR1 and no more, PAR1")
    with pytest.raises(InputError, match="missing or damaged"):
        checked_slice(path, DataSlice(OTHER, stated_hash(path), 0, 0, path.stat().st_size), FIELDS)
