"""A small writer of Avro object container files (Avro 1.11), for tables of Arrow."""

from __future__ import annotations

import datetime as dt
import json
import struct
import zlib
from collections.abc import Callable
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa

SYNC = b"lakegate-tests-!"
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def write_avro(table: pa.Table, codec: str = "null", block: int = 1000, **metadata: bytes) -> bytes:
    """The rows of a table in blocks of so many; every field may be null."""
    schema = {
        "type": "record",
        "name": "row",
        "fields": [_field(each, f"f{at}") for at, each in enumerate(table.schema)],
    }
    return container(schema, [_record(table.schema, row) for row in table.to_pylist()], codec, block, **metadata)


def container(schema: object, records: list[bytes], codec: str = "null", block: int = 1000, **metadata: bytes) -> bytes:
    """Encoded records under a schema."""
    about = {"avro.schema": json.dumps(schema).encode(), "avro.codec": codec.encode(), **metadata}
    head = b"Obj\x01" + long(len(about)) + b"".join(text(key) + long(len(it)) + it for key, it in about.items())
    blocks = [records[at : at + block] for at in range(0, len(records), block)]
    return head + long(0) + SYNC + b"".join(_block(each, codec) for each in blocks)


def long(number: int) -> bytes:
    """A whole number, zig-zag and of variable length."""
    rest, found = (number << 1) ^ (number >> 63), bytearray()
    while rest > 0x7F:
        found.append((rest & 0x7F) | 0x80)
        rest >>= 7
    return bytes(found) + bytes([rest])


def text(value: str) -> bytes:
    content = value.encode()
    return long(len(content)) + content


def _block(records: list[bytes], codec: str) -> bytes:
    content = b"".join(records)
    if codec == "deflate":
        packer = zlib.compressobj(wbits=-15)
        content = packer.compress(content) + packer.flush()
    return long(len(records)) + long(len(content)) + content + SYNC


def _field(field: pa.Field, name: str) -> dict[str, Any]:
    return {"name": field.name, "type": ["null", _type(field.type, name)]}


def _type(kind: pa.DataType, name: str) -> Any:
    if pa.types.is_decimal(kind):
        return {"type": "bytes", "logicalType": "decimal", "precision": kind.precision, "scale": kind.scale}
    if pa.types.is_timestamp(kind):
        return {"type": "long", "logicalType": "timestamp-micros" if kind.tz else "local-timestamp-micros"}
    if pa.types.is_struct(kind):
        return {
            "type": "record",
            "name": name,
            "fields": [_field(each, f"{name}_{at}") for at, each in enumerate(kind)],
        }
    if pa.types.is_list(kind):
        return {"type": "array", "items": ["null", _type(kind.value_type, f"{name}_i")]}
    if pa.types.is_map(kind):
        return {"type": "map", "values": ["null", _type(kind.item_type, f"{name}_v")]}
    return _NAMES[kind]


def _record(fields: Any, row: dict[str, Any]) -> bytes:
    return b"".join(_value(each.type, row.get(each.name)) for each in fields)


def _value(kind: pa.DataType, value: Any) -> bytes:
    return long(0) if value is None else long(1) + _encoded(kind, value)


def _encoded(kind: pa.DataType, value: Any) -> bytes:
    if pa.types.is_decimal(kind):
        unscaled = int(Decimal(value).scaleb(kind.scale, Context(prec=kind.precision)))
        content = unscaled.to_bytes(unscaled.bit_length() // 8 + 1, "big", signed=True)
        return long(len(content)) + content
    if pa.types.is_timestamp(kind):
        moment = value if value.tzinfo else value.replace(tzinfo=dt.UTC)
        return long((moment - EPOCH) // dt.timedelta(microseconds=1))
    if pa.types.is_struct(kind):
        return _record(kind, value)
    if pa.types.is_list(kind):
        return _blocks([_value(kind.value_type, each) for each in value])
    if pa.types.is_map(kind):
        return _blocks([text(key) + _value(kind.item_type, each) for key, each in value])
    return _SIMPLE[kind](value)


def _blocks(items: list[bytes]) -> bytes:
    return (long(len(items)) + b"".join(items) if items else b"") + long(0)


_NAMES: dict[pa.DataType, Any] = {
    pa.string(): "string",
    pa.binary(): "bytes",
    pa.int32(): "int",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.bool_(): "boolean",
    pa.date32(): {"type": "int", "logicalType": "date"},
    pa.time64("us"): {"type": "long", "logicalType": "time-micros"},
}
_SIMPLE: dict[pa.DataType, Callable[[Any], bytes]] = {
    pa.string(): text,
    pa.binary(): lambda value: long(len(value)) + value,
    pa.int32(): long,
    pa.int64(): long,
    pa.float32(): lambda value: struct.pack("<f", value),
    pa.float64(): lambda value: struct.pack("<d", value),
    pa.bool_(): lambda value: bytes([value]),
    pa.date32(): lambda value: long((value - EPOCH.date()).days),
    pa.time64("us"): lambda value: long(
        (value.hour * 3600 + value.minute * 60 + value.second) * 1_000_000 + value.microsecond
    ),
}
