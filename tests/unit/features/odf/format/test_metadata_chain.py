from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.base.errors import InputError
from lakegate.features.odf.format.metadata_chain import (
    AddData,
    ChainState,
    DataSlice,
    Event,
    MetadataBlock,
    Moment,
    OtherEvent,
    Seed,
    SetAttachments,
    SetDataSchema,
    block_bytes,
    block_hash,
    block_in,
    follow,
    link_in,
    moment_of,
)
from lakegate.features.odf.format.multihash import HashCode, multihash
from lakegate.features.odf.format.odf_flatbuffers import EVENTS as EVENTS_OF_ODF
from lakegate.features.odf.format.odf_flatbuffers import encode_table
from lakegate.features.odf.format.odf_names import is_point, point_of
from tests.fakes.signing import MemoryKey
from tests.unit.features.odf.format.blocks import NOON, SLICE, block, blocks, envelope, field, sha3

ID = point_of(b"a dataset")
TIME = Moment(2026, 325, 3600, 5000)
LOGICAL = [multihash(HashCode.ARROW0_SHA3_256, bytes([each]) * 32) for each in range(4)]
PHYSICAL = [multihash(HashCode.SHA3_256, bytes([each]) * 32) for each in range(4)]
COLUMNS = (field("offset", "UInt64"), field("id", "Int64"))


def data(start: int, end: int) -> DataSlice:
    return DataSlice(LOGICAL[0], PHYSICAL[0], start, end, 100)


EVENTS: list[Event] = [
    Seed(ID),
    SetDataSchema(COLUMNS),
    SetAttachments((("a/b", "text"), ("c", ""))),
    AddData(None, data(0, 4), TIME),
    AddData(4, data(5, 5), TIME),
    AddData(5, None, Moment(2026, 326, 0, 0)),
]
INFO = OtherEvent("SetInfo", {"description": "a text", "keywords": ["a", ""]})


def chain(*events: Event) -> list[tuple[str, MetadataBlock]]:
    """Events in blocks that name one another."""
    made: list[tuple[str, MetadataBlock]] = []
    for number, event in enumerate(events):
        found = MetadataBlock(TIME, made[-1][0] if made else None, number, event)
        made.append((block_hash(block_bytes(found)), found))
    return made


def state_after(blocks: list[tuple[str, MetadataBlock]]) -> ChainState:
    state: ChainState | None = None
    for name, each in blocks:
        state = follow(state, name, each)
    assert state is not None
    return state


@pytest.mark.parametrize("event", [*EVENTS, INFO], ids=lambda event: type(event).__name__)
def test_a_block_is_read_as_it_was_written(event: Event) -> None:
    """All that a block says is in its bytes, which are the same each time."""
    written = MetadataBlock(TIME, PHYSICAL[1], 7, event)
    body = block_bytes(written)

    assert block_in(body) == written
    assert link_in(body) == (PHYSICAL[1], 7)
    assert block_bytes(written) == body


@given(st.datetimes(min_value=datetime(1, 1, 1), max_value=datetime(9999, 12, 31), timezones=st.just(UTC)))  # noqa: DTZ001
def test_a_time_is_read_as_it_was_written(time: datetime) -> None:
    """Every time of Python has the numbers of the schema, and back."""
    assert moment_of(time).time == time


@pytest.mark.parametrize(
    "moment",
    [
        Moment(0, 1, 0, 0),
        Moment(10_000, 1, 0, 0),
        Moment(2026, 0, 0, 0),
        Moment(2026, 366, 0, 0),
        Moment(2026, 1, 86_400, 0),
    ],
)
def test_a_time_that_is_none_is_refused(moment: Moment) -> None:
    """A year, a day or a second that does not exist is no time."""
    with pytest.raises(InputError, match="a time is none"):
        moment.time  # noqa: B018 - it raises


def without(value: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: each for name, each in value.items() if name not in names}


SEED = block("Seed", {"dataset_id": ID.data, "dataset_kind": "Root"})
REFUSED: list[tuple[bytes, str]] = [
    (encode_table("Manifest", {"kind": 1, "version": 3, "content": b""}), "no block"),
    (encode_table("Manifest", {"kind": 0x400000, "version": 1, "content": b""}), "no block"),
    (encode_table("Manifest", {"kind": 0x400000, "version": 3}), "content is missing"),
    (envelope(without(SEED, "system_time")), "system_time is missing"),
    (envelope(without(SEED, "event_type", "event")), "event_type is missing"),
    (envelope({**SEED, "prev_block_hash": b"\x16\x20short"}), "multihash"),
    (
        envelope({**SEED, "prev_block_hash": SLICE["logical_hash"][:0] + b"\x96\x80\xc0\x01\x20" + bytes(32)}),
        "another function",
    ),
    (envelope(block("Seed", {"dataset_id": ID.data, "dataset_kind": "Derivative"})), "only root datasets"),
    (envelope(block("Seed", {"dataset_id": b"\0" * 34})), "public key of Ed25519"),
    (envelope(block("Seed", {})), "dataset_id is missing"),
    (envelope(block("SetDataSchema", {"raw_arrow_schema": b"a"})), "older form"),
    (envelope(block("SetAttachments", {})), "attachments is missing"),
    (envelope(block("SetVocab", {"event_time_column": "at"})), "other names"),
    (envelope(block("AddData", {"prev_checkpoint": sha3(b"a")})), "checkpoints"),
    (envelope(block("AddData", {"new_checkpoint": {"physical_hash": sha3(b"a")}})), "checkpoints"),
    (envelope(block("AddData", {"new_data": without(SLICE, "offset_interval")})), "offset_interval is missing"),
    (envelope(block("AddData", {"new_data": without(SLICE, "logical_hash")})), "logical_hash is missing"),
    (envelope(block("AddData", {"new_data": SLICE})), "another function than ARROW0_SHA3_256"),
]


@pytest.mark.parametrize(("body", "reason"), REFUSED)
def test_a_block_that_cannot_be_followed_is_refused(body: bytes, reason: str) -> None:
    """Each is refused for what it has, or has not."""
    with pytest.raises(InputError, match=reason):
        block_in(body)


@pytest.mark.parametrize(
    ("kind", "event", "expected"),
    [
        (
            "SetVocab",
            {"offset_column": "offset", "event_time_column": "event_time"},
            OtherEvent("SetVocab", {"offset_column": "offset", "event_time_column": "event_time"}),
        ),
        ("AddData", {"new_watermark": NOON}, AddData(None, None, Moment(2020, 1, 43200, 0))),
        ("SetDataSchema", {"schema": {}}, SetDataSchema(())),
    ],
)
def test_blocks_of_other_tools_are_read(kind: str, event: dict[str, Any], expected: Event) -> None:
    """Events that change nothing that is read pass."""
    assert block_in(envelope(block(kind, event))).event == expected


@given(
    st.sampled_from([envelope(each) for each in blocks().values()]),
    st.lists(st.tuples(st.integers(0, 2**16), st.sampled_from([0, 1, 2, 4, 127, 255])), min_size=1, max_size=5),
)
def test_any_block_from_elsewhere_is_read_or_refused(body: bytes, changes: list[tuple[int, int]]) -> None:
    """Whatever its bytes are, a block is one, or is refused; a chain then is followed, or refused."""
    changed = bytearray(body)
    for place, byte in changes:
        changed[place % len(body)] = byte
    with suppress(InputError):
        found = block_in(bytes(changed))
        follow(None, "f1620", found)


def block_of(kind: str) -> bytes:
    """A block with an event that has no table here: its number is the one byte by which two empty events differ."""
    one, other = (envelope(block(each, {})) for each in ("SetVocab", "SetDataSchema"))
    (at,) = [at for at, (left, right) in enumerate(zip(one, other, strict=True)) if left != right]
    return one[:at] + bytes([EVENTS_OF_ODF.index(kind) + 1]) + one[at + 1 :]


@pytest.mark.parametrize("kind", ["ExecuteTransform", "SetTransform"])
def test_derived_datasets_are_refused(kind: str) -> None:
    """What was computed from other datasets cannot be verified without them."""
    with pytest.raises(InputError, match="only root datasets"):
        block_in(block_of(kind))


@pytest.mark.parametrize("kind", ["SetInfo", "SetLicense", "SetPollingSource", "AddPushSource", "DisablePushSource"])
def test_events_that_only_describe_a_source_are_passed_over(kind: str) -> None:
    """Their values are not read."""
    assert block_in(block_of(kind)).event == OtherEvent(kind)


def test_the_state_after_a_chain() -> None:
    """A chain ends with the columns, the last offset and the watermark of its blocks."""
    blocks = chain(*EVENTS)

    assert state_after(blocks) == ChainState(ID, blocks[-1][0], 5, TIME, COLUMNS, 5, Moment(2026, 326, 0, 0))


def test_the_last_licence_holds() -> None:
    """Whatever a dataset stated before, and whatever follows."""
    first, last = ({"short_name": name, "name": name, "website_url": ""} for name in ("one", "other"))
    blocks = chain(Seed(ID), OtherEvent("SetLicense", first), OtherEvent("SetLicense", last), INFO)

    assert state_after(blocks[:1]).license is None
    assert state_after(blocks).license == last


LATER = Moment(2026, 327, 0, 0)
BEFORE = Moment(2026, 324, 0, 0)
BROKEN: list[tuple[str, int, dict[str, Any], str]] = [
    ("no seed", 0, {"event": SetAttachments(())}, "the first block of a dataset is its seed"),
    ("seed with a number", 0, {"sequence": 1}, "the first block of a dataset is its seed"),
    ("seed after a block", 0, {"previous": PHYSICAL[0]}, "the first block of a dataset is its seed"),
    ("two seeds", 1, {"event": Seed(ID)}, "one seed"),
    ("link", 2, {"previous": PHYSICAL[0]}, "does not name the block before it"),
    ("number", 2, {"sequence": 3}, "the number 3, not 2"),
    ("time", 2, {"system_time": BEFORE}, "older than the block before it"),
    ("time of the seed", 0, {"system_time": Moment(2026, 0, 0, 0)}, "a time is none"),
    ("offset before the first", 3, {"event": AddData(0, data(0, 4), TIME)}, "follows the offset 0"),
    ("no offset before", 4, {"event": AddData(None, data(5, 5), TIME)}, "follows the offset None"),
    ("gap", 4, {"event": AddData(4, data(6, 6), TIME)}, "the offsets 6 to 6 do not begin at 5"),
    ("backwards", 4, {"event": AddData(4, data(5, 4), TIME)}, "the offsets 5 to 4 do not begin at 5"),
    ("watermark", 4, {"event": AddData(4, data(5, 5), BEFORE)}, "the watermark moves back"),
    ("no watermark", 4, {"event": AddData(4, data(5, 5), None)}, "the watermark moves back"),
    ("watermark that is none", 4, {"event": AddData(4, data(5, 5), Moment(2027, 400, 0, 0))}, "a time is none"),
    ("no schema", 1, {"event": AddData(None, data(0, 4), TIME)}, "data before the schema"),
]


@pytest.mark.parametrize(("at", "change", "reason"), [each[1:] for each in BROKEN], ids=[each[0] for each in BROKEN])
def test_a_block_that_does_not_follow_is_refused(at: int, change: dict[str, Any], reason: str) -> None:
    """Each rule of a chain refuses the block that breaks it."""
    blocks = chain(*EVENTS)
    state = state_after(blocks[:at]) if at else None
    with pytest.raises(InputError, match=reason):
        follow(state, "f1620", replace(blocks[at][1], **change))


def test_a_slice_has_as_many_rows_as_offsets() -> None:
    """The interval contains its end."""
    assert (data(5, 5).rows, data(5, 9).rows) == (1, 5)


def test_a_dataset_without_watermarks_is_followed() -> None:
    """Other tools may write data without one."""
    assert state_after(chain(Seed(ID), SetDataSchema(COLUMNS), AddData(None, data(0, 0), None))).watermark is None


def test_identities_are_public_keys() -> None:
    """An identity by a hash is a point of the curve, as the keys of people are, and others for other texts."""
    assert all(is_point(MemoryKey(number).public_key()[-32:]) for number in range(1, 20))
    found = {point_of(str(number).encode()) for number in range(20)}
    assert len(found) == 20
    assert all(is_point(each.public_key) for each in found)
    assert not is_point((2).to_bytes(32, "little"))
    assert not is_point((2**255 - 19).to_bytes(32, "little"))


def test_an_identity_stays_what_it_is() -> None:
    """Another release finds the same identity."""
    assert str(point_of(b"lakegate")) == "did:odf:fed01ccb2aa98389f758bcc1deade37a473d397bad78b8cfa0028a296f404526be63d"
