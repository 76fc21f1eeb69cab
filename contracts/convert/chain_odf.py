"""The chain of a line that publishes slices as the blocks of an ODF dataset, and back.

Each block of the ledger becomes one `SetAttachments` with its canonical text and its signature, followed by one `AddData` for
each of its slices, and before the first of these a `SetDataSchema` where the columns are others than before. What a longer
chain becomes begins with what a shorter one becomes: an importer takes only what is new.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from lakegate.contracts.convert.source_odf import UNSTATED, described
from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.block import Block, canonical_json, from_json
from lakegate.contracts.lake.records import Record
from lakegate.contracts.lake.signatures import SignedText, signature_document, signature_from
from lakegate.contracts.odf.block_writing import block_bytes
from lakegate.contracts.odf.chain import follow
from lakegate.contracts.odf.metadata import (
    VOCABULARY,
    AddData,
    DataSlice,
    MetadataBlock,
    OtherEvent,
    Seed,
    SetAttachments,
    SetDataSchema,
    block_hash,
    moment_of,
)
from lakegate.contracts.odf.points import point_of
from lakegate.contracts.words import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from lakegate.contracts.lake.block import AnyBlock
    from lakegate.contracts.lake.block_parts import LedgerObject, LedgerSlice
    from lakegate.contracts.odf.chain import ChainState
    from lakegate.contracts.odf.metadata import Event, Moment
    from lakegate.contracts.odf.names import DatasetId

IDENTITY: Final = b"lakegate-dataset/1\n"
"""What the text begins with whose hash is the identity of a dataset."""
_PATH: Final = "lakegate/ledger/{:012}{}.json"
PLAN: Final = "lakegate/plan.json"
"""The plan of the slices from here on, by whose digest blocks of the ledger name it."""
SIGNATURE: Final = ".signature"
_ATTACHED: Final = re.compile(r"lakegate/ledger/([0-9]{12})(\.signature)?\.json")
LONGEST: Final = 1 << 19
"""Characters of a block of the ledger: it is an item of DynamoDB, of at most 400 KB."""

Fields = tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class OdfBlock:
    """A block of a dataset."""

    name: str
    body: bytes
    fields: Fields
    """The columns from here on."""
    added: AddedSlice | None = None


@dataclass(frozen=True, slots=True)
class AddedSlice:
    """A slice in the event that adds it, in the block of the ledger that states it, and its file in the lake."""

    data: DataSlice
    stated: LedgerSlice
    file: LedgerObject


def dataset_of(genesis: bytes) -> DatasetId:
    """The identity of the dataset of a line, by the text of its first block: the same in every export.

    It is a public key whose private key nobody knows: nobody can sign as the dataset, neither can Lakegate.
    """
    return point_of(IDENTITY + hashlib.sha3_256(genesis).hexdigest().encode())


def odf_blocks(
    stored: Iterable[SignedText], fields_of: Callable[[Block], Fields], plan_of: Callable[[Block], bytes]
) -> Iterator[OdfBlock]:
    """The blocks of the dataset of a verified chain, the first one first.

    `fields_of` are the columns of a delivery's slices. `plan_of` is the text of its plan, which is asked for where it is
    another one than that of the slices before. InputError where it is not the one that the block names.
    """
    writer: _Writer | None = None
    for each in stored:
        block = from_json(each.text.decode())
        if writer is None:
            writer = _Writer()
            yield writer.write(block, Seed(dataset_of(each.text)))
            yield writer.write(block, OtherEvent("SetVocab", VOCABULARY))
        slices = (block.slices or ()) if isinstance(block, Block) else ()
        changed = plan_of(block) if isinstance(block, Block) and slices and block.plan != writer.plan else None
        yield writer.write(block, SetAttachments(tuple(_attached(block, each, changed))))
        if isinstance(block, Record) and block.kind == "watermark":
            yield from writer.mark(block)
        if isinstance(block, Block) and slices:
            yield from writer.describe(block, changed, fields_of(block))
            files = {one.key: one for one in block.objects}
            for number, one in enumerate(slices, 1):
                yield writer.add(block, one, files[one.key], is_last=number == len(slices))


@dataclass(slots=True)
class _Writer:
    """Writes one block after the other."""

    state: ChainState | None = None
    fields: Fields = ()
    plan: str = ""
    """The digest of that of the slices before."""
    described: dict[str, OtherEvent] = field(default_factory=dict)
    """By kind, the last event."""

    def describe(self, at: Block, plan: bytes | None, fields: Fields) -> Iterator[OdfBlock]:
        """What is another than before, of what the plan of a delivery states and of its columns."""
        if fields != self.fields:
            self.fields = fields
            yield self.write(at, SetDataSchema(fields))
        if plan is None:
            return
        self.plan = at.plan
        for each in described(at, plan, fields):
            if each != self.described.get(each.kind, UNSTATED.get(each.kind)):
                self.described[each.kind] = each
                yield self.write(at, each)

    def write(self, at: AnyBlock, event: Event, added: AddedSlice | None = None) -> OdfBlock:
        """The next block."""
        time, before = _moment(at.system_time), self.state
        if before is None:
            block = MetadataBlock(time, None, 0, event)
        else:  # clocks of Lambdas differ by milliseconds; ODF's times do not go back
            block = MetadataBlock(max(time, before.system_time), before.head, before.sequence + 1, event)
        body = block_bytes(block)
        name = block_hash(body)
        self.state = follow(before, name, block)
        return OdfBlock(name, body, self.fields, added)

    def add(self, at: Block, stated: LedgerSlice, file: LedgerObject, *, is_last: bool) -> OdfBlock:
        """The block of a slice. A watermark is that of a whole delivery, so its last slice has it."""
        assert self.state is not None
        data = DataSlice(stated.logical, stated.physical, stated.offset, stated.end - 1, file.size)
        watermark = _moment(at.watermark) if is_last and at.watermark else self.state.watermark
        return self.write(at, AddData(self.state.last_offset, data, watermark), AddedSlice(data, stated, file))

    def mark(self, at: Record) -> Iterator[OdfBlock]:
        """The block of a watermark that a person set; before the first slice, that of the slice states it."""
        watermark = _moment(str(at.content["watermark"]))
        assert self.state is not None
        before = self.state.watermark
        if self.state.last_offset is not None and (before is None or watermark > before):
            yield self.write(at, AddData(self.state.last_offset, None, watermark))


def _moment(text: str) -> Moment:
    try:
        return moment_of(datetime.fromisoformat(text))
    except ValueError:
        raise InputError(f"a block has a time that is none: {shown(text)}") from None


def _attached(block: AnyBlock, stored: SignedText, plan: bytes | None) -> Iterator[tuple[str, str]]:
    yield _PATH.format(block.height, ""), stored.text.decode()
    if stored.signature is not None:
        yield _PATH.format(block.height, SIGNATURE), canonical_json(signature_document(stored.signature)).decode()
    if plan is not None:
        yield PLAN, plan.decode()


def plan_in(attachments: SetAttachments) -> bytes | None:
    """The plan of a delivery in the attachments of its block; None where it is that of the slices before."""
    return next((content.encode() for path, content in attachments.items if path == PLAN), None)


def ledger_in(attachments: Iterable[SetAttachments]) -> Iterator[SignedText]:
    """The blocks of the ledger in the attachments of a dataset, the lowest first; none of a dataset of another tool.

    InputError where one is missing, or there twice.
    """
    height = 0
    for each in attachments:
        found: dict[str, str] = {}
        for path, content in each.items:
            attached = _ATTACHED.fullmatch(path)
            if attached is None:
                continue
            kind = attached[2] or ""
            if int(attached[1]) != height or kind in found:
                raise InputError(f"the ledger in the attachments is not in its order: {path}")
            if len(content) > LONGEST:
                raise InputError(f"the ledger in the attachments has more than {LONGEST:,} characters: {path}")
            found[kind] = content
        if not found:
            continue
        if "" not in found:
            raise InputError("the ledger in the attachments has a signature of no block")
        height += 1
        signature = found.get(SIGNATURE)
        yield SignedText(found[""].encode(), None if signature is None else signature_from(_json(signature)))


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise InputError("a signature in the attachments is not JSON") from None
