"""The bytes of a block of an ODF dataset, for `lakegate.contracts.odf.metadata`: the same block always has the same bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakegate.contracts.odf.flat_writing import encoded
from lakegate.contracts.odf.metadata import KIND, VERSIONS, AddData, OtherEvent, Seed, SetAttachments, SetDataSchema
from lakegate.contracts.odf.multibase import decoded

if TYPE_CHECKING:
    from lakegate.contracts.odf.metadata import DataSlice, MetadataBlock


def block_bytes(block: MetadataBlock) -> bytes:
    """A block in its envelope; of the events those that Lakegate has something to say with."""
    kind, event = _event(block)
    content = encoded(
        "MetadataBlock",
        {
            "system_time": block.system_time._asdict(),
            "prev_block_hash": None if block.previous is None else decoded(block.previous),
            "sequence_number": block.sequence,
            "event_type": kind,
            "event": event,
        },
    )
    return encoded("Manifest", {"kind": KIND, "version": VERSIONS[-1], "content": content})


def _event(block: MetadataBlock) -> tuple[str, dict[str, Any]]:
    match block.event:
        case Seed(found):
            return "Seed", {"dataset_id": found.data, "dataset_kind": "Root"}
        case SetDataSchema(fields):
            return "SetDataSchema", {"schema": {"fields": list(fields)}}
        case SetAttachments(items):
            embedded = [{"path": path, "content": content} for path, content in items]
            return "SetAttachments", {"attachments_type": "AttachmentsEmbedded", "attachments": {"items": embedded}}
        case OtherEvent(name, value):
            return name, dict(value)
        case event:
            assert isinstance(event, AddData)
            return "AddData", {
                "prev_offset": event.prev_offset,
                "new_data": None if event.data is None else _slice(event.data),
                "new_watermark": None if event.watermark is None else event.watermark._asdict(),
            }


def _slice(found: DataSlice) -> dict[str, Any]:
    return {
        "logical_hash": decoded(found.logical),
        "physical_hash": decoded(found.physical),
        "offset_interval": {"start": found.start, "end": found.end},
        "size": found.size,
    }
