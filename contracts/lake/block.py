"""The blocks of the ledger: deliveries, and records of what people did; their canonical form and their digest.

The canonical form is JSON by RFC 8785 (keys sorted, no blanks, UTF-8, and only integers as numbers); the digest is SHA3-256 over
those bytes. docs/ledger.md describes them for other languages, with test vectors.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from lakegate.contracts.errors import InputError
from lakegate.contracts.judge.verdict import ACCEPTING, Verdict
from lakegate.contracts.lake import records
from lakegate.contracts.lake.block_parts import (
    MAX_INTEGER,
    Holds,
    LedgerObject,
    LedgerSlice,
    are_objects,
    are_slices,
    is_count,
    is_measured,
    is_name,
    is_span,
    is_text,
    matches,
)
from lakegate.contracts.lake.records import Record
from lakegate.contracts.lake.waiver import Waiver
from lakegate.contracts.plan.serialization import decode, encode

FORMAT: Final = "lakegate-block/1"
"""The format version in the block of a delivery; part of the digested bytes."""
WAIVED: Final = "lakegate-block/3"
"""That of a delivery which was accepted by waiver: its block has the member `waiver` besides."""
SLICED: Final = "lakegate-block/4"
"""That of a delivery whose accepted rows are slices: its block has the member `slices` besides."""
MARKED: Final = "lakegate-block/5"
"""That of a delivery with slices, of a line that has a watermark: its block has the member `watermark` besides."""
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
    height: int
    """From 0, without gaps."""
    previous: str
    """Digest of the previous block; GENESIS at height 0."""
    system_time: str
    """RFC 3339, UTC, six decimals: `2026-11-21T11:30:00.000000Z`."""
    chain: str
    """Of the dataset line: `orders/lines_v1`, `_unrouted/2026-11-21`."""
    workload: str
    contract_version: str
    """Semantic version; empty for unrouted deliveries."""
    plan: str
    """Digest of the plan; empty for unrouted deliveries."""
    verdict: str
    """`accepted`, `accepted_with_warnings` or `rejected`."""
    objects: tuple[LedgerObject, ...]
    """Sorted by key, no key twice."""
    rows: int | None
    """None if nothing was measured (refused at the door)."""
    rejected_rows: int | None
    event_time: tuple[str, str] | None
    """Earliest and latest event time in the data, RFC 3339; None if the contract has no event time."""
    waiver: Waiver | None = None
    """By which it was accepted; such a block has the format `WAIVED`."""
    slices: tuple[LedgerSlice, ...] | None = None
    """Of a published delivery in the order of their offsets, none of one without rows; such a block has the format `SLICED`.

    None: it is published as it arrived.
    """
    watermark: str | None = None
    """Of the line, from its slices on, as `system_time`; such a block has the format `MARKED`. None: the line has none."""


AnyBlock: TypeAlias = Block | Record
_TIME: Final = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z", re.ASCII)
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_VERDICTS: Final = ACCEPTING | {Verdict.REJECTED}
_written: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def deliveries(blocks: Iterable[AnyBlock]) -> tuple[Block, ...]:
    """Those of the blocks that are deliveries."""
    return tuple(block for block in blocks if isinstance(block, Block))


def canonical(block: AnyBlock) -> bytes:
    """The canonical bytes, which are stored and digested. Raises InputError for a block that has none."""
    return canonical_json(records.document_of(block) if isinstance(block, Record) else _document_of(block))


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
    form = WAIVED if block.waiver else MARKED if block.watermark else FORMAT if block.slices is None else SLICED
    document: dict[str, object] = {"format": form} | encode(block) | {"kind": block.kind}
    for field, holds in _FIELDS.items():
        if not holds(document[field]):
            raise InputError(f"a block cannot have this `{field}`")
    if block.slices is not None and not _are_among_objects(block, block.slices):
        raise InputError("a block has no `slices` but of its own published objects, one of each")
    if block.watermark is not None and not block.slices:
        raise InputError("a block has no `watermark` without slices")
    for optional in ("waiver", "slices", "watermark"):
        if document[optional] is None:
            del document[optional]
    return document


def _are_among_objects(block: Block, slices: tuple[LedgerSlice, ...]) -> bool:
    keys = [each.key for each in slices]
    unique = set(keys)
    return (
        block.kind is BlockKind.PUBLISHED
        and len(unique) == len(keys)
        and unique <= {each.key for each in block.objects}
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
        block = _parsed(json.loads(text))
        same = to_json(block) == text
    except (ValueError, RecursionError, TypeError):
        raise InputError("a stored block cannot be read: it is not the JSON of a block") from None
    if not same:
        raise InputError("a stored block cannot be read: it is not in its canonical form")
    return block


def _parsed(document: object) -> AnyBlock:
    if isinstance(document, dict) and document.get("format") == records.FORMAT:
        return records.record_from(document)
    return decode(Block, document)


def stored_block(text: bytes) -> AnyBlock | None:
    """The block of a stored text; None if it cannot be read, which `verify_signed` reports."""
    try:
        return from_json(text.decode())
    except (InputError, UnicodeDecodeError):
        return None


_FIELDS: Final[Mapping[str, Holds]] = {
    "kind": lambda value: isinstance(value, BlockKind),
    "height": is_count,
    "previous": matches(_DIGEST),
    "system_time": matches(_TIME),
    "chain": is_name,
    "workload": is_name,
    "contract_version": is_text,
    "plan": is_text,
    "verdict": lambda value: value in _VERDICTS,
    "objects": are_objects,
    "rows": is_measured,
    "rejected_rows": is_measured,
    "event_time": is_span,
    "slices": lambda value: value is None or are_slices(value),
    "watermark": lambda value: value is None or matches(_TIME)(value),
    "waiver": lambda value: value is None or (isinstance(value, dict) and all(map(is_name, value.values()))),
}
