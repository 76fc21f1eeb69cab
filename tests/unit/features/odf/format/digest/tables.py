"""Small tables of every type that the logical hash knows, with the crate's digests in `vectors.json`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

_DAYS = [date(1970, 1, 1), date(1969, 12, 31), date(2026, 11, 23)]
_MOMENTS = [datetime(1970, 1, 1), datetime(1969, 12, 31, 23, 59, 59), datetime(2026, 11, 23, 1, 2, 3)]  # noqa: DTZ001
_NUMBERS = [0.0, -0.0, 1.5, float("inf"), float("nan")]
_DECIMALS = [Decimal("0.00"), Decimal("-1.25"), Decimal("999.99")]
_TEXTS = ["", "a", "\0", "żółć", "longer than an inline value"]
_BYTES = [b"", b"\0", b"\xff\0\x01", b"longer than an inline value"]
_TIMES = [time(0), time(23, 59, 59)]
_LISTS: list[Any] = [[], [0], [1, None, 2]]
TYPES: dict[str, tuple[Any, list[Any]]] = {
    "bool": (pa.bool_(), [False, True]),
    **{f"int{bits}": (getattr(pa, f"int{bits}")(), [0, -1, 1 - 2 ** (bits - 1)]) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": (getattr(pa, f"uint{bits}")(), [0, 1, 2**bits - 1]) for bits in (8, 16, 32, 64)},
    **{f"float{bits}": (getattr(pa, f"float{bits}")(), _NUMBERS) for bits in (16, 32, 64)},
    "date32": (pa.date32(), _DAYS),
    "date64": (pa.date64(), _DAYS),
    **{f"time32 {unit}": (pa.time32(unit), _TIMES) for unit in ("s", "ms")},
    **{f"time64 {unit}": (pa.time64(unit), _TIMES) for unit in ("us", "ns")},
    **{f"timestamp {unit}": (pa.timestamp(unit), _MOMENTS) for unit in ("s", "ms", "us", "ns")},
    "timestamp ms UTC": (pa.timestamp("ms", "UTC"), [each.replace(tzinfo=UTC) for each in _MOMENTS]),
    "timestamp us Warsaw": (pa.timestamp("us", "Europe/Warsaw"), [each.replace(tzinfo=UTC) for each in _MOMENTS]),
    "decimal32": (pa.decimal32(5, 2), _DECIMALS),
    "decimal64": (pa.decimal64(12, 2), _DECIMALS),
    "decimal128": (pa.decimal128(5, 2), _DECIMALS),
    "decimal128 of thousands": (pa.decimal128(5, -3), [Decimal("12e3"), Decimal(0)]),
    "decimal256": (pa.decimal256(50, 2), _DECIMALS),
    "binary": (pa.binary(), _BYTES),
    "large binary": (pa.large_binary(), _BYTES),
    "binary view": (pa.binary_view(), _BYTES),
    "binary of 3": (pa.binary(3), [b"\0\0\0", b"\x01\0\xff"]),
    "string": (pa.string(), _TEXTS),
    "large string": (pa.large_string(), _TEXTS),
    "string view": (pa.string_view(), _TEXTS),
    "list of int32": (pa.list_(pa.int32()), _LISTS),
    "large list of int32": (pa.large_list(pa.int32()), _LISTS),
    "list of 2 int32": (pa.list_(pa.int32(), 2), [[0, 0], [1, None]]),
    "list of string": (pa.list_(pa.string()), [[], [""], ["a", None, "bc"]]),
    "list of bool": (pa.list_(pa.bool_()), [[], [True, None, False]]),
    "list of binary of 2": (pa.list_(pa.binary(2)), [[], [b"ab", None]]),
    "list of list of int8": (pa.list_(pa.list_(pa.int8())), [[], [[]], [[0, None], None, [1]]]),
    "list of 2 large lists of string": (pa.list_(pa.large_list(pa.string()), 2), [[["a"], None], [[None, ""], []]]),
}
"""By name: an Arrow type and values of it. Those that the crate refuses are in test_logical.py."""
Batches = list[pa.RecordBatch]


def tables() -> dict[str, Batches]:
    """By name: rows in batches. The digest of each is in `vectors.json`."""
    return dict([*_of_one_column(), *_of_names(), *_of_records(), *_at_random()])


def _of_one_column() -> Iterator[tuple[str, Batches]]:
    for name, (kind, values) in TYPES.items():
        nulls = [None, *(each for value in values for each in (value, None)), None]
        yield f"{name}", [_batch(kind, values)]
        yield f"{name}, nulls", [_batch(kind, nulls)]
        yield f"{name}, only nulls", [_batch(kind, [None] * 9)]
        yield f"{name}, no rows", [_batch(kind, [])]
        yield f"{name}, batches", [_batch(kind, each) for each in (values, [], nulls[:2], nulls[2:])]


def _batch(kind: Any, values: list[Any], name: str = "column") -> pa.RecordBatch:
    return pa.record_batch([pa.array(values, kind)], [name])


def _of_names() -> Iterator[tuple[str, Batches]]:
    for name in ("", "a b", "Zażółć", "A", "a"):
        yield f"name {name!r}", [_batch(pa.int32(), [1, 2], name)]
    yield "the same name twice", [pa.record_batch([pa.array([1]), pa.array(["x"])], ["a", "a"])]
    yield "columns in one order", [pa.record_batch({"a": [1, 2], "b": [3, 4]})]
    yield "columns in another order", [pa.record_batch({"b": [3, 4], "a": [1, 2]})]
    under = pa.Array.from_buffers(pa.int64(), 3, [pa.py_buffer(b"\x05"), pa.array([1, 2, 3]).buffers()[1]])
    yield "a number under a null", [pa.record_batch([under], ["column"])]
    yield "null and zero of one byte are the same, null", [_batch(pa.int8(), [None])]
    yield "null and zero of one byte are the same, zero", [_batch(pa.int8(), [0])]
    yield "null before zero", [_batch(pa.int64(), [None, 0])]
    yield "zero before null", [_batch(pa.int64(), [0, None])]


def _of_records() -> Iterator[tuple[str, Batches]]:
    inner = pa.struct([("x", pa.int32()), ("y", pa.string())])
    deep = pa.struct([("a", pa.int64()), ("inner", pa.struct([("b", inner), ("c", pa.list_(pa.int16()))]))])
    full = {"x": 1, "y": "one"}
    yield "record", [_batch(inner, [full, {"x": 2, "y": "two"}])]
    yield "record, null", [_batch(inner, [full, None, full])]
    yield "record, field null", [_batch(inner, [full, {"x": None, "y": "a"}, {"x": 3, "y": None}])]
    yield "record, both null at once", [_batch(inner, [full, None])]
    yield "record, null in other rows", [_batch(inner, [full, None, {"x": None, "y": "a"}, {"x": 3, "y": None}])]
    yield "record, null in other batches", [_batch(inner, [full, None]), _batch(inner, [{"x": None, "y": "a"}])]
    yield "record, no fields", [_batch(pa.struct([]), [{}, {}])]
    rows = [{"a": 1, "inner": {"b": full, "c": [1, None]}}, {"a": 2, "inner": {"b": full, "c": []}}]
    yield "records in records", [_batch(deep, rows)]
    yield "records in records, outer null", [_batch(deep, [*rows, None])]
    yield "records in records, inner null", [_batch(deep, [*rows, {"a": 3, "inner": None}])]
    partly = {"a": 4, "inner": {"b": None, "c": None}}
    yield "records in records, all null", [_batch(deep, [None, *rows, {"a": None, "inner": None}, partly, None])]


def _at_random() -> Iterator[tuple[str, Batches]]:
    for seed in range(80):
        random = Random(seed)
        kinds = [_kind(random, 3) for _ in range(random.randint(1, 5))]
        schema = pa.schema([(f"c{place}", kind) for place, (kind, _) in enumerate(kinds)])
        share = random.choice((0.0, 0.0, 0.1, 0.5))
        rows = [
            [
                {f"c{i}": _value(random, kind, share) for i, kind in enumerate(kinds)}
                for _ in range(random.randint(0, 20))
            ]
            for _ in range(random.randint(1, 4))
        ]
        yield f"random {seed}", [pa.RecordBatch.from_pylist(each, schema) for each in rows]


def _kind(random: Random, depth: int) -> tuple[Any, Any]:
    """A type with its values; with the types of its fields, if it is a record."""
    if depth and random.random() < 0.3:
        fields = {f"f{place}": _kind(random, depth - 1) for place in range(random.randint(1, 3))}
        return pa.struct([(name, kind) for name, (kind, _) in fields.items()]), fields
    return TYPES[random.choice(sorted(TYPES))]


def _value(random: Random, kind: tuple[Any, Any], share: float) -> Any:
    _, values = kind
    if random.random() < share:
        return None
    if isinstance(values, dict):
        return {name: _value(random, each, share) for name, each in values.items()}
    return random.choice(values)
