"""Generated rows as tables: columns of physical types that hold values of the declared ones, and of some that do not."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable, Mapping, Sequence
from decimal import Context, Decimal, InvalidOperation
from typing import Any

import pyarrow as pa

from lakegate.contract.file_formats import Format
from tests.agreement.fields import Field
from tests.agreement.rows import Row, Value

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
MOMENTS = (-62167219200000000, -62167219200000001, 253402300799999999, 253402300800000000, -1)
"""The ends of the years 0000 to 9999 in microseconds, and what lies just outside."""
FOREIGN = 0.03
"""The share of columns whose type holds no value of the declared one."""
ODD = 0.05
"""The share of values that only a table can hold: NaN, infinities, moments out of range."""

_EXACT = (pa.decimal128(38, 18), pa.decimal128(10, 2), pa.decimal128(38, 0))
_FINE = pa.decimal128(38, 30)
TYPES: Mapping[str, tuple[pa.DataType, ...]] = {
    "string": (pa.string(), pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())),
    "integer": (pa.int64(), pa.int32(), pa.int8(), pa.uint64(), pa.decimal128(38, 0)),
    "number": (pa.float64(), pa.float32(), pa.int32(), *_EXACT),
    "decimal": (*_EXACT, pa.int64()),
    "decimal(38,0)": (pa.decimal128(38, 0), pa.decimal128(38, 0), pa.decimal128(10, 2), pa.int64()),
    "decimal(38,30)": (_FINE, _FINE, *_EXACT),
    "boolean": (pa.bool_(),),
    "date": (pa.date32(),),
    "time": (pa.time64("us"), pa.string()),
    "timestamp": (pa.timestamp("us", "UTC"), pa.timestamp("us"), pa.timestamp("ms"), pa.timestamp("ns", "UTC")),
    "binary": (pa.binary(), pa.string()),
    "day": (pa.string(),),
}
_AVRO = {
    *(pa.string(), pa.binary(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.bool_(), pa.date32()),
    *(pa.time64("us"), pa.timestamp("us"), pa.timestamp("us", "UTC"), *_EXACT, _FINE),
}
_ORC = {
    *(pa.string(), pa.large_string(), pa.binary(), pa.int8(), pa.int32(), pa.int64(), pa.float32(), pa.float64()),
    *(pa.bool_(), pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC"), *_EXACT, _FINE),
}
WRITABLE = {Format.AVRO: _AVRO, Format.ORC: _ORC}
"""The types that the writers of the tests can write; Parquet takes all."""


def table_of(draw: random.Random, form: Format, fields: Sequence[Field], rows: Sequence[Row]) -> pa.Table:
    """The rows as one table; what a column's type cannot hold is null."""
    columns = list(fields)
    if draw.random() < 0.1:
        draw.shuffle(columns)
    if len(columns) > 1 and draw.random() < 0.05:
        columns.pop()
    types = {each.name: _type(draw, form, each) for each in columns}
    arrays = [
        pa.array([_value(draw, form, types[each.name], each, row[each.name]) for row in rows], types[each.name])
        for each in columns
    ]
    return pa.table(arrays, schema=pa.schema(list(types.items())))


def _type(draw: random.Random, form: Format, field: Field) -> pa.DataType:
    inner = [_type(draw, form, each) for each in field.parts]
    match field.kind:
        case "object":
            return pa.struct([(each.name, own) for each, own in zip(field.parts, inner, strict=True)])
        case "array":
            return pa.list_(inner[0])
        case "map":
            return pa.map_(pa.string(), inner[0])
    kinds = TYPES[draw.choice(list(TYPES))] if draw.random() < FOREIGN else TYPES[field.kind]
    allowed = WRITABLE.get(form)
    return draw.choice([each for each in kinds if allowed is None or each in allowed] or [pa.string()])


def _value(draw: random.Random, form: Format, kind: pa.DataType, field: Field, value: Value) -> Any:
    match value:
        case None:
            return None
        case list():
            return [_value(draw, form, kind.value_type, field.parts[0], each) for each in value]
        case dict() if pa.types.is_map(kind):
            return [(key, _value(draw, form, kind.item_type, field.parts[0], each)) for key, each in value.items()]
        case dict():
            known = {each.name: each for each in field.parts}
            return {key: _value(draw, form, kind.field(key).type, known[key], each) for key, each in value.items()}
        case "1582-10-10" if form is Format.ORC:
            return None  # no date of ORC as Spark writes it: tests/spark/test_formats_rows.py
        case str():
            odd = _odd(draw, form, kind) if draw.random() < ODD else None
            return _held(kind, value) if odd is None else odd


def _held(kind: pa.DataType, text: str) -> Any:
    """The value of a text in a column of a type; None where the type cannot hold it."""
    if pa.types.is_dictionary(kind):
        return text
    cast = next((each for is_of, each in _CASTS if is_of(kind)), None)
    try:
        return text if cast is None else pa.array([cast(kind, text)], kind)[0].as_py()
    except (ValueError, OverflowError, InvalidOperation, pa.ArrowInvalid, pa.ArrowTypeError):
        return None


def _odd(draw: random.Random, form: Format, kind: pa.DataType) -> Any:
    if pa.types.is_floating(kind):
        return draw.choice([float("nan"), float("inf"), -0.0, 5e-324 if kind == pa.float64() else 1e-40])
    if pa.types.is_timestamp(kind) and kind.unit == "us" and form is Format.PARQUET:
        return draw.choice(MOMENTS)
    if pa.types.is_binary(kind):
        return draw.choice([b"\xff\x00", b"", b"\x80"])
    return None


def _moment(text: str) -> dt.datetime:
    found = dt.datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=dt.UTC)


_CASTS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType, str], Any]], ...] = (
    (
        pa.types.is_decimal,
        lambda kind, text: Decimal(text).quantize(Decimal(1).scaleb(-kind.scale), context=Context(prec=38)),
    ),
    (pa.types.is_integer, lambda _, text: int(Decimal(text))),
    (pa.types.is_floating, lambda _, text: float(text)),
    (pa.types.is_boolean, lambda _, text: text.lower() == "true"),
    (pa.types.is_date, lambda _, text: dt.date.fromisoformat(text)),
    (pa.types.is_time, lambda _, text: dt.time.fromisoformat(text)),
    (pa.types.is_timestamp, lambda _, text: _moment(text)),
    (pa.types.is_binary, lambda _, text: text.encode()),
)
