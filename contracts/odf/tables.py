"""The tables of ODF's published FlatBuffers schema (`opendatafabric.fbs`) that a chain of blocks consists of.

Names, order and defaults are those of the schema: the place of a field in its table is its place in the file. Values are as
`flatc --json` has them: a member for each field that is there, a union as its type's name and its value; bytes as `bytes`.

Steps and events that Lakegate does not write have no table here: their values are not read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from struct import calcsize
from typing import Final, TypeAlias

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
        """Where each number begins, and where all of them end."""
        found, end = [], 0
        for width in (*map(calcsize, self.fields.values()), self.widest):
            found.append(end + -end % width)
            end = found[-1] + width
        return tuple(found)

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
        "preprocess": UnionField(("TransformSql",)),
        "merge": _MERGE,
    },
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
    "SetDataSchema": {"raw_arrow_schema": BYTES, "schema": TableField("DataSchema")},
    "DataSchema": {"fields": TablesField("DataField"), "extra": _EXTRA},
    "DataField": {"name": TEXT, "type": _TYPES, "extra": _EXTRA},
    **{f"DataType{each}": {} for each in _PLAIN},
    **{each: {} for each in _WHOLE},
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
