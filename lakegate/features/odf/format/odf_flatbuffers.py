"""ODF's FlatBuffers tables, read and written."""

from __future__ import annotations

import struct
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from struct import calcsize
from typing import Any, Final, TypeAlias

from flatbuffers import Builder, number_types

from lakegate.base.errors import InputError

# ---- Tables of `opendatafabric.fbs` ----
# Names, order and defaults are those of the schema: the place of a field in its table is its place in the file. Values are as
# `flatc --json` has them: a member for each field that is there, a union as its type's name and its value; bytes as `bytes`.
#
# Steps and events that Lakegate does not write have no table here: their values are not read.


Table: TypeAlias = Mapping[str, "Kind"]


@dataclass(frozen=True, slots=True)
class NumberField:
    """A number that stands in its table."""

    code: str
    """Of `struct`."""
    names: tuple[str, ...] = ()
    """Of an enumeration."""
    optional: bool = False
    """Without a default: absent is not 0."""


@dataclass(frozen=True, slots=True)
class TextField:
    """UTF-8."""


@dataclass(frozen=True, slots=True)
class BytesField:
    """Bytes, such as a multihash."""


@dataclass(frozen=True, slots=True)
class StructField:
    """Numbers one after the other, each at a multiple of its size."""

    fields: Mapping[str, str]
    """By name the code of `struct`."""

    @property
    def places(self) -> tuple[int, ...]:
        """The offset of each number, and the end of all of them."""
        places, end = [], 0
        for width in (*map(calcsize, self.fields.values()), self.widest):
            places.append(end + -end % width)
            end = places[-1] + width
        return tuple(places)

    @property
    def widest(self) -> int:
        """Bytes of the largest number."""
        return max(map(calcsize, self.fields.values()))


@dataclass(frozen=True, slots=True)
class TableField:
    """Another table."""

    table: str


@dataclass(frozen=True, slots=True)
class TablesField:
    """Tables of one kind."""

    table: str


@dataclass(frozen=True, slots=True)
class TextsField:
    """Texts in their order."""


@dataclass(frozen=True, slots=True)
class UnionField:
    """One of several tables; the field before it, `<name>_type`, is the number of its kind, from 1."""

    tables: tuple[str, ...]


Kind: TypeAlias = (
    NumberField | TextField | BytesField | StructField | TableField | TablesField | TextsField | UnionField
)
U64, I64, U32, I32 = NumberField("Q"), NumberField("q"), NumberField("I"), NumberField("i")
ANY_U64: Final = NumberField("Q", optional=True)
TEXT: Final = TextField()
TEXTS: Final = TextsField()
ANY_BOOL: Final = NumberField("?", optional=True)
BYTES: Final = BytesField()
TIMESTAMP: Final = StructField({"year": "i", "ordinal": "H", "seconds_from_midnight": "I", "nanoseconds": "I"})
_UNIT: Final = NumberField("h", ("Second", "Millisecond", "Microsecond", "Nanosecond"), optional=True)
_EXTRA: Final = TableField("ExtraAttributes")

EVENTS: Final = (
    "AddData",
    "ExecuteTransform",
    "Seed",
    "SetPollingSource",
    "SetTransform",
    "SetVocab",
    "SetAttachments",
    "SetInfo",
    "SetLicense",
    "SetDataSchema",
    "AddPushSource",
    "DisablePushSource",
    "DisablePollingSource",
)

_WHOLE: Final = tuple(f"DataType{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64))
_TYPES: Final = UnionField(
    (
        *(f"DataType{each}" for each in ("Binary", "Bool", "Date", "Decimal", "Duration")),
        *(f"DataTypeFloat{bits}" for bits in (16, 32, 64)),
        *_WHOLE,
        *(f"DataType{each}" for each in ("List", "Map", "Null", "Option", "Struct", "Time", "Timestamp", "String")),
    )
)

_READ: Final = UnionField(
    tuple(f"ReadStep{each}" for each in ("Csv", "GeoJson", "EsriShapefile", "Parquet", "Json", "NdJson", "NdGeoJson"))
)
_MERGE: Final = UnionField(
    tuple(f"MergeStrategy{each}" for each in ("Append", "Ledger", "Snapshot", "ChangelogStream", "UpsertStream"))
)
_FETCH: Final = UnionField(
    tuple(f"FetchStep{each}" for each in ("Url", "FilesGlob", "Container", "Mqtt", "EthereumLogs"))
)
_EVENT_TIME: Final = UnionField(tuple(f"EventTimeSourceFrom{each}" for each in ("Metadata", "Path", "SystemTime")))
_PREPROCESS: Final = UnionField(("TransformSql",))
_TEXT_FORMATS: Final[Table] = {"date_format": TEXT, "encoding": TEXT, "timestamp_format": TEXT}
_SCHEMA: Final = TableField("DataSchema")
_PLAIN: Final = ("Bool", "Date", "Float16", "Float32", "Float64", "Null", "String")

TABLES: Final[Mapping[str, Table]] = {
    "Manifest": {"kind": I64, "version": I32, "content": BYTES},
    "MetadataBlock": {
        "system_time": TIMESTAMP,
        "prev_block_hash": BYTES,
        "sequence_number": U64,
        "event": UnionField(EVENTS),
    },
    "Seed": {"dataset_id": BYTES, "dataset_kind": NumberField("i", ("Root", "Derivative"))},
    "AddData": {
        "prev_checkpoint": BYTES,
        "prev_offset": ANY_U64,
        "new_data": TableField("DataSlice"),
        "new_checkpoint": TableField("Checkpoint"),
        "new_watermark": TIMESTAMP,
        "new_source_state": TableField("SourceState"),
        "extra": _EXTRA,
    },
    "DataSlice": {
        "logical_hash": BYTES,
        "physical_hash": BYTES,
        "offset_interval": TableField("OffsetInterval"),
        "size": U64,
    },
    "OffsetInterval": {"start": U64, "end": U64},
    "Checkpoint": {"physical_hash": BYTES, "size": U64},
    "SourceState": {"source_name": TEXT, "kind": TEXT, "value": TEXT},
    "ExtraAttributes": {"entries": TEXT},
    "SetVocab": {
        "offset_column": TEXT,
        "operation_type_column": TEXT,
        "system_time_column": TEXT,
        "event_time_column": TEXT,
    },
    "SetAttachments": {"attachments": UnionField(("AttachmentsEmbedded",))},
    "AttachmentsEmbedded": {"items": TablesField("AttachmentEmbedded")},
    "AttachmentEmbedded": {"path": TEXT, "content": TEXT},
    "SetInfo": {"description": TEXT, "keywords": TEXTS},
    "SetLicense": {"short_name": TEXT, "name": TEXT, "spdx_id": TEXT, "website_url": TEXT},
    "AddPushSource": {
        "source_name": TEXT,
        "read": _READ,
        "preprocess": _PREPROCESS,
        "merge": _MERGE,
    },
    "DisablePushSource": {"source_name": TEXT},
    "SetPollingSource": {
        "fetch": _FETCH,
        "prepare": TablesField("PrepStepWrapper"),
        "read": _READ,
        "preprocess": _PREPROCESS,
        "merge": _MERGE,
    },
    "DisablePollingSource": {},
    "FetchStepUrl": {
        "url": TEXT,
        "event_time": _EVENT_TIME,
        "cache": UnionField(("SourceCachingForever",)),
        "headers": TablesField("RequestHeader"),
    },
    "EventTimeSourceFromMetadata": {},
    "RequestHeader": {"name": TEXT, "value": TEXT},
    "PrepStepWrapper": {"value": UnionField(("PrepStepDecompress", "PrepStepPipe"))},
    "PrepStepDecompress": {"format": NumberField("i", ("Gzip", "Zip")), "sub_path": TEXT},
    "ReadStepCsv": {
        "ddl_schema": TEXTS,
        **dict.fromkeys(("separator", "encoding", "quote", "escape"), TEXT),
        "header": ANY_BOOL,
        "infer_schema": ANY_BOOL,
        **dict.fromkeys(("null_value", "date_format", "timestamp_format"), TEXT),
        "schema": _SCHEMA,
    },
    "ReadStepParquet": {"ddl_schema": TEXTS, "schema": _SCHEMA},
    "ReadStepJson": {"sub_path": TEXT, "ddl_schema": TEXTS, **_TEXT_FORMATS, "schema": _SCHEMA},
    "ReadStepNdJson": {"ddl_schema": TEXTS, **_TEXT_FORMATS, "schema": _SCHEMA},
    "MergeStrategyAppend": {},
    "MergeStrategyLedger": {"primary_key": TEXTS},
    "MergeStrategySnapshot": {"primary_key": TEXTS, "compare_columns": TEXTS},
    "MergeStrategyUpsertStream": {"primary_key": TEXTS},
    "SetDataSchema": {"raw_arrow_schema": BYTES, "schema": TableField("DataSchema")},
    "DataSchema": {"fields": TablesField("DataField"), "extra": _EXTRA},
    "DataField": {"name": TEXT, "type": _TYPES, "extra": _EXTRA},
    **{f"DataType{item}": {} for item in _PLAIN},
    **{member: {} for member in _WHOLE},
    "DataTypeBinary": {"fixed_length": ANY_U64},
    "DataTypeDecimal": {"precision": U32, "scale": I32},
    "DataTypeDuration": {"unit": _UNIT},
    "DataTypeTime": {"unit": _UNIT},
    "DataTypeTimestamp": {"unit": _UNIT, "timezone": TEXT},
    "DataTypeOption": {"inner": _TYPES},
    "DataTypeStruct": {"fields": TablesField("DataField")},
    "DataTypeList": {"item_type": _TYPES, "fixed_length": ANY_U64},
    "DataTypeMap": {"key_type": _TYPES, "value_type": _TYPES, "keys_sorted": ANY_BOOL},
}


# ---- Reading of hostile buffers ----
# The library has no check of a buffer in Python. Here every place is compared with the end of the buffer, tables nest to a
# bound, and what Python needs for a value is counted before it is made: references may lead to the same place many times, and a
# table of eight bytes becomes a dictionary.


MAX_DEPTH = 64
"""Tables in tables."""
MOST_MEMORY = 128 << 20
"""Bytes of memory that all values of a block may take, however large it is."""
REPEATED = 64
"""Times the bytes of a buffer that its values may take of memory: a column has 25 times those of its tables."""
_TABLE, _NUMBER, _TEXT, _ENTRY, _WIDEST = 256, 32, 80, 9, 4
"""Bytes of memory of a dictionary, a number, an empty text or list, an item of a list, and a character that is not of ASCII."""
_OFFSET, _SHORT = 4, 2
"""Bytes of a reference, and of an entry of a table's index."""


class NotOdfError(InputError):
    """The bytes are no value of a table."""


@dataclass(slots=True)
class Budget:
    """Bytes of memory that values may still take."""

    left: int

    def take(self, size: int) -> None:
        """NotOdfError where there are not as many."""
        self.left -= size
        if self.left < 0:
            raise NotOdfError("its values need too much memory: references lead to the same place many times")


def budget_of(data: bytes) -> Budget:
    """The bytes that the values of a buffer, and of the buffers in it, may take together."""
    return Budget(min(MOST_MEMORY, REPEATED * len(data)))


def decode_table(
    table: str, data: bytes, budget: Budget | None = None, only: Collection[str] | None = None
) -> dict[str, Any]:
    """The value of a table, or `only` some of its members; NotOdfError for bytes of something else."""
    reader = _Reader(data, budget or budget_of(data))
    try:
        return reader.table(table, reader.reference(0), 0, only)
    except (struct.error, UnicodeDecodeError):
        raise NotOdfError("the bytes break off, or a text is not UTF-8") from None


@dataclass(slots=True)
class _Reader:
    data: bytes
    budget: Budget

    def table(self, name: str, at: int, depth: int, only: Collection[str] | None = None) -> dict[str, Any]:
        """The fields that are there, and numbers with a default."""
        if depth > MAX_DEPTH:
            raise NotOdfError(f"tables are nested more than {MAX_DEPTH} deep")
        self.budget.take(_TABLE + _NUMBER * len(TABLES[name]))
        index = at - self.number("i", at)
        length = self.number("H", index)
        value: dict[str, Any] = {}
        slot = 0
        for field, kind in TABLES[name].items():
            slots = range(slot, slot + 1 + isinstance(kind, UnionField))
            if only is None or field in only:
                self.read(value, field, kind, [self.place(index, length, at, entry) for entry in slots], depth)
            slot = slots.stop
        return value

    def read(self, value: dict[str, Any], field: str, kind: Kind, places: list[int], depth: int) -> None:
        """One field; `places` are 0 where it is absent."""
        at = places[-1]
        if isinstance(kind, NumberField):
            if at or not kind.optional:
                value[field] = self.named(kind, self.number(kind.code, at) if at else 0)
        elif isinstance(kind, UnionField):
            number = self.number("B", places[0]) if places[0] else 0
            if bool(number) != bool(at) or number > len(kind.tables):
                raise NotOdfError(f"{field} is none of the kinds that ODF has")
            if number:
                table = kind.tables[number - 1]
                is_known = table in TABLES
                value[f"{field}_type"] = table
                value[field] = self.table(table, self.reference(at), depth + 1) if is_known else {}
        elif at:
            value[field] = self.referred(kind, at, depth)

    def referred(self, kind: Kind, at: int, depth: int) -> Any:  # noqa: ANN401 - the value of any kind
        """A value that is not a number."""
        match kind:
            case StructField(fields):
                self.budget.take(_TABLE + _NUMBER * len(fields))
                return {
                    name: self.number(code, at + place)
                    for (name, code), place in zip(fields.items(), kind.places[:-1], strict=True)
                }
            case TableField(table):
                return self.table(table, self.reference(at), depth + 1)
            case TablesField(table):
                start, count = self.vector(at, _ENTRY)
                return [self.table(table, self.reference(start + _OFFSET * entry), depth + 1) for entry in range(count)]
            case TextsField():
                start, count = self.vector(at, _ENTRY)
                return [self.text_at(start + _OFFSET * entry) for entry in range(count)]
            case TextField():
                return self.text_at(at)
            case _:
                assert isinstance(kind, BytesField)
                return self.bytes_at(at)

    def vector(self, at: int, width: int) -> tuple[int, int]:
        """The place of the first of several elements, and their number."""
        start = self.reference(at)
        count = self.number("I", start)
        self.budget.take(_TEXT + width * count)
        return start + _OFFSET, count

    def text_at(self, at: int) -> str:
        """The text that a reference leads to."""
        found = self.bytes_at(at)
        self.budget.take((1 if found.isascii() else _WIDEST) * len(found))
        return found.decode()

    def bytes_at(self, at: int) -> bytes:
        """The bytes that a reference leads to."""
        start, count = self.vector(at, 1)
        if start + count > len(self.data):
            raise NotOdfError("a value is longer than what is left of the bytes")
        return self.data[start : start + count]

    def reference(self, at: int) -> int:
        """The target of a reference: always further on."""
        return at + int(self.number("I", at))

    def place(self, index: int, length: int, at: int, slot: int) -> int:
        """The place of a field by the index of its table; 0 where it is absent."""
        entry = _SHORT * (2 + slot)
        offset = self.number("H", index + entry) if entry + _SHORT <= length else 0
        return at + int(offset) if offset else 0

    def number(self, code: str, at: int) -> Any:  # noqa: ANN401 - a number or a boolean
        """A number within the bytes."""
        if at < 0:
            raise NotOdfError("a reference leads to before the bytes")
        return struct.unpack_from(f"<{code}", self.data, at)[0]

    def named(self, kind: NumberField, number: int) -> Any:  # noqa: ANN401 - likewise
        """The name of a number of an enumeration; any other number as it is."""
        if not kind.names:
            return number
        if not 0 <= number < len(kind.names):
            raise NotOdfError(f"{number} is none of {', '.join(kind.names)}")
        return kind.names[number]


# ---- Writing: the same value has the same bytes ----


_FLAGS = {
    "?": number_types.BoolFlags,
    "h": number_types.Int16Flags,
    "H": number_types.Uint16Flags,
    "i": number_types.Int32Flags,
    "I": number_types.Uint32Flags,
    "q": number_types.Int64Flags,
    "Q": number_types.Uint64Flags,
}

_OFFSET_BYTES = 4
"""Bytes of a reference."""


def encode_table(table: str, value: Mapping[str, Any]) -> bytes:
    """A value of a table, as a buffer of its own."""
    builder = Builder(1024)
    builder.Finish(_table(builder, table, value))
    return bytes(builder.Output())


def _table(builder: Builder, table: str, value: Mapping[str, Any]) -> int:
    """Write a table after what it refers to, in the order of its fields."""
    fields = {name: kind for name, kind in TABLES[table].items() if value.get(name) is not None}
    referred = {name: _write_referred(builder, kind, name, value) for name, kind in fields.items()}
    builder.StartObject(sum(1 + isinstance(kind, UnionField) for kind in TABLES[table].values()))
    slot = 0
    for name, kind in TABLES[table].items():
        if name in fields:
            place = referred[name]
            match kind:
                case NumberField(code, names, optional):
                    index = names.index(value[name]) if names else value[name]
                    builder.PrependSlot(_FLAGS[code], slot, index, None if optional else 0)
                case StructField():
                    builder.PrependStructSlot(slot, _struct(builder, kind, value[name]), 0)
                case UnionField(tables):
                    builder.PrependUint8Slot(slot, tables.index(value[f"{name}_type"]) + 1, 0)
                    builder.PrependUOffsetTRelativeSlot(slot + 1, place, 0)
                case _:
                    builder.PrependUOffsetTRelativeSlot(slot, place, 0)
        slot += 1 + isinstance(kind, UnionField)
    return int(builder.EndObject())


def _write_referred(builder: Builder, kind: Kind, name: str, value: Mapping[str, Any]) -> int:
    """The place of a value that is not in the table itself; 0 for one that is."""
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
            return _vector(builder, [_table(builder, table, entry) for entry in found])
        case _:
            return 0


def _text(builder: Builder, found: str | list[str]) -> int:
    if isinstance(found, str):
        return int(builder.CreateString(found))
    return _vector(builder, [_text(builder, entry) for entry in found])


def _vector(builder: Builder, places: list[int]) -> int:
    """References to what is written already."""
    builder.StartVector(_OFFSET_BYTES, len(places), _OFFSET_BYTES)
    for place in reversed(places):
        builder.PrependUOffsetTRelative(place)
    return int(builder.EndVector())


def _struct(builder: Builder, kind: StructField, value: Mapping[str, int]) -> int:
    """Written from its end."""
    *places, end = kind.places
    builder.Prep(kind.widest, end)
    for (name, code), place in zip(reversed(tuple(kind.fields.items())), reversed(places), strict=True):
        builder.Pad(end - place - calcsize(code))
        builder.Place(value[name], _FLAGS[code])
        end = place
    return int(builder.Offset())
