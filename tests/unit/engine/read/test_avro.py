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
from lakegate.engine.read import avro
from tests.deliveries.avro import SYNC, container, long, text, write_avro
from tests.deliveries.delivery import plan_of
from tests.unit.engine.read.opened import Read, opened, read

DOUBLE = struct.Struct("<d").pack
FLOAT = struct.Struct("<f").pack
ENUM = {"type": "enum", "name": "e", "symbols": ["A", "B"]}
FIXED = {"type": "fixed", "name": "f", "size": 2}
EXACT = {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2}
FIXED_EXACT = {**FIXED, "logicalType": "decimal", "precision": 4}
MILLIS = {"type": "int", "logicalType": "time-millis"}
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
    "time": ("time", MILLIS, [long(3_723_004), long(90_000_000)], ["01:02:03.004000000", "01:00:00.000000000"]),
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
    "a decimal of more digits": (EXACT, long(3) + b"\x0f\xff\xff"),
    "bytes behind a record": ("long", long(1) + b"\0"),
    "a moment beyond 64 bits": ({"type": "long", "logicalType": "timestamp-millis"}, long(2**62)),
    "a day beyond 32 bits": ({"type": "int", "logicalType": "date"}, long(2**31)),
    "a list that breaks off": ({"type": "array", "items": "long"}, long(1 << 40) + long(1)),
}


@pytest.mark.parametrize("name", ODD)
def test_what_fits_no_schema_is_damaged(name: str, tmp_path: Path) -> None:
    """Never read as something else."""
    schema, encoded = ODD[name]
    with pytest.raises(UnreadableError) as refused:
        read_one(tmp_path, "string", schema, encoded)

    assert refused.value.finding.code == "inside"


def test_digits_that_no_decimal_has_are_refused(tmp_path: Path) -> None:
    """Arrow and DuckDB hold 38."""
    with pytest.raises(UnreadableError) as refused:
        read_one(tmp_path, "decimal", {"type": "bytes", "logicalType": "decimal", "precision": 39}, text("a"))

    assert refused.value.finding.code == "schema"


def test_elements_without_bytes_are_a_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few bytes may declare a list of a billion nulls."""
    assert avro.MAX_EMPTY_ELEMENTS == 1 << 20
    monkeypatch.setattr("lakegate.engine.read.avro.MAX_EMPTY_ELEMENTS", 1000)
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
