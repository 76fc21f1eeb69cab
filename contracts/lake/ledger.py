"""The ledger: one chain of blocks for each dataset line; each block contains the digest of the previous one.

A block is canonical JSON (RFC 8785: keys sorted, no blanks, UTF-8, and only integers as numbers); its digest is
SHA3-256 over those bytes. docs/ledger.md describes how to verify a chain in another language, with test vectors.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Final, TypeAlias

from lakegate.contracts.errors import InputError
from lakegate.contracts.plan.serialization import decode, encode

FORMAT: Final = "lakegate-block/1"
"""The format version in every block; part of the digested bytes."""
GENESIS: Final = "0" * 64
"""The previous digest of the first block of a chain."""
MAX_INTEGER: Final = 2**53 - 1
"""The largest integer that all JSON libraries represent exactly."""


class BlockKind(StrEnum):
    """The final location of the delivery."""

    PUBLISHED = "published"
    QUARANTINED = "quarantined"


@dataclass(frozen=True, slots=True)
class LedgerObject:
    """One object of a delivery in the lake bucket."""

    key: str
    version: str
    """S3 version id of the copy."""
    size: int
    """Bytes."""
    checksum: str
    """`<algorithm>:<value>` of the full object; opaque here."""


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


class Wrong(StrEnum):
    """How a chain is broken."""

    UNREADABLE = "unreadable"
    """The stored text is not the canonical form of a block."""
    HEIGHT = "height"
    """A block is missing, duplicated or out of order."""
    ALTERED = "altered"
    """The block's digest differs from the one in the next block or the anchor."""
    CHAIN = "chain"
    """The block belongs to another chain than the first."""
    ANCHOR = "anchor"
    """The chain does not reach the anchored height."""
    HEAD = "head"
    """There are blocks above the head: the head was reset or removed."""


@dataclass(frozen=True, slots=True)
class ChainFault:
    """One fault. `height` is the lowest block that may have been changed: no block from there on can be trusted.

    A broken link shows that one of its two blocks has changed, but not which one: the lower one is reported.
    """

    height: int
    what: Wrong


_Holds: TypeAlias = Callable[[object], bool]
_TIME: Final = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z", re.ASCII)
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_VERDICTS: Final = frozenset({"accepted", "accepted_with_warnings", "rejected"})
_written: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def canonical(block: Block) -> bytes:
    """The canonical bytes, which are stored and digested. Raises InputError for a block that has none."""
    document = {"format": FORMAT} | encode(block) | {"kind": block.kind}
    for field, holds in _FIELDS.items():
        if not holds(document[field]):
            raise InputError(f"a block cannot have this `{field}`")
    try:
        return _written(document).encode()
    except UnicodeEncodeError:
        raise InputError("a block cannot hold half a surrogate pair") from None


def digest(block: Block) -> str:
    """SHA3-256 of the canonical form, in hexadecimal: `previous` of the next block."""
    return hashlib.sha3_256(canonical(block)).hexdigest()


def to_json(block: Block) -> str:
    """The canonical form as text."""
    return canonical(block).decode()


def from_json(text: str) -> Block:
    """Parse a canonical form. Raises InputError for any other text, so that equal blocks have equal bytes."""
    try:
        block = decode(Block, json.loads(text))
        same = to_json(block) == text
    except (ValueError, RecursionError, TypeError):
        raise InputError("a stored block cannot be read: it is not the JSON of a block") from None
    if not same:
        raise InputError("a stored block cannot be read: it is not in its canonical form")
    return block


def verify(
    blocks: Iterable[Block], head: str | None = None, anchors: Mapping[int, str] | None = None
) -> tuple[ChainFault, ...]:
    """Verify a chain from height 0. Returns all faults, lowest block first; empty if the chain is intact.

    A chain proves its own order. That its end is not truncated or rewritten needs an external proof: `head` is the digest of the
    last block, `anchors` are digests published elsewhere, by height.
    """
    return _faults(((block, digest(block)) for block in blocks), head, anchors or {})


def verify_stored(
    texts: Iterable[bytes], head: str | None = None, anchors: Mapping[int, str] | None = None
) -> tuple[ChainFault, ...]:
    """Like `verify`, for stored canonical forms: an unreadable text is a fault, not an exception."""
    return _faults((_read(text) for text in texts), head, anchors or {})


def stored_block(text: bytes) -> Block | None:
    """The block of a stored text; None if it cannot be read, which `verify_stored` reports."""
    try:
        return from_json(text.decode())
    except (InputError, UnicodeDecodeError):
        return None


def _read(text: bytes) -> tuple[Block | None, str]:
    block = stored_block(text)
    return block, hashlib.sha3_256(text).hexdigest() if block else ""


def _faults(
    digested: Iterable[tuple[Block | None, str]], head: str | None, anchors: Mapping[int, str]
) -> tuple[ChainFault, ...]:
    faults: list[ChainFault] = []
    below: Block | None = None
    top, last = GENESIS, -1
    for height, (block, own) in enumerate(digested):
        if block is None:
            faults.append(ChainFault(height, Wrong.UNREADABLE))
        else:
            faults.extend(_against(below, top, block, height))
        if anchors.get(height, own) != own:
            faults.append(ChainFault(height, Wrong.ALTERED))
        below, top, last = block or below, own, height
    if head is not None and head != top:
        faults.append(ChainFault(max(last, 0), Wrong.ALTERED))
    faults.extend(ChainFault(last + 1, Wrong.ANCHOR) for height in anchors if height > last)
    return tuple(sorted(set(faults), key=lambda fault: (fault.height, fault.what)))


def _against(below: Block | None, top: str, block: Block, height: int) -> Iterator[ChainFault]:
    if block.height != height:
        yield ChainFault(height, Wrong.HEIGHT)
    if block.previous != top:
        yield ChainFault(max(height - 1, 0), Wrong.ALTERED)
    if below and below.chain != block.chain:
        yield ChainFault(height, Wrong.CHAIN)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_name(value: object) -> bool:
    return value != "" and _is_text(value)


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= MAX_INTEGER


def _is_measured(value: object) -> bool:
    return value is None or _is_count(value)


def _matches(pattern: re.Pattern[str]) -> _Holds:
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


def _is_span(value: object) -> bool:
    return value is None or (
        isinstance(value, list) and len(value) == len(("first", "last")) and all(map(_is_name, value))
    )


def _are_objects(value: object) -> bool:
    objects: list[dict[str, object]] = value  # type: ignore[assignment]  # `encode` makes a list of a tuple
    good = all(holds(each[field]) for each in objects for field, holds in _OBJECT_FIELDS.items())
    return good and all(str(low["key"]) < str(high["key"]) for low, high in pairwise(objects))


_OBJECT_FIELDS: Final[Mapping[str, _Holds]] = {
    "key": _is_name,
    "version": _is_name,
    "size": _is_count,
    "checksum": _is_text,
}
_FIELDS: Final[Mapping[str, _Holds]] = {
    "format": lambda value: value == FORMAT,
    "kind": lambda value: isinstance(value, BlockKind),
    "height": _is_count,
    "previous": _matches(_DIGEST),
    "system_time": _matches(_TIME),
    "chain": _is_name,
    "workload": _is_name,
    "contract_version": _is_text,
    "plan": _is_text,
    "verdict": lambda value: value in _VERDICTS,
    "objects": _are_objects,
    "rows": _is_measured,
    "rejected_rows": _is_measured,
    "event_time": _is_span,
}
