"""Blocks of deliveries and of acts: canonical form and digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Annotated, Any, Final, NamedTuple, TypeAlias

from lakegate.base.errors import InputError
from lakegate.base.json_codec import (
    MAX_INTEGER,
    Bounds,
    Exact,
    NotEmpty,
    Pattern,
    Permitted,
    Sha256,
    decode_document,
    encode,
    omit_default,
    sha256_of,
)
from lakegate.base.timestamps import Moment
from lakegate.gate.delivery.delivery_row import Waiver
from lakegate.gate.ledger.record_contents import CONTENTS
from lakegate.gate.person_decisions import Started


@dataclass(frozen=True, slots=True)
class LedgerObject:
    """One object of a delivery in the lake bucket."""

    key: NotEmpty
    version: NotEmpty
    """S3 version id of the copy."""
    size: Exact
    """Bytes."""
    checksum: str
    """`<algorithm>:<value>` of the full object; opaque here."""


@dataclass(frozen=True, slots=True)
class LedgerSlice:
    """One slice of Open Data Fabric, among the objects of its delivery."""

    key: NotEmpty
    """Of one of the objects."""
    offset: Exact
    """Of its first row."""
    rows: Started
    event_time: tuple[NotEmpty, NotEmpty]
    """Earliest and latest, RFC 3339."""
    logical: NotEmpty
    """Hash of the rows, and below that of the bytes, as multihashes."""
    physical: NotEmpty
    system_time: Moment | None = omit_default(None)
    """Of its rows: when it was their turn in the dataset. None: not stated."""

    @property
    def end(self) -> int:
        """The offset after its last row."""
        return self.offset + self.rows


@dataclass(frozen=True, slots=True)
class TableFile:
    """One typed file of accepted or of rejected rows, among the objects of its delivery."""

    key: NotEmpty
    """Of one of the objects."""
    rows: Started


@dataclass(frozen=True, slots=True)
class BlockInput:
    """A dataset whose accepted rows a derived delivery was computed of."""

    dataset: NotEmpty
    height: Exact
    """Of its chain: blocks above it were not read."""


# ---- Records of acts ----
# A record is a block of the ledger beside the deliveries: it has a height and the digest of the block below, and is verified
# with them. Its content belongs to its kind, as `lakegate.gate.ledger.record_contents` defines it.


FORMAT: Final = "lakegate-block/1"
"""The format version of every block; part of the digested bytes."""
CONTRACTS: Final = "_contracts"
"""Chains of contracts begin with this name, which no contract can have."""


@dataclass(frozen=True, slots=True)
class Record:
    """One act. No field contains text of a producer."""

    kind: Annotated[str, Permitted(tuple(CONTENTS))]
    height: Exact
    """From 0, without gaps, counted with the deliveries of the chain."""
    previous: Sha256
    """Digest of the previous block; GENESIS at height 0."""
    system_time: Moment
    """RFC 3339, UTC, six decimals."""
    chain: NotEmpty
    """Of a dataset line (`orders/lines_v1`) or of a contract (`_contracts/orders`)."""
    actor: Annotated[str, Pattern("(arn:|https://|callback:)[!-~]+")]
    """ARN of the caller, as STS names it, of a record `key` that of the KMS key; of a caller of the HTTP API with a token
    `<issuer>#<subject>`; of a callback `callback:` and the channel that its token was sent to. Never a text that was given."""
    event: Sha256
    """Identifies the act: no two records of a ledger have the same. See `event_id`."""
    content: Mapping[str, Any]
    """The content of the act, by `CONTENTS` of the kind."""


def contract_chain(contract: str) -> str:
    """The chain of the records of a contract."""
    return f"{CONTRACTS}/{contract}"


def event_id(kind: str, *parts: str | int) -> str:
    """SHA-256 of what makes an act the same act when it is repeated."""
    return sha256_of(json.dumps([kind, *parts], separators=(",", ":")))


def document_of(record: Record) -> dict[str, object]:
    """The JSON document of a record. Raises InputError where the record or its content does not fit."""
    document: dict[str, object] = encode(record)
    record_from(document)
    return document | {"format": FORMAT}


def record_from(document: Mapping[str, Any]) -> Record:
    """The record of a document without its format; InputError where it, or its content, does not fit."""
    record = decode_document(Record, "record", document)
    decode_document(CONTENTS[record.kind].form, f"record-{record.kind}", record.content)
    return record


# ---- Blocks ----
# The canonical form is JSON by RFC 8785 (keys sorted, no blanks, UTF-8, and only integers as numbers); the digest is SHA3-256
# over those bytes. docs/ledger.md describes them for other languages, with test vectors.


GENESIS: Final = "0" * 64
"""The previous digest of the first block of a chain."""


class BlockKind(StrEnum):
    """The final location of the delivery."""

    PUBLISHED = "published"
    QUARANTINED = "quarantined"


@dataclass(frozen=True, slots=True)
class Block:
    """One finished delivery. No field contains text of the producer."""

    kind: BlockKind
    height: Exact
    """From 0, without gaps."""
    previous: Sha256
    """Digest of the previous block; GENESIS at height 0."""
    system_time: Moment
    """RFC 3339, UTC, six decimals: `2026-11-21T11:30:00.000000Z`."""
    chain: NotEmpty
    """Of the dataset line: `orders/lines_v1`, `_unrouted/2026-11-21`."""
    workload: NotEmpty
    contract_version: str
    """Semantic version; empty for unrouted deliveries."""
    plan: str
    """Digest of the plan; empty for unrouted deliveries."""
    verdict: Annotated[str, Permitted(("accepted", "accepted_with_warnings", "rejected"))]
    objects: tuple[LedgerObject, ...]
    """Sorted by key, no key twice."""
    rows: Exact | None
    """None if nothing was measured (refused at admission)."""
    rejected_rows: Exact | None
    event_time: tuple[NotEmpty, NotEmpty] | None
    """Earliest and latest event time in the data, RFC 3339; None if the contract has no event time."""
    waiver: Waiver | None = omit_default(None)
    """By which it was accepted."""
    slices: tuple[LedgerSlice, ...] | None = omit_default(None)
    """Of a published delivery in the order of their offsets, none of one without rows. None: it is published as it arrived."""
    watermark: Moment | None = omit_default(None)
    """Of the dataset, from its slices on, as `system_time`. None: the dataset has none."""
    result: Sha256 | None = omit_default(None)
    """Digest of the result.json by which it was decided. None: nothing was measured."""
    engines: Mapping[str, str] | None = omit_default(None)
    """By name, the versions of the engines that measured it. None: the result names none."""
    supersedes: Annotated[tuple[Exact, ...], Bounds(1)] = omit_default(())
    """Heights of the accepted deliveries in whose place it comes, the lowest first (`lakegate.gate.datasets`)."""
    corrects: Sha256 | None = omit_default(None)
    """The workload of the rejected delivery of the dataset that it corrects, as its producer says. None: of none."""
    table: tuple[TableFile, ...] | None = omit_default(None)
    """Of a published delivery its rows as typed files, sorted by key, none of one without rows. None: it has no such files."""
    rejected_table: Annotated[tuple[TableFile, ...], Bounds(1)] | None = omit_default(None)
    """Likewise of its rejected rows, beside `table`. None: it has none, or no such files."""
    inputs: tuple[BlockInput, ...] = omit_default(())
    """Of a derived dataset, sorted by name; empty where nothing was computed."""

    @property
    def typed_keys(self) -> frozenset[str]:
        """The keys of its typed files."""
        return frozenset(each.key for each in (*(self.table or ()), *(self.rejected_table or ())))


AnyBlock: TypeAlias = Block | Record
_written: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def deliveries(blocks: Iterable[AnyBlock]) -> tuple[Block, ...]:
    """Those of the blocks that are deliveries."""
    return tuple(block for block in blocks if isinstance(block, Block))


def canonical(block: AnyBlock) -> bytes:
    """The canonical bytes, which are stored and digested. Raises InputError for a block that has none."""
    return canonical_json(document_of(block) if isinstance(block, Record) else _document_of(block))


def canonical_json(document: object) -> bytes:
    """The canonical form of any JSON document. Raises InputError for half a surrogate pair, fractions and larger integers."""
    if not _has_exact_numbers(document):
        raise InputError(f"a block has no numbers but integers, and none beyond {MAX_INTEGER}")
    try:
        return _written(document).encode()
    except UnicodeEncodeError:
        raise InputError("a block cannot hold half a surrogate pair") from None


def _has_exact_numbers(value: object) -> bool:
    if value is None or isinstance(value, str):  # most values
        return True
    if isinstance(value, dict):
        return all(map(_has_exact_numbers, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_has_exact_numbers, value))
    return isinstance(value, int) and abs(value) <= MAX_INTEGER  # no fraction


def _document_of(block: Block) -> dict[str, object]:
    document: dict[str, object] = encode(block)
    _fit(decode_document(Block, "block", document))
    return document | {"format": FORMAT}


def _fit(block: Block) -> None:
    """Raise InputError where members of a block do not fit each other."""
    slices = block.slices or ()
    if not all(low.key < high.key for low, high in pairwise(block.objects)):
        raise InputError("a block cannot have this `objects`")
    if not all(low.end == high.offset for low, high in pairwise(slices)):
        raise InputError("a block cannot have this `slices`")
    if block.slices is not None and not _are_among_objects(block, slices):
        raise InputError("a block has no `slices` but of its own published objects, one of each")
    _fit_tables(block)
    if not all(low < high for low, high in pairwise((*block.supersedes, block.height))):
        raise InputError("a block cannot have this `supersedes`")
    if block.supersedes and block.kind is not BlockKind.PUBLISHED:
        raise InputError("a block has `supersedes` only if its delivery is published")
    if block.watermark is not None and not slices:
        raise InputError("a block has no `watermark` without slices")


def _fit_tables(block: Block) -> None:
    """Likewise of its typed files."""
    rejected = block.rejected_table or ()
    if block.table is not None and not (_are_among_objects(block, block.table) and block.slices is None):
        raise InputError(
            "a block has no `table` but of its own published objects, one of each, and none beside `slices`"
        )
    if rejected and (block.table is None or not _are_among_objects(block, (*block.table, *rejected))):
        raise InputError(
            "a block has no `rejected_table` but of its own objects, one of each, and beside `table` alone"
        )
    for name, files in (("table", block.table or ()), ("rejected_table", rejected)):
        if not all(low.key < high.key for low, high in pairwise(files)):
            raise InputError(f"a block cannot have this `{name}`")


def _are_among_objects(block: Block, parts: tuple[LedgerSlice, ...] | tuple[TableFile, ...]) -> bool:
    keys = [each.key for each in parts]
    unique = set(keys)
    return (
        block.kind is BlockKind.PUBLISHED
        and len(unique) == len(keys)
        and unique <= {stored.key for stored in block.objects}
    )


def digest(block: AnyBlock) -> str:
    """SHA3-256 of the canonical form, in hexadecimal: `previous` of the next block."""
    return hashlib.sha3_256(canonical(block)).hexdigest()


def to_json(block: AnyBlock) -> str:
    """The canonical form as text."""
    return canonical(block).decode()


def from_json(text: str) -> AnyBlock:
    """Parse a canonical form. Raises InputError for any other text, so that equal blocks have equal bytes."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError("a stored block cannot be read: it is not JSON") from None
    if not isinstance(document, dict) or "format" not in document:
        raise InputError("a stored block cannot be read: it is not the JSON of a block")
    if canonical_json(document) != text.encode():
        raise InputError("a stored block cannot be read: it is not in its canonical form")
    if document.pop("format") != FORMAT:
        raise InputError("block.json does not fit its schema at format (rule: const)")
    if document.get("kind") not in list(BlockKind):
        return record_from(document)
    block = decode_document(Block, "block", document)
    _fit(block)
    return block


def parse_block(text: bytes) -> AnyBlock | None:
    """The block of a stored text; None if it cannot be read, which `verify_signed` reports."""
    try:
        return from_json(text.decode())
    except (InputError, UnicodeDecodeError):
        return None


class Head(NamedTuple):
    """The top of a chain: height -1 and GENESIS before the first block."""

    height: int
    digest: str
