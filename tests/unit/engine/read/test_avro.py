"""Avro's binary encoding, value by value: every type, every codec, and what fits no schema."""

from __future__ import annotations

import bz2
import lzma
import struct
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lakegate.admission.file_signatures import UnreadableError
from lakegate.contract.file_formats import Format, Storage
from lakegate.engine.read import avro_columns
from lakegate.engine.read.avro_types import read_schema
from lakegate.engine.read.stored_types import Kind
from lakegate.plan.result import IncompatibleType
from tests.deliveries.avro import SYNC, container, long, text, write_avro
from tests.deliveries.delivery import plan_of
from tests.engine.formats import nested_plan
from tests.unit.engine.read.opened import Read, opened, read

DOUBLE = struct.Struct("<d").pack
FLOAT = struct.Struct("<f").pack
ENUM = {"type": "enum", "name": "e", "symbols": ["A", "B"]}
FIXED = {"type": "fixed", "name": "f", "size": 2}
EXACT = {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2}
FIXED_EXACT = {**FIXED, "logicalType": "decimal", "precision": 4}
MILLIS = {"type": "int", "logicalType": "time-millis"}
SHARED_NAMES = """\
dataContractSpecification: 1.2.1
id: parts
info: {title: Parts, version: 1.0.0}
models:
  m:
    fields:
      x: {type: record, fields: {no: {type: long}}}
      w: {type: record, fields: {no: {type: string}}}
      y: {type: record, fields: {no: {type: long}}}
"""
INNER = {"type": "record", "name": "i", "fields": [{"name": "x", "type": "int"}]}


def content(schema: Any, *values: bytes) -> bytes:
    """A file of records with one field."""
    return container({"type": "record", "name": "r", "fields": [{"name": "x", "type": schema}]}, list(values))


def read_one(folder: Path, logical: str, schema: Any, *values: bytes) -> Read:
    plan = replace(plan_of({"x": logical}), storage=Storage(Format.AVRO))
    return read(plan, folder, content(schema, *values))


VALUES: dict[str, tuple[str, Any, list[bytes], list[Any]]] = {
    "null": ("integer", "null", [b""], [None]),
    "boolean": ("boolean", "boolean", [b"\0", b"\1"], [False, True]),
    "int": ("integer", "int", [long(0), long(-1), long(2**31 - 1)], [0, -1, 2**31 - 1]),
    "long": ("integer", "long", [long(2**63 - 1), long(-(2**63))], [2**63 - 1, -(2**63)]),
    "float": ("number", "float", [FLOAT(0.1), FLOAT(float("nan"))], [0.1, None]),
    "double": ("number", "double", [DOUBLE(0.1), DOUBLE(-0.0)], [0.1, 0.0]),
    "string": ("string", "string", [text(""), text("ção"), long(1) + b"\xff"], ["", "ção", None]),
    "bytes": ("string", "bytes", [text("a")], [None]),
    "enum": ("string", ENUM, [long(1), long(0)], ["B", "A"]),
    "fixed": ("string", FIXED, [b"ab"], [None]),
    "decimal": ("decimal", EXACT, [long(1) + b"\xff", long(3) + b"\0\x86\x9f"], [-0.01, 344.63]),
    "decimal of fixed size": ("integer", FIXED_EXACT, [b"\xff\xfe"], [-2]),
    "time": ("time", MILLIS, [long(3_723_004), long(90_000_000)], ["01:02:03.004000000", None]),
    "union with null": ("integer", ["null", "long"], [long(0), long(1) + long(7)], [None, 7]),
    "null behind": ("string", ["string", "null"], [long(0) + text("a"), long(1)], ["a", None]),
    "union with one alone": ("integer", ["long"], [long(0) + long(7)], [7]),
    "union of nulls": ("integer", ["null"], [long(0)], [None]),
    "int or long": ("integer", ["int", "long", "null"], [long(0) + long(1), long(1) + long(2), long(2)], [1, 2, None]),
    "float or double": ("number", ["float", "double"], [long(0) + FLOAT(0.5), long(1) + DOUBLE(0.1)], [0.5, 0.1]),
    "anything": (
        "string",
        ["null", "long", "string", INNER],
        [long(0), long(2) + text("a"), long(3) + long(5)],
        [None] * 3,
    ),
}


@pytest.mark.parametrize("name", VALUES)
def test_values_of_every_type(name: str, tmp_path: Path) -> None:
    """As the specification encodes them; floats by their shortest decimals."""
    logical, schema, encoded, expected = VALUES[name]
    found = read_one(tmp_path, logical, schema, *encoded)

    assert [each["x"] if logical != "decimal" else float(each["x"]) for each in found.values] == expected


def test_what_no_kind_holds_is_there_or_not(tmp_path: Path) -> None:
    """Unions of several types, and bytes."""
    _, schema, encoded, _ = VALUES["anything"]

    assert [each["x"] for each in read_one(tmp_path, "string", schema, *encoded).texts] == [None, "?", "?"]
    assert [each["x"] for each in read_one(tmp_path, "string", "bytes", text("a")).texts] == ["bytes"]


def test_lists_may_come_in_several_blocks(tmp_path: Path) -> None:
    """Some of which contain their number of bytes."""
    plan = replace(plan_of({"x": "string"}), storage=Storage(Format.AVRO))
    values = [
        long(2) + long(1) + long(2) + long(-1) + long(1) + long(3) + long(0),
        long(0),
    ]
    source = opened(plan, tmp_path, content({"type": "array", "items": "long"}, *values))
    (batch,) = source.reader.batches(source.shares[0], ["x"])  # type: ignore[attr-defined]

    assert batch.column(0).to_pylist() == [[1, 2, 3], []]


PACK = {
    "deflate": lambda it: zlib.compress(it, wbits=-15),
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstandard": lambda it: pa.Codec("zstd").compress(it, asbytes=True),
    "snappy": lambda it: pa.Codec("snappy").compress(it, asbytes=True) + zlib.crc32(it).to_bytes(4, "big"),
}


def packed(codec: str, block: bytes, count: int) -> bytes:
    """A file of one block."""
    head = container({"type": "record", "name": "r", "fields": [{"name": "x", "type": "long"}]}, [], codec)
    return head + long(count) + long(len(block)) + block + SYNC


@pytest.mark.parametrize("codec", PACK)
def test_blocks_of_every_codec(codec: str, tmp_path: Path) -> None:
    """Unpacked as a whole; a damaged one is damaged."""
    plan = replace(plan_of({"x": "integer"}), storage=Storage(Format.AVRO))
    block = PACK[codec](b"".join(map(long, range(1000))))

    assert [each["x"] for each in read(plan, tmp_path, packed(codec, block, 1000)).values] == list(range(1000))
    with pytest.raises(UnreadableError) as refused:
        opened(plan, tmp_path, packed(codec, block[:-1] + bytes([block[-1] ^ 1]), 1000)[:-1] + b"?")
    assert refused.value.finding.code == "inside"


def test_a_checksum_is_compared(tmp_path: Path) -> None:
    """A damaged block of snappy, the only codec without an end mark."""
    plan = replace(plan_of({"x": "integer"}), storage=Storage(Format.AVRO))
    with pytest.raises(UnreadableError):
        opened(plan, tmp_path, packed("snappy", PACK["snappy"](long(1))[:-1] + b"?", 1))


ODD = {
    "a number beyond 64 bits": ("long", b"\xff" * 9 + b"\x7f"),
    "a number without end": ("long", b"\xff" * 20),
    "no truth": ("boolean", b"\2"),
    "half a float": ("float", b"\0\0"),
    "a text that breaks off": ("string", long(9) + b"a"),
    "a text of less than nothing": ("string", long(-1)),
    "a symbol that is none": (ENUM, long(2)),
    "a symbol below the first": (ENUM, long(-1)),
    "a branch that is none": (["null", "long"], long(2)),
    "bytes behind a record": ("long", long(1) + b"\0"),
    "a list that breaks off": ({"type": "array", "items": "long"}, long(1 << 40) + long(1)),
}


@pytest.mark.parametrize("name", ODD)
def test_what_fits_no_schema_is_damaged(name: str, tmp_path: Path) -> None:
    """Never read as something else."""
    schema, encoded = ODD[name]
    with pytest.raises(UnreadableError) as refused:
        read_one(tmp_path, "string", schema, encoded)

    assert refused.value.finding.code == "inside"


def test_digits_that_no_decimal_has_cost_their_column(tmp_path: Path) -> None:
    """Arrow and DuckDB hold 38; other columns are read."""
    wide = {"type": "bytes", "logicalType": "decimal", "precision": 50, "scale": 2}
    fields = [{"name": "x", "type": wide}, {"name": "y", "type": "int"}]
    plan = replace(plan_of({"x": "decimal", "y": "integer"}), storage=Storage(Format.AVRO))
    file = container({"type": "record", "name": "r", "fields": fields}, [text("abc") + long(5)])
    source = opened(plan, tmp_path, file)

    assert read(plan, tmp_path, file).values == [{"x": None, "y": 5}]
    assert source.columns.foreign == (IncompatibleType("x", "decimal(50, 2)"),)


INVALID = {
    "no digits": {"type": "bytes", "logicalType": "decimal"},
    "a scale above the digits": {"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 5},
    "a scale below 0": {"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": -1},
    "0 digits": {"type": "bytes", "logicalType": "decimal", "precision": 0},
    "digits as a text": {"type": "bytes", "logicalType": "decimal", "precision": "4"},
    "digits as a truth": {"type": "bytes", "logicalType": "decimal", "precision": True},
    "more digits than bytes hold": {**FIXED, "logicalType": "decimal", "precision": 5},
    "an unknown one": {"type": "bytes", "logicalType": "big-decimal"},
    "a number for a name": {"type": "bytes", "logicalType": 5},
    "a date of bytes": {"type": "bytes", "logicalType": "date"},
    "a duration": {"type": "fixed", "name": "d", "size": 2, "logicalType": "duration"},
}


@pytest.mark.parametrize("name", INVALID)
def test_an_invalid_logical_type_is_ignored(name: str, tmp_path: Path) -> None:
    """The values are those of the type that it annotates (Avro 1.12, "Logical Types")."""
    schema = INVALID[name]
    value = b"ab" if schema["type"] == "fixed" else text("ab")
    found = read_one(tmp_path, "binary", schema, value)

    assert found.values == [{"x": "ab"}]


@pytest.mark.parametrize(
    "schema", [{"type": "long", "logicalType": "date"}, {"type": "long", "logicalType": "decimal"}]
)
def test_a_logical_type_of_another_type_is_ignored(schema: Any, tmp_path: Path) -> None:
    """A long that is called a date is a number."""
    assert read_one(tmp_path, "integer", schema, long(7)).values == [{"x": 7}]


def record(name: str, *fields: Any, **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": n, "type": t} for n, t in fields], **more}


ADDRESS = record("Address", ("no", "int"))
NAMES = {
    "the enclosing namespace": record("o", ("x", ADDRESS), ("y", "Address"), namespace="com.x"),
    "a whole name": record("o", ("x", ADDRESS), ("y", "com.x.Address"), namespace="com.x"),
    "a namespace in the name": record("com.x.o", ("x", ADDRESS), ("y", "com.x.Address")),
    "a name beats the namespace": record("com.x.o", ("x", ADDRESS), ("y", "com.x.Address"), namespace="other"),
    "an own namespace": record("o", ("x", {**ADDRESS, "namespace": "b"}), ("y", "b.Address"), namespace="a"),
    "no namespace": record("o", ("x", {**ADDRESS, "namespace": ""}), ("y", "Address"), namespace="a"),
    "inherited through a record": record(
        "o", ("x", record("m", ("z", ADDRESS), namespace="b")), ("y", "b.Address"), namespace="a"
    ),
    "an alias": record("o", ("x", {**ADDRESS, "aliases": ["Place"]}), ("y", "Place"), namespace="com.x"),
    "a union": record("o", ("x", ["null", ADDRESS]), ("y", ["null", "com.x.Address"]), namespace="com.x"),
    "a union of several": record("o", ("x", ["string", ADDRESS]), ("y", "com.x.Address"), namespace="com.x"),
    "an array": record("o", ("x", {"type": "array", "items": ADDRESS}), ("y", "Address"), namespace="com.x"),
    "the same name twice": record(
        "o",
        ("x", {**ADDRESS, "namespace": "b"}),
        ("w", record("Address", ("no", "string"))),
        ("y", "b.Address"),
        namespace="a",
    ),
    "used where another namespace encloses": record(
        "o", ("x", ADDRESS), ("w", record("p", ("q", "a.Address"), namespace="b")), ("y", "a.Address"), namespace="a"
    ),
}


@pytest.mark.parametrize("name", NAMES)
def test_names_are_resolved_as_the_specification_says(name: str) -> None:
    """Whole names, enclosing namespaces, aliases (Avro 1.12, "Names")."""
    kind = dict(read_schema(NAMES[name])[0].parts)["y"]

    assert (kind.kind, [(step, part.words) for step, part in kind.parts]) == (Kind.RECORD, [("no", "int")])


@pytest.mark.parametrize(
    "schema",
    [
        record("o", ("x", {**ADDRESS, "namespace": "b"}), ("y", "Address"), namespace="a"),
        record("o", ("x", ADDRESS), ("y", "a.Address"), namespace="b"),
        record("o", ("x", {**ADDRESS, "namespace": "b"}), ("y", "Address")),
    ],
)
def test_a_name_of_another_namespace_is_unknown(schema: Any) -> None:
    """A short name is none of every namespace."""
    with pytest.raises(UnreadableError) as refused:
        read_schema(schema)
    assert refused.value.finding.code == "schema"


def test_an_enumeration_without_symbols_is_no_type(tmp_path: Path) -> None:
    """The schema is refused before any value is read."""
    with pytest.raises(UnreadableError) as refused:
        read_one(tmp_path, "string", {"type": "enum", "name": "e"}, long(0))
    assert refused.value.finding.code == "schema"


def test_values_of_named_types_are_read_by_their_own_schemas(tmp_path: Path) -> None:
    """Two types share a name in different namespaces; each reference is of its own one."""
    plan = replace(nested_plan(Storage(Format.AVRO), SHARED_NAMES), storage=Storage(Format.AVRO))
    file = container(NAMES["the same name twice"], [long(1) + text("two") + long(3)])
    found = read(plan, tmp_path, file)

    assert [{name: each for name, each in row.items() if "." in name} for row in found.values] == [
        {"x.no": 1, "w.no": "two", "y.no": 3}
    ]


def test_elements_without_bytes_are_a_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few bytes may declare a list of a billion nulls."""
    assert avro_columns.MAX_EMPTY_ELEMENTS == 1 << 20
    monkeypatch.setattr("lakegate.engine.read.avro_columns.MAX_EMPTY_ELEMENTS", 1000)
    items = {"type": "array", "items": "null"}

    assert len(read_one(tmp_path, "string", items, long(1000) + long(0)).rows) == 1
    with pytest.raises(UnreadableError) as refused:
        read_one(tmp_path, "string", items, long(10**9) + long(0))
    assert refused.value.finding.code == "bomb"


def test_records_come_out_in_order_whatever_their_blocks(tmp_path: Path) -> None:
    """Of 1 to 7 records each."""
    table = pa.table({"x": list(range(100))})
    plan = replace(plan_of({"x": "integer"}), storage=Storage(Format.AVRO))
    for block in range(1, 8):
        found = read(plan, tmp_path, write_avro(table, "deflate", block))

        assert [each["x"] for each in found.values] == list(range(100))
