"""Hashes of rows: the encoding of docs/ledger.md, computed a second time by plain Python."""

from __future__ import annotations

import re
import struct
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.features.odf.slices.merge_state import row_hashes
from tests.reference.sampling import sampled

PAGE = Path(__file__).resolve().parents[2] / "docs/ledger.md"
TIMES = pa.timestamp("us", "UTC")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
VALUES: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.int64(): st.integers(-(2**63), 2**63 - 1) | st.integers(-2, 2),
    pa.float64(): st.floats() | st.sampled_from([0.0, -0.0]),
    pa.string(): st.text(max_size=3) | st.sampled_from(["", "\0", "\1\0"]),
    pa.binary(): st.binary(max_size=3),
    pa.bool_(): st.booleans(),
    pa.decimal128(38, 18): st.integers(-(10**20), 10**20).map(lambda whole: Decimal(whole).scaleb(-18)),
    pa.date32(): st.dates(),
    pa.time64("us"): st.times(),
    TIMES: st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001 - bounds
}


def value_bytes(value: Any, kind: pa.DataType) -> bytes:  # noqa: PLR0911 - one for each type
    """A value that is not null."""
    if pa.types.is_list(kind):
        inner = [b"\1" + value_bytes(each, kind.value_type) if each is not None else b"\0" for each in value]
        return struct.pack("<q", len(value)) + b"".join(inner)
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        raw = value.encode() if isinstance(value, str) else value
        return struct.pack("<q", len(raw)) + raw
    if pa.types.is_boolean(kind):
        return b"\2" if value else b"\1"
    if pa.types.is_floating(kind):
        return struct.pack("<d", float("nan") if value != value else value + 0.0)  # noqa: PLR0124 - what is no number
    if pa.types.is_decimal(kind):
        return int(value.scaleb(18)).to_bytes(16, "little", signed=True)
    if pa.types.is_date(kind):
        return struct.pack("<i", (value - EPOCH.date()).days)
    if pa.types.is_time(kind):
        value = datetime.combine(EPOCH, value, UTC)
    return struct.pack("<q", value if pa.types.is_integer(kind) else (value - EPOCH) // timedelta(microseconds=1))


def row_hash(row: dict[str, tuple[Any, pa.DataType]]) -> bytes:
    """By docs/ledger.md."""
    text = b"".join(
        struct.pack("<Q", len(name.encode())) + name.encode() + value_bytes(value, kind)
        for name, (value, kind) in sorted(row.items())
        if value is not None
    )
    return blake2b(text, digest_size=16).digest()


@st.composite
def columns(draw: st.DrawFn) -> tuple[pa.DataType, list[Any]]:
    """A type, often of lists, with values."""
    kind = draw(st.sampled_from(list(VALUES)))
    values = st.none() | VALUES[kind]
    for _ in range(draw(st.integers(0, 2))):
        kind, values = pa.list_(kind), st.none() | st.lists(values, max_size=3)
    return kind, draw(st.lists(values, min_size=1, max_size=5))


def hashes(kind: pa.DataType, values: list[Any]) -> list[bytes]:
    return [bytes(each).ljust(16, b"\0") for each in row_hashes(pa.table({"x": pa.array(values, kind)}))]


@sampled(80, 20_000)
@given(columns(), columns())
def test_a_row_is_hashed_as_documented(
    one: tuple[pa.DataType, list[Any]], other: tuple[pa.DataType, list[Any]]
) -> None:
    """Whatever its columns are, in whatever part of a larger table they lie."""
    count = min(len(one[1]), len(other[1]))
    table = pa.table({"b": pa.array(one[1][:count], one[0]), "a\u00e4": pa.array(other[1][:count], other[0])})
    wanted = [
        row_hash({"b": (b, one[0]), "a\u00e4": (a, other[0])})
        for b, a in zip(one[1][:count], other[1][:count], strict=True)
    ]

    assert [bytes(each).ljust(16, b"\0") for each in row_hashes(table)] == wanted
    assert [bytes(each).ljust(16, b"\0") for each in row_hashes(table.slice(1))] == wanted[1:]


@sampled(80, 20_000)
@given(columns())
def test_equal_values_have_equal_hashes_and_others_have_not(column: tuple[pa.DataType, list[Any]]) -> None:
    """In lists, too: each null, empty text and empty list has its place."""
    kind, values = column
    written = [value_bytes(each, kind) if each is not None else None for each in values]
    found = hashes(kind, values)

    assert [found.index(each) for each in found] == [written.index(each) for each in written]


@given(st.lists(VALUES[TIMES], max_size=4), st.sampled_from(["Europe/Warsaw", "America/St_Johns", "+05:45"]))
def test_equal_instants_have_equal_hashes(values: list[datetime], zone: str) -> None:
    """Whatever time zone the column is declared in, and whatever Python writes of it."""
    elsewhere = pa.list_(pa.timestamp("us", zone))

    assert hashes(elsewhere, [values]) == hashes(pa.list_(TIMES), [values])


LIKE = [
    [["", None], [None, ""]],
    [["a", "b"], ["ab"], ["a, b"], ["a', 'b"], ["b", "a"]],
    [[], [None], [None, None], [""]],
]


@pytest.mark.parametrize("values", LIKE)
def test_lists_that_look_alike_differ(values: list[list[str | None]]) -> None:
    """ODF's own encoding of a list does not tell the first two apart."""
    assert len(set(hashes(pa.list_(pa.string()), values))) == len(values)


VECTORS: dict[str, tuple[dict[str, Any], str]] = {
    "a text and a number": ({"id": pa.array(["a"]), "n": pa.array([7])}, "5cc297e34bb46d43c6b4cfca570251a8"),
    "a null": ({"id": pa.array(["a"]), "n": pa.array([None], pa.int64())}, "60c9235991f17ff7a45f555722995cd9"),
    "a list with a null": ({"l": pa.array([["", None]], pa.list_(pa.string()))}, "7f391fa780732f60fae878034aea86ab"),
    "a list of lists": (
        {"l": pa.array([[[1], [], None]], pa.list_(pa.list_(pa.int64())))},
        "3cd7941567551d9c9a6270945b24ddc0",
    ),
    "a list of times": (
        {"l": pa.array([[datetime(2026, 11, 25, 12, tzinfo=UTC)]], pa.list_(TIMES))},
        "a1daf465e55c54fb7d01a8737a3d3ef8",
    ),
    "a field of a record": (
        {"r": pa.array([{"x": True}], pa.struct([("x", pa.bool_())]))},
        "d72fdbcc4502f12ae5bef703be1efc16",
    ),
}


@pytest.mark.parametrize("name", VECTORS)
def test_vectors(name: str) -> None:
    """For other languages, in docs/ledger.md."""
    table, wanted = VECTORS[name]

    assert row_hashes(pa.table(table))[0].ljust(16, b"\0").hex() == wanted
    assert re.search(rf"^\| {re.escape(name)} \| .* \| `{wanted}` \|$", PAGE.read_text(), re.MULTILINE)
