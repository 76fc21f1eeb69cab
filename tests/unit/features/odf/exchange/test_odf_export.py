from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import pytest

from lakegate.base.errors import InputError
from lakegate.features.odf.exchange.odf_export import OdfBlock, dataset_of, ledger_in, odf_blocks
from lakegate.features.odf.format.metadata_chain import (
    VOCABULARY,
    AddData,
    DataSlice,
    Moment,
    OtherEvent,
    Seed,
    SetAttachments,
    SetDataSchema,
    block_hash,
    block_in,
)
from lakegate.gate.ledger.blocks import GENESIS, AnyBlock, Block, BlockKind, LedgerObject, LedgerSlice, canonical
from lakegate.gate.ledger.signatures import SignedText, signature_document
from lakegate.plan.dataset_about import DatasetAbout, License
from lakegate.plan.plan import Plan
from tests.deliveries.delivery import plan_of
from tests.unit.features.odf.format.blocks import field
from tests.unit.features.odf.format.test_metadata_chain import LOGICAL, PHYSICAL
from tests.unit.gate.ledger.ledger_chain import a_block
from tests.unit.gate.ledger.signing import ONE, key_record, signature_by

NARROW_PLAN = replace(plan_of({"id": "integer"}), about=DatasetAbout("Visits", ("shop",), License("MIT")))
WIDE_PLAN = replace(plan_of({"id": "integer", "note": "string"}), about=DatasetAbout("Visits", ("shop",)))
NARROW, WIDE = ((field("id", "Int64"),), (field("id", "Int64"), field("note", "String")))


def stored(*blocks: AnyBlock) -> list[SignedText]:
    """Linked and signed."""
    made: list[SignedText] = []
    for height, each in enumerate(blocks):
        previous = hashlib.sha3_256(made[-1].text).hexdigest() if made else GENESIS
        block = replace(each, height=height, previous=previous)
        made.append(SignedText(canonical(block), signature_by(ONE, block)))
    return made


def sliced(
    offset: int,
    *latest: str,
    plan: Plan = NARROW_PLAN,
    time: str = "2026-11-21T11:30:00.000000Z",
    watermark: str | None = None,
) -> Block:
    """A delivery of one-row slices with these event times."""
    slices = tuple(
        LedgerSlice(f"accepted/{number}", offset + number, 1, (each, each), LOGICAL[number], PHYSICAL[number])
        for number, each in enumerate(latest)
    )
    objects = tuple(LedgerObject(each.key, "v", 100 + number, "") for number, each in enumerate(slices))
    return replace(a_block(), slices=slices, objects=objects, plan=plan.digest, system_time=time, watermark=watermark)


def columns(block: Block) -> tuple[dict[str, Any], ...]:
    return WIDE if block.plan == WIDE_PLAN.digest else NARROW


def plans(block: Block) -> bytes:
    return next(each.to_bytes() for each in (NARROW_PLAN, WIDE_PLAN) if each.digest == block.plan)


NONE = {"short_name": "NOASSERTION", "name": "No licence is stated", "spdx_id": "NOASSERTION", "website_url": ""}
EARLY, LATE = "2026-11-18T10:00:00Z", "2026-11-22T10:00:00Z"
CHAIN = stored(
    key_record(0, GENESIS, ONE),
    sliced(0, "2026-11-20T10:00:00Z", "2026-11-19T10:00:00Z"),
    replace(a_block(), kind=BlockKind.QUARANTINED, verdict="rejected", system_time="2026-11-21T11:29:59.000000Z"),
    sliced(2),
    sliced(2, "2026-11-18T10:00:00Z", plan=WIDE_PLAN, time="2026-11-22T00:00:00.000001Z"),
    sliced(3, EARLY, LATE, plan=WIDE_PLAN, time="2026-11-22T00:00:00.000001Z", watermark="2026-11-20T10:00:00.000000Z"),
    sliced(5, EARLY, LATE, plan=WIDE_PLAN, time="2026-11-22T00:00:00.000001Z", watermark="2026-11-22T00:00:00.000001Z"),
)
WRITTEN = list(odf_blocks(CHAIN, columns, plans))


def events(blocks: list[OdfBlock]) -> list[Any]:
    return [block_in(each.body).event for each in blocks]


def attached(height: int, plan: Plan | None = None) -> SetAttachments:
    text, signature = CHAIN[height]
    assert signature is not None
    document = signature_document(signature)
    signed = f'{{"key":"{document["key"]}","value":"{document["value"]}"}}'
    path = f"lakegate/ledger/{height:012}"
    items = ((f"{path}.json", text.decode()), (f"{path}.signature.json", signed))
    return SetAttachments((*items, *((("lakegate/plan.json", plan.to_bytes().decode()),) if plan else ())))


def source(fields: tuple[dict[str, Any], ...]) -> OtherEvent:
    """How the deliveries of the tests are read: CSV."""
    dialect = {"separator": ",", "encoding": "utf8", "quote": '"', "escape": '"', "header": True}
    read = {"read_type": "ReadStepCsv", "read": {**dialect, "schema": {"fields": list(fields)}}}
    merge = {"merge_type": "MergeStrategyAppend", "merge": {}}
    return OtherEvent("AddPushSource", {"source_name": "default", **read, **merge})


TEN, MIDNIGHT = Moment(2026, 324, 36_000, 0), Moment(2026, 326, 0, 1000)


def test_the_blocks_of_a_chain() -> None:
    """Each block of the ledger is an attachment; slices follow theirs, with the columns where these are new.

    The last slice of a delivery has its watermark; without one, a slice has the watermark that was there before.
    """
    assert events(WRITTEN) == [
        Seed(dataset_of(CHAIN[0].text)),
        OtherEvent("SetVocab", VOCABULARY),
        attached(0),
        attached(1, NARROW_PLAN),
        SetDataSchema(NARROW),
        OtherEvent("SetInfo", {"description": "Visits", "keywords": ["shop"]}),
        OtherEvent("SetLicense", {"short_name": "MIT", "name": "MIT", "website_url": ""}),
        source(NARROW),
        AddData(None, DataSlice(LOGICAL[0], PHYSICAL[0], 0, 0, 100), None),
        AddData(0, DataSlice(LOGICAL[1], PHYSICAL[1], 1, 1, 101), None),
        attached(2),
        attached(3),
        attached(4, WIDE_PLAN),
        SetDataSchema(WIDE),
        OtherEvent("SetLicense", NONE),
        source(WIDE),
        AddData(1, DataSlice(LOGICAL[0], PHYSICAL[0], 2, 2, 100), None),
        attached(5),
        AddData(2, DataSlice(LOGICAL[0], PHYSICAL[0], 3, 3, 100), None),
        AddData(3, DataSlice(LOGICAL[1], PHYSICAL[1], 4, 4, 101), TEN),
        attached(6),
        AddData(4, DataSlice(LOGICAL[0], PHYSICAL[0], 5, 5, 100), TEN),
        AddData(5, DataSlice(LOGICAL[1], PHYSICAL[1], 6, 6, 101), MIDNIGHT),
    ]
    assert [block_in(each.body).sequence for each in WRITTEN] == list(range(23))
    added = [each.added for each in WRITTEN if each.added]
    assert [(each.stated.key, each.file.key, each.file.size) for each in added] == [
        (f"accepted/{number}", f"accepted/{number}", 100 + number) for number in (0, 1, 0, 0, 1, 0, 1)
    ]
    assert [each.name for each in WRITTEN] == [block_hash(each.body) for each in WRITTEN]


def test_times_of_blocks_do_not_go_back() -> None:
    """A block that a slower clock wrote has the time of the block before it."""
    times = [block_in(each.body).system_time for each in WRITTEN]

    assert times == sorted(times)
    assert times[-1] == MIDNIGHT


@pytest.mark.parametrize("length", range(1, len(CHAIN)))
def test_a_longer_chain_begins_with_the_same_blocks(length: int) -> None:
    """What was exported once stays as it is: only blocks are added."""
    shorter = list(odf_blocks(CHAIN[:length], columns, plans))

    assert WRITTEN[: len(shorter)] == shorter
    assert len(shorter) < len(WRITTEN)


def test_the_ledger_is_read_back() -> None:
    """The chain and its signatures are those of the ledger; attachments of others are passed over."""
    attachments = [each for each in events(WRITTEN) if isinstance(each, SetAttachments)]

    assert list(ledger_in([SetAttachments((("README.md", "text"),)), *attachments])) == CHAIN
    assert list(ledger_in([])) == []


def test_a_block_without_a_signature_is_read_back() -> None:
    """A stack that signs nothing has texts alone."""
    unsigned = [SignedText(CHAIN[0].text), CHAIN[1]]
    found = [each for each in events(list(odf_blocks(unsigned, columns, plans))) if isinstance(each, SetAttachments)]

    assert list(ledger_in(found)) == unsigned


FIRST, SIGNATURE = "lakegate/ledger/000000000000.json", "lakegate/ledger/000000000000.signature.json"


@pytest.mark.parametrize(
    ("items", "reason"),
    [
        ([(FIRST, "{}"), (FIRST, "{}")], "not in its order"),
        ([("lakegate/ledger/000000000001.json", "{}")], "not in its order"),
        ([(FIRST, "{}"), (SIGNATURE, "{}"), (SIGNATURE, "{}")], "not in its order"),
        ([(SIGNATURE, "{}")], "signature of no block"),
        ([(FIRST, "{}"), (SIGNATURE, "{")], "not JSON"),
        ([(FIRST, " " * ((1 << 19) + 1))], "has more than 524,288 characters"),
        ([(FIRST, "{}"), (SIGNATURE, "[" * 100_000)], "not JSON"),
        ([(FIRST, "{}"), (SIGNATURE, "{}")], "has the members"),
    ],
)
def test_a_ledger_that_is_none_is_refused(items: list[tuple[str, str]], reason: str) -> None:
    """Attachments under the names of the ledger have to be one."""
    with pytest.raises(InputError, match=reason):
        list(ledger_in([SetAttachments(tuple(items))]))


@pytest.mark.parametrize("time", ["2026-13-20T10:00:00.000000Z", "2026-11-31T10:00:00.000000Z"])
def test_times_that_are_none_are_refused(time: str) -> None:
    """A ledger from elsewhere may state times that do not exist."""
    with pytest.raises(InputError, match="a time that is none"):
        list(odf_blocks(stored(replace(a_block(), system_time=time)), columns, plans))


def test_the_identity_is_that_of_the_first_block() -> None:
    """Two lines have two identities, and a line has one, whatever follows its first block."""
    other = stored(replace(a_block(), chain="orders/lines_v2"))[0].text

    assert dataset_of(other) != dataset_of(CHAIN[0].text)
    assert str(dataset_of(CHAIN[0].text)).startswith("did:odf:fed01")
