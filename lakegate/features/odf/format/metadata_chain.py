"""Metadata blocks, and the rules of their chain."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple, TypeAlias

from lakegate.base.errors import InputError
from lakegate.features.odf.format import odf_flatbuffers
from lakegate.features.odf.format.multihash import HashCode, base16, decode_text, hash_in, multihash
from lakegate.features.odf.format.odf_flatbuffers import NotOdfError, budget_of, encode_table
from lakegate.features.odf.format.odf_names import DatasetId, dataset_id_of

# ---- Blocks and their names ----
# A block is a buffer in an envelope that names its kind and version. Times are numbers, as in the schema: they may be finer
# than any of Python's, and compare as tuples.


KIND: Final = 0x400000
"""The multicodec of a block."""
VERSIONS: Final = (2, 3)
"""Of blocks that are read; the last one is written."""
DAY: Final = 86_400


class Moment(NamedTuple):
    """A time in UTC."""

    year: int
    ordinal: int
    """Day of the year, from 1."""
    seconds_from_midnight: int
    nanoseconds: int

    @property
    def time(self) -> datetime:
        """In whole microseconds, rounded down; InputError for a time that Python does not have."""
        try:
            day = datetime(self.year, 1, 1, tzinfo=UTC) + timedelta(self.ordinal - 1)
            time = day + timedelta(seconds=self.seconds_from_midnight, microseconds=self.nanoseconds // 1000)
        except (ValueError, OverflowError):
            time = None
        if time is None or time.year != self.year or self.seconds_from_midnight >= DAY:
            raise InputError("a time is none: its year, day or second does not exist")
        return time


def moment_of(time: datetime) -> Moment:
    """A time as ODF writes it."""
    found = time.astimezone(UTC)
    seconds = found.hour * 3600 + found.minute * 60 + found.second
    return Moment(found.year, found.timetuple().tm_yday, seconds, found.microsecond * 1000)


@dataclass(frozen=True, slots=True)
class Seed:
    """The first event: whose blocks these are. Only datasets that get their data from outside (root) are known."""

    id: DatasetId


@dataclass(frozen=True, slots=True)
class SetDataSchema:
    """The columns of all data from here on, as `DataField` of `lakegate.features.odf.format.odf_flatbuffers`."""

    fields: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class SetAttachments:
    """Texts beside the data, by their paths."""

    items: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class DataSlice:
    """One file of data; hashes as texts, in base16."""

    logical: str
    physical: str
    start: int
    """The offset of its first row, and below that of its last."""
    end: int
    size: int

    @property
    def rows(self) -> int:
        """The number of its rows."""
        return self.end - self.start + 1


@dataclass(frozen=True, slots=True)
class AddData:
    """New data, or a later watermark, or both."""

    prev_offset: int | None
    """The offset of the last row before."""
    data: DataSlice | None
    watermark: Moment | None


@dataclass(frozen=True, slots=True)
class OtherEvent:
    """An event that changes neither data nor how a slice is read: what it describes, as `odf_flatbuffers`."""

    kind: str
    value: Mapping[str, Any] = field(default_factory=dict)


Event: TypeAlias = Seed | SetDataSchema | SetAttachments | AddData | OtherEvent


@dataclass(frozen=True, slots=True)
class MetadataBlock:
    """One event in the chain of a dataset."""

    system_time: Moment
    previous: str | None
    """The hash of the block before; None of the first."""
    sequence: int
    """From 0, without gaps."""
    event: Event


def block_hash(body: bytes) -> str:
    """The name of a block."""
    return multihash(HashCode.SHA3_256, hashlib.sha3_256(body).digest())


def block_in(body: bytes) -> MetadataBlock:
    """The block of an envelope. InputError where it is none, or has an event that Lakegate cannot follow."""
    content = _content(body)
    time, event = Moment(**_there(content, "system_time")), _event(_there(content, "event_type"), content["event"])
    return MetadataBlock(time, _previous(content), content["sequence_number"], event)


def link_in(body: bytes) -> tuple[str | None, int]:
    """The hash of the block before, and the number of the block: to walk a chain, its events need not be read."""
    content = _content(body, ("prev_block_hash", "sequence_number"))
    return _previous(content), content["sequence_number"]


def _content(body: bytes, only: Collection[str] | None = None) -> dict[str, Any]:
    budget = budget_of(body)
    manifest = odf_flatbuffers.decode_table("Manifest", body, budget)
    if manifest["kind"] != KIND or manifest["version"] not in VERSIONS:
        raise NotOdfError("it is no block, or one of a version that this release does not know")
    return odf_flatbuffers.decode_table("MetadataBlock", _there(manifest, "content"), budget, only)


def _previous(found: Mapping[str, Any]) -> str | None:
    previous = found.get("prev_block_hash")
    return None if previous is None else _hash(previous, HashCode.SHA3_256)


def _event(kind: str, value: Mapping[str, Any]) -> Event:
    match kind:
        case "Seed":
            if value["dataset_kind"] != "Root":
                raise InputError("the dataset is derived from others: only root datasets are read")
            return Seed(dataset_id_of(_there(value, "dataset_id")))
        case "AddData":
            return _data(value)
        case "SetDataSchema":
            if "schema" not in value:
                raise InputError("the schema has an older form (Arrow): write the dataset's schema again in ODF's form")
            return SetDataSchema(tuple(value["schema"].get("fields", ())))
        case "SetAttachments":
            items = _there(value, "attachments").get("items", ())
            return SetAttachments(tuple((item.get("path", ""), item.get("content", "")) for item in items))
        case "SetVocab":
            if any(value.get(key, name) != name for key, name in VOCABULARY.items()):
                raise InputError(f"the common columns have other names than {', '.join(VOCABULARY.values())}")
        case "ExecuteTransform" | "SetTransform":
            raise InputError("the dataset is derived from others: only root datasets are read")
    return OtherEvent(kind, value)


def _data(value: Mapping[str, Any]) -> AddData:
    if "prev_checkpoint" in value or "new_checkpoint" in value:
        raise InputError("the dataset has checkpoints: only data is read")
    watermark, data = value.get("new_watermark"), value.get("new_data")
    found = None
    if data is not None:
        interval = _there(data, "offset_interval")
        logical = _hash(_there(data, "logical_hash"), HashCode.ARROW0_SHA3_256)
        physical = _hash(_there(data, "physical_hash"), HashCode.SHA3_256)
        found = DataSlice(logical, physical, interval["start"], interval["end"], data["size"])
    return AddData(value.get("prev_offset"), found, None if watermark is None else Moment(**watermark))


VOCABULARY: Final = {
    "offset_column": "offset",
    "operation_type_column": "op",
    "system_time_column": "system_time",
    "event_time_column": "event_time",
}
"""The default names of ODF, which are those of Lakegate."""


def _there(value: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401 - the value of any field
    if name not in value:
        raise NotOdfError(f"{name} is missing")
    return value[name]


def _hash(data: bytes, code: HashCode) -> str:
    found, digest = hash_in(base16(data))
    if found is not code:
        raise NotOdfError(f"a hash has another function than {code.name}")
    return multihash(found, digest)


# ---- Bytes of a block ----


def block_bytes(block: MetadataBlock) -> bytes:
    """A block in its envelope; of the events those that Lakegate has something to say with."""
    kind, event = _written_event(block)
    content = encode_table(
        "MetadataBlock",
        {
            "system_time": block.system_time._asdict(),
            "prev_block_hash": None if block.previous is None else decode_text(block.previous),
            "sequence_number": block.sequence,
            "event_type": kind,
            "event": event,
        },
    )
    return encode_table("Manifest", {"kind": KIND, "version": VERSIONS[-1], "content": content})


def _written_event(block: MetadataBlock) -> tuple[str, dict[str, Any]]:
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
        "logical_hash": decode_text(found.logical),
        "physical_hash": decode_text(found.physical),
        "offset_interval": {"start": found.start, "end": found.end},
        "size": found.size,
    }


# ---- Order of blocks ----
# The rules are those of the specification and of the reference implementation's validators.


@dataclass(frozen=True, slots=True)
class ChainState:
    """The state of a dataset after a block."""

    id: DatasetId
    head: str
    """The hash of the block."""
    sequence: int
    system_time: Moment
    schema: tuple[Mapping[str, Any], ...] = ()
    last_offset: int | None = None
    watermark: Moment | None = None
    license: Mapping[str, str] | None = None
    """As the last `SetLicense` states it."""


def follow(state: ChainState | None, name: str, block: MetadataBlock) -> ChainState:
    """The state after a block whose hash is `name`. InputError where it does not follow from the state before."""
    block.system_time.time  # noqa: B018 - refuses a time that is none
    if state is None:
        if not isinstance(block.event, Seed) or block.sequence or block.previous is not None:
            raise InputError("the first block of a dataset is its seed, with the number 0")
        return ChainState(block.event.id, name, 0, block.system_time)
    if isinstance(block.event, Seed):
        raise InputError("a dataset has one seed, its first block")
    if block.previous != state.head:
        raise InputError("the block does not name the block before it")
    if block.sequence != state.sequence + 1:
        raise InputError(f"the block has the number {block.sequence}, not {state.sequence + 1}")
    if block.system_time < state.system_time:
        raise InputError("the block is older than the block before it")
    state = replace(state, head=name, sequence=block.sequence, system_time=block.system_time)
    match block.event:
        case SetDataSchema(fields):
            return replace(state, schema=fields)
        case AddData():
            return _add_data(state, block.event)
        case OtherEvent("SetLicense", value):
            return replace(state, license=value)
        case _:
            return state


def _add_data(state: ChainState, event: AddData) -> ChainState:
    if event.prev_offset != state.last_offset:
        raise InputError(
            f"the data follows the offset {event.prev_offset}, the data before it ends at {state.last_offset}"
        )
    if state.watermark is not None and (event.watermark is None or event.watermark < state.watermark):
        raise InputError("the watermark moves back")
    if event.watermark is not None:
        event.watermark.time  # noqa: B018 - likewise
        state = replace(state, watermark=event.watermark)
    if event.data is None:
        return state
    data = event.data
    first = 0 if state.last_offset is None else state.last_offset + 1
    if data.start != first or data.end < first:
        raise InputError(f"the offsets {data.start} to {data.end} do not begin at {first}")
    if not state.schema:
        raise InputError("there is data before the schema")
    return replace(state, last_offset=event.data.end)
