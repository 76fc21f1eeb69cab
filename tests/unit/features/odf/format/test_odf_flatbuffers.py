from __future__ import annotations

import base64
import hashlib
import json
import struct
from pathlib import Path
from shutil import which
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.base.errors import InputError
from lakegate.features.odf.format.odf_flatbuffers import (
    MAX_DEPTH,
    TABLES,
    BytesField,
    Kind,
    NotOdfError,
    NumberField,
    StructField,
    TableField,
    TablesField,
    TextField,
    decode_table,
    encode_table,
)
from tests.unit.features.odf.format.blocks import VECTORS, blocks, by_flatc, envelope, field

STORED = json.loads(VECTORS.read_text())
BLOCKS = blocks()
WHOLE = {
    each.code: st.integers(0, 2 ** (8 * struct.calcsize(each.code) - 1) - 1)
    for each in (NumberField(c) for c in "hiIqQ")
}


@pytest.mark.parametrize(("name", "expected"), STORED["reference"].items())
def test_blocks_have_the_bytes_of_the_reference_implementation(name: str, expected: str) -> None:
    """Every byte of an event's block is the one that kamu-cli writes."""
    assert hashlib.sha3_256(envelope(BLOCKS[name])).hexdigest() == expected


@pytest.mark.parametrize(("name", "value"), BLOCKS.items())
def test_what_flatc_writes_is_read(name: str, value: dict[str, Any]) -> None:
    """Bytes that flatc made of the JSON of a block, by the published schema, have its value, as ours have."""
    theirs = decode_table("MetadataBlock", base64.b64decode(STORED["flatc"][name]))

    assert theirs == decode_table("MetadataBlock", encode_table("MetadataBlock", value))
    assert {key: theirs["event"].get(key) for key in value["event"]} == value["event"]


@pytest.mark.full
@pytest.mark.skipif(which("flatc") is None, reason="needs flatc, of Debian's package flatbuffers-compiler")
def test_flatc_reads_what_is_written(odf_schema: Path) -> None:
    """It makes the same JSON of our bytes, and the same bytes of the JSON as are stored (each block: the test above)."""
    assert by_flatc(odf_schema) == STORED["flatc"]


def values(table: str, depth: int = 0) -> st.SearchStrategy[dict[str, Any]]:
    """Any value of a table; unions only where they end soon."""
    fields = {name: of_kind(kind, depth) for name, kind in TABLES[table].items()}
    known = {name: found for name, found in fields.items() if found is not None}
    always = {name for name, kind in TABLES[table].items() if isinstance(kind, NumberField) and not kind.optional}
    optional = {name: each for name, each in known.items() if name not in always}
    return st.fixed_dictionaries({name: known[name] for name in always}, optional=optional)


def of_kind(kind: Kind, depth: int) -> st.SearchStrategy[Any] | None:
    found: st.SearchStrategy[Any] | None = None
    match kind:
        case NumberField(code, names):
            found = st.sampled_from(names) if names else st.booleans() if code == "?" else WHOLE[code]
        case StructField(fields):
            found = st.fixed_dictionaries({name: WHOLE[code.replace("H", "h")] for name, code in fields.items()})
        case TextField():
            found = st.text(max_size=20)
        case BytesField():
            found = st.binary(max_size=20)
        case TableField(table):
            found = values(table, depth + 1)
        case TablesField(table):
            found = st.lists(values(table, depth + 1), max_size=3)
    return found


@pytest.mark.parametrize("table", ["AddData", "SetVocab", "AttachmentsEmbedded", "Manifest", "DataTypeDecimal"])
@given(data=st.data())
def test_what_is_written_is_read(table: str, data: st.DataObject) -> None:
    """Every value is read as it was written, and has the same bytes each time."""
    value = data.draw(values(table))
    written = encode_table(table, value)

    assert decode_table(table, written) == value
    assert encode_table(table, dict(reversed(value.items()))) == written


@given(
    st.sampled_from(sorted(BLOCKS)),
    st.lists(st.tuples(st.integers(0, 2**16), st.integers(0, 255)), max_size=6),
    st.integers(0, 2**16),
)
def test_any_bytes_are_read_or_refused(name: str, changes: list[tuple[int, int]], end: int) -> None:
    """Whatever bytes of a block are changed or cut off, it is read as something, or refused; nothing else happens."""
    body = bytearray(encode_table("MetadataBlock", BLOCKS[name]))
    for place, byte in changes:
        body[place % len(body)] = byte
    try:
        found = decode_table("MetadataBlock", bytes(body[: len(body) - end % len(body) if end % 3 == 0 else len(body)]))
    except NotOdfError:
        return
    assert found.keys() <= {"system_time", "prev_block_hash", "sequence_number", "event_type", "event"}


@given(st.binary(max_size=200))
def test_bytes_of_something_else_are_read_or_refused(body: bytes) -> None:
    """Bytes that were never a block end in nothing but a refusal."""
    try:
        decode_table("Manifest", body)
    except NotOdfError:
        return


def test_repeated_references_are_counted() -> None:
    """A text that a thousand references lead to is not read a thousand times."""
    item = {"path": "p", "content": "x" * 10_000}
    body = bytearray(encode_table("AttachmentsEmbedded", {"items": [item] + [{}] * 1000}))
    start = body.index(struct.pack("<I", 1001))
    first = start + 4 + struct.unpack_from("<I", body, start + 4)[0]
    for at in range(start + 4, start + 4 + 4 * 1001, 4):
        struct.pack_into("<I", body, at, first - at)

    with pytest.raises(NotOdfError, match="references lead to the same place"):
        decode_table("AttachmentsEmbedded", bytes(body))


def test_depth_is_bounded() -> None:
    """Types are nested to a bound."""
    kind: dict[str, Any] = {"type_type": "DataTypeBool", "type": {}}
    for _ in range(MAX_DEPTH + 1):
        kind = {"type_type": "DataTypeOption", "type": {f"inner{each[4:]}": value for each, value in kind.items()}}

    with pytest.raises(NotOdfError, match=f"nested more than {MAX_DEPTH} deep"):
        decode_table("DataField", encode_table("DataField", {"name": "a", **kind}))


def changed(table: str, value: dict[str, Any], old: bytes, new: bytes) -> bytes:
    body = encode_table(table, value)
    assert body.count(old) == 1
    return body.replace(old, new)


@pytest.mark.parametrize(
    ("table", "body", "reason"),
    [
        (
            "Seed",
            changed("Seed", {"dataset_kind": "Derivative"}, b"\1\0\0\0", b"\2\0\0\0"),
            "2 is none of Root, Derivative",
        ),
        ("SetVocab", changed("SetVocab", {"offset_column": "ab"}, b"ab", b"\xff\xfe"), "not UTF-8"),
        (
            "SetVocab",
            changed("SetVocab", {"offset_column": "abcd"}, b"\4\0\0\0abcd", b"\5\1\0\0abcd"),
            "larger than|longer than",
        ),
        ("SetVocab", changed("SetVocab", {"offset_column": "abcd"}, b"\4\0\0\0abcd", b"\x20\0\0\0abcd"), "longer than"),
        ("Manifest", b"\4\0\0\0\x70\0\0\0", "before the bytes"),
        ("Manifest", b"\4\0", "break off"),
        ("DataField", changed("DataField", field("a", "Bool"), b"\2", b"\x19"), "type is none of the kinds"),
    ],
)
def test_malformed_bytes_are_refused(table: str, body: bytes, reason: str) -> None:
    """Each kind of damage is refused by its name."""
    with pytest.raises(InputError, match=reason):
        decode_table(table, body)
