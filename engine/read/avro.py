"""Reads Avro as Arrow batches: the blocks of a share, by the schema in the file."""

from __future__ import annotations

import struct
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lakegate.contracts.door.file_signatures import UnreadableError
from lakegate.engine.read.addressed import AddressedFile
from lakegate.engine.read.avro_blocks import blocks_of, described, header_of
from lakegate.engine.read.avro_columns import Exacts, Nulls, NumberValues, Texts, Truths, content, fixed, number
from lakegate.engine.read.avro_nested import Lists, Maps, Optional, Others, Records
from lakegate.engine.read.bounds import unreadable
from lakegate.engine.type.arrow import MAX_DIGITS
from lakegate.engine.type.avro_types import LOGICAL, SIMPLE, WIDER, names_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lakegate.engine.read.avro_columns import Column, One
    from lakegate.engine.read.chunk import Share, Store
    from lakegate.engine.read.schema import Table

ROWS = 1 << 16
SIZE = 4 << 20
"""Rows, and bytes of blocks, of one batch."""
_DAY = 86_400_000_000


@dataclass(frozen=True, slots=True)
class AvroReader:
    """Avro object container files (`lakegate.engine.read.tables.Reader`)."""

    store: Store

    def described(self, address: str) -> Table:
        """See `Reader`."""
        with closing(self.store.stream(address)) as source:
            return described(source)

    def batches(self, share: Share, names: list[str]) -> Iterator[pa.RecordBatch]:
        """See `Reader`."""
        with closing(AddressedFile(self.store, share.address)) as file:
            try:
                yield from _batches(file, share, names)
            except (IndexError, OverflowError, struct.error, pa.ArrowException, OSError):
                if file.failure is not None:
                    raise
                raise unreadable("inside") from None


def _batches(file: AddressedFile, share: Share, names: list[str]) -> Iterator[pa.RecordBatch]:
    header = header_of(file)
    records = column_of(header.schema, {})
    rows = size = 0
    file.seek(share.start)
    for count, block in blocks_of(file, header, share.end - share.start):
        at = 0
        for _ in range(count):
            begun = at
            at = records.read(block, at)
            rows, size = rows + 1, size + at - begun
            if rows >= ROWS or size >= SIZE:
                yield pa.RecordBatch.from_struct_array(records.taken()).select(names)
                rows = size = 0
        if at != len(block):
            raise unreadable("inside")
    if rows:
        yield pa.RecordBatch.from_struct_array(records.taken()).select(names)


# --- a column for each type


def column_of(schema: Any, known: dict[str, Any]) -> Column:  # noqa: ANN401 - what JSON holds
    """The column that a schema's values are taken into; `lakegate.engine.type.avro_types` has judged the schema before."""
    if isinstance(schema, list):
        return _union(schema, known)
    if isinstance(schema, str):
        return _leaf(schema, {}) if schema in SIMPLE else column_of(known[schema], known)
    word = schema["type"]
    if not isinstance(word, str):
        return column_of(word, known)
    if "name" in schema:
        known |= dict.fromkeys(names_of(schema), schema)
    with_parts = _WITH_PARTS.get(word)
    if with_parts is not None:
        return with_parts(schema, known)
    return _leaf(word, schema) if word in SIMPLE else column_of(known[word], known)


def _union(members: list[Any], known: dict[str, Any]) -> Column:
    values = [each for each in members if each != "null"]
    plain = frozenset(each for each in values if isinstance(each, str))
    if len(values) == 1:
        column = column_of(values[0], known)
        return Optional(column, [None if each == "null" else column.read for each in members])
    if values and len(plain) == len(values) and plain in WIDER:
        wide = _leaf(WIDER[plain], {})
        assert isinstance(wide, NumberValues)
        return Optional(wide, [None if each == "null" else wide.reading(_ONES[each]) for each in members])
    if not values:
        return Optional(Nulls(), [None for _ in members])
    return Others([None if each == "null" else column_of(each, known) for each in members])


def _leaf(word: str, schema: dict[str, Any]) -> Column:
    logical = str(schema.get("logicalType"))
    if logical == "decimal" and word in {"bytes", "fixed"}:
        return Exacts(_decimal(int(schema["precision"]), int(schema.get("scale", 0))), _one(word, schema))
    if (word, logical) in LOGICAL:
        code, kind, one = _MOMENTS[logical]
        return NumberValues(code, kind, one)
    if word in _WIDTHS:
        return NumberValues(*_WIDTHS[word], _ONES[word])
    if word in {"string", "bytes", "enum", "fixed"}:
        return Texts(pa.string() if word in {"string", "enum"} else pa.binary(), _one(word, schema))
    return Truths(_truth) if word == "boolean" else Nulls()


def _decimal(precision: int, scale: int) -> pa.DataType:
    if not 0 < precision <= MAX_DIGITS or not 0 <= scale <= precision:
        raise UnreadableError(
            "schema", f"the Avro file has decimals of other than 1 to {MAX_DIGITS} digits: write them with fewer"
        )
    return pa.decimal128(precision, scale)


_WITH_PARTS: dict[str, Callable[[dict[str, Any], dict[str, Any]], Column]] = {
    **dict.fromkeys(
        ("record", "error"),
        lambda schema, known: Records([(each["name"], column_of(each["type"], known)) for each in schema["fields"]]),
    ),
    "array": lambda schema, known: Lists([column_of(schema["items"], known)]),
    "map": lambda schema, known: Maps([Texts(pa.string(), content), column_of(schema["values"], known)]),
}


# --- one value


def _one(word: str, schema: dict[str, Any]) -> One:
    if word == "fixed":
        return partial(fixed, size=int(schema["size"]))
    return partial(_symbol, symbols=[str(each).encode() for each in schema["symbols"]]) if word == "enum" else content


def _symbol(block: bytes, at: int, symbols: list[bytes]) -> tuple[bytes, int]:
    place, at = number(block, at)
    if place < 0:
        raise IndexError(place)
    return symbols[place], at


def _truth(block: bytes, at: int) -> tuple[int, int]:
    if block[at] > 1:
        raise IndexError(at)
    return block[at], at + 1


def _unpacked(block: bytes, at: int, form: struct.Struct) -> tuple[float, int]:
    return form.unpack_from(block, at)[0], at + form.size


def _thousands(block: bytes, at: int) -> tuple[int, int]:
    """Milliseconds as microseconds."""
    found, at = number(block, at)
    return found * 1000, at


def _clock(block: bytes, at: int) -> tuple[int, int]:
    """A time of day, on any day."""
    found, at = number(block, at)
    return found % _DAY, at


def _short_clock(block: bytes, at: int) -> tuple[int, int]:
    found, at = _thousands(block, at)
    return found % _DAY, at


_ONES: dict[str, One] = {
    **dict.fromkeys(("int", "long"), number),
    "float": partial(_unpacked, form=struct.Struct("<f")),
    "double": partial(_unpacked, form=struct.Struct("<d")),
}
_WIDTHS = {
    "int": ("q", pa.int64()),
    "long": ("q", pa.int64()),
    "float": ("f", pa.float32()),
    "double": ("d", pa.float64()),
}
_MOMENTS: dict[str, tuple[str, pa.DataType, One]] = {
    "date": ("i", pa.date32(), number),
    "time-millis": ("q", pa.time64("us"), _short_clock),
    "time-micros": ("q", pa.time64("us"), _clock),
    **{f"{zone}timestamp-millis": ("q", pa.timestamp("us"), _thousands) for zone in ("", "local-")},
    **{f"{zone}timestamp-micros": ("q", pa.timestamp("us"), number) for zone in ("", "local-")},
    **{f"{zone}timestamp-nanos": ("q", pa.timestamp("ns"), number) for zone in ("", "local-")},
}
