"""Values of blocks whose bytes other programs know.

`python -m tests.unit.features.odf.format.blocks SCHEMA` asks `flatc` for them.
SCHEMA is ODF's published schema, `schemas-generated/flatbuffers/opendatafabric.fbs` of its specification; `flatc` is in Debian's
package flatbuffers-compiler. `reference` in `blocks.json` are the hashes that the tests of the reference implementation
(kamu-cli, `test_serde_flatbuffers.rs`) state of the same events.
"""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from lakegate.features.odf.format.odf_flatbuffers import decode_table, encode_table

VECTORS = Path(__file__).parent / "blocks.json"
NOON = {"year": 2020, "ordinal": 1, "seconds_from_midnight": 43200, "nanoseconds": 0}


def sha3(text: bytes) -> bytes:
    return b"\x16\x20" + hashlib.sha3_256(text).digest()


def field(name: str, kind: str, value: dict[str, Any] | None = None, extra: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {"name": name, "type_type": f"DataType{kind}", "type": value or {}}
    return found | ({"extra": {"entries": extra}} if extra else {})


def inner(name: str, kind: str, value: dict[str, Any] | None = None) -> dict[str, Any]:
    return {f"{name}_type": f"DataType{kind}", name: value or {}}


SLICE = {
    "logical_hash": sha3(b"logical"),
    "physical_hash": sha3(b"physical"),
    "offset_interval": {"start": 10, "end": 99},
    "size": 100,
}
STATE = {"source_name": "push-source-1", "kind": "kamu/kafka-offset", "value": "SOME_OFFSET"}
LINKED = '{"opendatafabric.org/linkedObjects":{"numObjectsNaive":10,"sizeNaive":100}}'
VIEW = '{"arrow.apache.org/bufferEncoding":{"kind":"View","offsetBitWidth":32}}'
LINK = '{"opendatafabric.org/type":{"kind":"ObjectLink","linkType":{"kind":"Multihash"}}}'
PREVIOUS = {"prev_checkpoint": sha3(b"prev"), "prev_offset": 9}
CHECKPOINT = {"prev_checkpoint": sha3(b"checkpoint"), "prev_offset": 9, "new_data": SLICE, "new_source_state": STATE}
REFERENCE: dict[str, tuple[str, dict[str, Any]]] = {
    "nothing": ("AddData", {}),
    "offset": ("AddData", PREVIOUS),
    "watermark": ("AddData", {**PREVIOUS, "new_watermark": NOON}),
    "data": ("AddData", {**PREVIOUS, "new_data": SLICE, "new_watermark": NOON}),
    "state": ("AddData", CHECKPOINT),
    "extra": ("AddData", {**CHECKPOINT, "extra": {"entries": LINKED}}),
    "schema": (
        "SetDataSchema",
        {
            "schema": {
                "fields": [
                    field("city", "String", extra=VIEW),
                    field("population", "UInt64"),
                    field("census", "Option", inner("inner", "String"), LINK),
                    field("links", "List", inner("item_type", "String")),
                ],
                "extra": {"entries": '{"kamu.dev/archetype":"Collection"}'},
            }
        },
    ),
}
"""Events that the reference implementation wrote, too."""
MICROS = {"unit": "Microsecond", "timezone": "UTC"}
WHOLE = (f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64))
TYPES = [field("every", kind) for kind in ("Bool", "Date", "Float16", "Float32", "Float64", "Null", "String", *WHOLE)]
MORE: dict[str, tuple[str, dict[str, Any]]] = {
    "seed": ("Seed", {"dataset_id": b"\xed\x01" + bytes(range(32)), "dataset_kind": "Root"}),
    "derived": ("Seed", {"dataset_id": b"\xed\x01" + bytes(range(32)), "dataset_kind": "Derivative"}),
    "types": (
        "SetDataSchema",
        {
            "schema": {
                "fields": [
                    *TYPES,
                    field("żółć", "Binary", {"fixed_length": 16}),
                    field("bytes", "Binary"),
                    field("amount", "Decimal", {"precision": 38, "scale": -2}),
                    field("long", "Duration", {"unit": "Nanosecond"}),
                    field("clock", "Time", {"unit": "Second"}),
                    field("when", "Timestamp", MICROS),
                    field("default", "Timestamp"),
                    field("nested", "Struct", {"fields": [field("a", "Option", inner("inner", "Timestamp", MICROS))]}),
                    field("three", "List", {**inner("item_type", "Int8"), "fixed_length": 3}),
                    field(
                        "pairs",
                        "Map",
                        {**inner("key_type", "String"), **inner("value_type", "Int64"), "keys_sorted": False},
                    ),
                ]
            }
        },
    ),
    "vocabulary": ("SetVocab", {"offset_column": "offset", "event_time_column": "at"}),
    "attachments": (
        "SetAttachments",
        {
            "attachments_type": "AttachmentsEmbedded",
            "attachments": {"items": [{"path": "README.md", "content": 'a "text"\n'}, {"path": "b", "content": ""}]},
        },
    ),
    "checkpoint": ("AddData", {"prev_offset": 0, "new_checkpoint": {"physical_hash": sha3(b"c"), "size": 2**63}}),
    "info": ("SetInfo", {"description": "żółć", "keywords": ["one", "", "two words"]}),
    "no info": ("SetInfo", {"keywords": []}),
    "license": (
        "SetLicense",
        {
            "short_name": "CC-BY-4.0",
            "name": "Attribution",
            "spdx_id": "CC-BY-4.0",
            "website_url": "https://example.com",
        },
    ),
    "csv source": (
        "AddPushSource",
        {
            "source_name": "default",
            "read_type": "ReadStepCsv",
            "read": {
                "separator": ";",
                "encoding": "utf8",
                "quote": "'",
                "escape": "'",
                "header": False,
                "null_value": "-",
                "schema": {"fields": [field("id", "Option", inner("inner", "Int64"))]},
            },
            "merge_type": "MergeStrategyLedger",
            "merge": {"primary_key": ["id", "at"]},
        },
    ),
    **{
        f"{step} source": (
            "AddPushSource",
            {
                "read_type": f"ReadStep{step}",
                "read": {"schema": {"fields": [field("id", "String")]}},
                "merge_type": "MergeStrategyAppend",
                "merge": {},
            },
        )
        for step in ("Parquet", "Json", "NdJson")
    },
    "snapshots": (
        "AddPushSource",
        {
            "read_type": "ReadStepParquet",
            "read": {},
            "merge_type": "MergeStrategySnapshot",
            "merge": {"primary_key": ["id"], "compare_columns": ["a", "b"]},
        },
    ),
    "upserts": (
        "AddPushSource",
        {
            "read_type": "ReadStepParquet",
            "read": {},
            "merge_type": "MergeStrategyUpsertStream",
            "merge": {"primary_key": ["id", "at"]},
        },
    ),
    "legacy": ("SetDataSchema", {"raw_arrow_schema": b"\0\xff"}),
}


def block(kind: str, event: dict[str, Any]) -> dict[str, Any]:
    """As the tests of the reference implementation have it."""
    return {
        "system_time": NOON,
        "prev_block_hash": sha3(b"prev"),
        "sequence_number": 117,
        "event_type": kind,
        "event": event,
    }


def blocks() -> dict[str, dict[str, Any]]:
    """All of them, by name."""
    return {name: block(*event) for name, event in {**REFERENCE, **MORE}.items()}


def envelope(value: dict[str, Any]) -> bytes:
    return encode_table("Manifest", {"kind": 0x400000, "version": 3, "content": encode_table("MetadataBlock", value)})


def plain(value: Any) -> Any:
    """As JSON has it: bytes are lists of numbers."""
    match value:
        case dict():
            return {name: plain(each) for name, each in value.items()}
        case list():
            return [plain(each) for each in value]
        case bytes():
            return list(value)
        case _:
            return value


def by_flatc(schema: Path) -> dict[str, str]:
    """The bytes that `flatc` makes of each block; an error where it reads ours otherwise than we meant them."""
    found = {}
    command = ["flatc", "--root-type", "MetadataBlock", "--raw-binary", "--strict-json"]
    for name, value in blocks().items():
        with tempfile.TemporaryDirectory() as folder:
            written, text = Path(folder, "ours.bin"), Path(folder, "value.json")
            written.write_bytes(encode_table("MetadataBlock", value))
            text.write_text(json.dumps(plain(value)))
            subprocess.run([*command, "--json", "-o", folder, str(schema), "--", str(written)], check=True)  # noqa: S603
            subprocess.run([*command, "--binary", "-o", folder, str(schema), str(text)], check=True)  # noqa: S603
            theirs = Path(folder, "value.bin").read_bytes()
            read = json.loads(Path(folder, "ours.json").read_text())
        assert decode_table("MetadataBlock", theirs) == decode_table(
            "MetadataBlock", encode_table("MetadataBlock", value)
        ), name
        assert filled(read) == filled(plain(value)), name
        found[name] = base64.b64encode(theirs).decode()
    return found


def filled(value: Any) -> Any:
    """Without numbers that are the default, which `flatc` leaves out."""
    match value:
        case dict():
            return {name: filled(each) for name, each in value.items() if each not in (0, "Root") or each is False}
        case list():
            return [filled(each) for each in value]
        case _:
            return value


if __name__ == "__main__":
    reference = json.loads(VECTORS.read_text())["reference"] if VECTORS.exists() else {}
    document = {"reference": reference, "flatc": by_flatc(Path(sys.argv[1]))}
    VECTORS.write_text(json.dumps(document, indent=1) + "\n")
