"""The ledger: one chain of blocks for each dataset line, each naming the one below by its digest.

A block is canonical JSON (RFC 8785: keys sorted, no blanks, UTF-8, and only integers as numbers); its digest is
SHA3-256 over those bytes. docs/ledger.md tells how to verify a chain in another language, with test vectors.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Any, Final, TypeAlias

from contracts.errors import InputError

FORMAT: Final = "lakegate-block/1"
"""Stands in every block, so that a later form of it can be told apart; part of what is digested."""
GENESIS: Final = "0" * 64
"""What the lowest block of a chain names as the digest below it."""
MAX_INTEGER: Final = 2**53 - 1
"""Every JSON library agrees on integers up to here."""


class BlockKind(StrEnum):
    """Where the delivery came to rest."""

    PUBLISHED = "published"
    QUARANTINED = "quarantined"


@dataclass(frozen=True, slots=True)
class LedgerObject:
    """One object that came to rest in the lake bucket."""

    key: str
    version: str
    """S3 version id of the copy."""
    size: int
    """Bytes."""
    checksum: str
    """`<algorithm>:<value>` of the full object; opaque here."""


@dataclass(frozen=True, slots=True)
class Block:
    """One delivery that came to rest. No field holds text of the producer's."""

    kind: BlockKind
    height: int
    """From 0, without gaps."""
    previous: str
    """Digest of the block below, GENESIS at height 0."""
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
    """None where nothing was measured (refused at the door)."""
    rejected_rows: int | None
    event_time: tuple[str, str] | None
    """Earliest and latest event time in the data, RFC 3339; None where the contract names no event time."""


class Wrong(StrEnum):
    """How a chain is broken."""

    UNREADABLE = "unreadable"
    """The stored text is not the canonical form of any block."""
    HEIGHT = "height"
    """A block is missing, doubled or out of its place."""
    ALTERED = "altered"
    """The block is not the one that the next block, or the anchor, was made on."""
    CHAIN = "chain"
    """The block belongs to another chain than the first."""
    ANCHOR = "anchor"
    """The chain does not reach the anchored height."""
    HEAD = "head"
    """There are blocks above the head: it was set back or removed."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One break. `height` is the lowest block that may have been changed: nothing from there on can be trusted.

    A link that does not hold tells that one of its two blocks has changed, and not which: the lower one is named.
    """

    height: int
    what: Wrong


_Holds: TypeAlias = Callable[[object], bool]
_TIME: Final = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z", re.ASCII)
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_VERDICTS: Final = frozenset({"accepted", "accepted_with_warnings", "rejected"})
_encode: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def canonical(block: Block) -> bytes:
    """The bytes that are stored and digested. Raises InputError for a block that has no canonical form."""
    document = _document(block)
    for field, holds in _FIELDS.items():
        if not holds(document[field]):
            raise InputError(f"a block cannot have this `{field}`")
    try:
        return _encode(document).encode()
    except UnicodeEncodeError:
        raise InputError("a block cannot hold half a surrogate pair") from None


def digest(block: Block) -> str:
    """SHA3-256 over the canonical form, in hexadecimal: what the next block carries as `previous`."""
    return hashlib.sha3_256(canonical(block)).hexdigest()


def to_json(block: Block) -> str:
    """The canonical form as text."""
    return canonical(block).decode()


def from_json(text: str) -> Block:
    """The block of a canonical form. Raises InputError for any other text, so that equal blocks are equal bytes."""
    try:
        document = json.loads(text)
        block = _block(document)
        same = to_json(block) == text
    except (ValueError, RecursionError, TypeError, KeyError):
        raise InputError("a stored block cannot be read: it is not the JSON of a block") from None
    if not same:
        raise InputError("a stored block cannot be read: it is not in its canonical form")
    return block


def verify(
    blocks: Iterable[Block], head: str | None = None, anchors: Mapping[int, str] | None = None
) -> tuple[Fault, ...]:
    """Recompute a whole chain, given from height 0. Returns every fault, lowest block first; empty means intact.

    A chain proves its own order; that its upper end is not cut off or rewritten only something outside it can prove:
    `head` is the digest that the uppermost block must have, `anchors` digests published elsewhere, by height.
    """
    return _faults(((block, digest(block)) for block in blocks), head, anchors or {})


def verify_stored(
    texts: Iterable[bytes], head: str | None = None, anchors: Mapping[int, str] | None = None
) -> tuple[Fault, ...]:
    """Like `verify`, of stored canonical forms: a text that cannot be read is a fault and not an exception."""
    return _faults((_read(text) for text in texts), head, anchors or {})


def stored_block(text: bytes) -> Block | None:
    """The block of a stored text; None where it cannot be read, which `verify_stored` reports."""
    try:
        return from_json(text.decode())
    except (InputError, UnicodeDecodeError):
        return None


def _read(text: bytes) -> tuple[Block | None, str]:
    block = stored_block(text)
    return block, hashlib.sha3_256(text).hexdigest() if block else ""


def _faults(
    digested: Iterable[tuple[Block | None, str]], head: str | None, anchors: Mapping[int, str]
) -> tuple[Fault, ...]:
    faults: list[Fault] = []
    below: Block | None = None
    top, last = GENESIS, -1
    for height, (block, own) in enumerate(digested):
        if block is None:
            faults.append(Fault(height, Wrong.UNREADABLE))
        else:
            faults.extend(_against(below, top, block, height))
        if anchors.get(height, own) != own:
            faults.append(Fault(height, Wrong.ALTERED))
        below, top, last = block or below, own, height
    if head is not None and head != top:
        faults.append(Fault(max(last, 0), Wrong.ALTERED))
    faults.extend(Fault(last + 1, Wrong.ANCHOR) for height in anchors if height > last)
    return tuple(sorted(set(faults), key=lambda fault: (fault.height, fault.what)))


def _against(below: Block | None, top: str, block: Block, height: int) -> Iterator[Fault]:
    if block.height != height:
        yield Fault(height, Wrong.HEIGHT)
    if block.previous != top:
        yield Fault(max(height - 1, 0), Wrong.ALTERED)
    if below and below.chain != block.chain:
        yield Fault(height, Wrong.CHAIN)


def _document(block: Block) -> dict[str, object]:
    return {
        "format": FORMAT,
        "kind": block.kind,
        "height": block.height,
        "previous": block.previous,
        "system_time": block.system_time,
        "chain": block.chain,
        "workload": block.workload,
        "contract_version": block.contract_version,
        "plan": block.plan,
        "verdict": block.verdict,
        "objects": [
            {"key": o.key, "version": o.version, "size": o.size, "checksum": o.checksum} for o in block.objects
        ],
        "rows": block.rows,
        "rejected_rows": block.rejected_rows,
        "event_time": list(block.event_time) if block.event_time else None,
    }


def _block(document: dict[str, Any]) -> Block:
    fields = {name: document[name] for name in _FIELDS if name != "format"}
    fields["kind"] = BlockKind(str(fields["kind"]))
    fields["objects"] = tuple(LedgerObject(**each) for each in _list(fields["objects"]))
    fields["event_time"] = None if fields["event_time"] is None else tuple(_list(fields["event_time"]))
    return Block(**fields)


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError
    return value


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
    objects = _list(value)
    keys = [each["key"] for each in objects]
    return all(map(_is_object, objects)) and all(str(low) < str(high) for low, high in pairwise(keys))


def _is_object(value: dict[str, object]) -> bool:
    return all(holds(value[field]) for field, holds in _OBJECT_FIELDS.items())


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
