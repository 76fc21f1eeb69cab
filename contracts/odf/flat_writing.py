"""Values of ODF's tables as bytes of FlatBuffers. The same value always has the same bytes."""

from __future__ import annotations

from struct import calcsize
from typing import TYPE_CHECKING, Any

from flatbuffers import Builder, number_types

from lakegate.contracts.odf.tables import (
    TABLES,
    BytesField,
    NumberField,
    StructField,
    TableField,
    TablesField,
    TextField,
    TextsField,
    UnionField,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakegate.contracts.odf.tables import Kind

_FLAGS = {
    "?": number_types.BoolFlags,
    "h": number_types.Int16Flags,
    "H": number_types.Uint16Flags,
    "i": number_types.Int32Flags,
    "I": number_types.Uint32Flags,
    "q": number_types.Int64Flags,
    "Q": number_types.Uint64Flags,
}
_OFFSET = 4
"""Bytes of a reference."""


def encoded(table: str, value: Mapping[str, Any]) -> bytes:
    """A value of a table, as a buffer of its own."""
    builder = Builder(1024)
    builder.Finish(_table(builder, table, value))
    return bytes(builder.Output())


def _table(builder: Builder, table: str, value: Mapping[str, Any]) -> int:
    """What a table refers to is written first, in the order of its fields."""
    fields = {name: kind for name, kind in TABLES[table].items() if value.get(name) is not None}
    referred = {name: _referred(builder, kind, name, value) for name, kind in fields.items()}
    builder.StartObject(sum(1 + isinstance(kind, UnionField) for kind in TABLES[table].values()))
    slot = 0
    for name, kind in TABLES[table].items():
        if name in fields:
            _add(builder, slot, kind, name, value, referred[name])
        slot += 1 + isinstance(kind, UnionField)
    return int(builder.EndObject())


def _referred(builder: Builder, kind: Kind, name: str, value: Mapping[str, Any]) -> int:
    """Where something is that is not in the table itself; 0 for what is."""
    found = value[name]
    match kind:
        case TextField() | TextsField():
            return _text(builder, found)
        case BytesField():
            return int(builder.CreateByteVector(found))
        case TableField(table):
            return _table(builder, table, found)
        case UnionField():
            return _table(builder, value[f"{name}_type"], found)
        case TablesField(table):
            return _vector(builder, [_table(builder, table, each) for each in found])
        case _:
            return 0


def _text(builder: Builder, found: str | list[str]) -> int:
    if isinstance(found, str):
        return int(builder.CreateString(found))
    return _vector(builder, [_text(builder, each) for each in found])


def _vector(builder: Builder, places: list[int]) -> int:
    """References to what is written already."""
    builder.StartVector(_OFFSET, len(places), _OFFSET)
    for each in reversed(places):
        builder.PrependUOffsetTRelative(each)
    return int(builder.EndVector())


def _add(  # noqa: PLR0913, PLR0917 - a field of a value, and where it goes
    builder: Builder, slot: int, kind: Kind, name: str, value: Mapping[str, Any], place: int
) -> None:
    match kind:
        case NumberField(code, names, optional):
            found = names.index(value[name]) if names else value[name]
            builder.PrependSlot(_FLAGS[code], slot, found, None if optional else 0)
        case StructField():
            builder.PrependStructSlot(slot, _struct(builder, kind, value[name]), 0)
        case UnionField(tables):
            builder.PrependUint8Slot(slot, tables.index(value[f"{name}_type"]) + 1, 0)
            builder.PrependUOffsetTRelativeSlot(slot + 1, place, 0)
        case _:
            builder.PrependUOffsetTRelativeSlot(slot, place, 0)


def _struct(builder: Builder, kind: StructField, value: Mapping[str, int]) -> int:
    """Written from its end."""
    *places, end = kind.places
    builder.Prep(kind.widest, end)
    for (name, code), place in zip(reversed(tuple(kind.fields.items())), reversed(places), strict=True):
        builder.Pad(end - place - calcsize(code))
        builder.Place(value[name], _FLAGS[code])
        end = place
    return int(builder.Offset())
