"""Blocks of deliveries and of acts: canonical form and digest."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypeAlias

from lakegate.errors import InputError
from lakegate.gate.delivery.people_decisions import Waiver
from lakegate.json_codec import decode, encode
from lakegate.verdict.verdict import ACCEPTING, Verdict

# ---- The objects and slices in a block of the ledger, and what the values of its fields must be --------------------


Holds: TypeAlias = Callable[[object], bool]
MAX_INTEGER: Final = 2**53 - 1
"""The largest integer that all JSON libraries represent exactly."""


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
class LedgerSlice:
    """One slice of Open Data Fabric, among the objects of its delivery."""

    key: str
    offset: int
    """Of its first row."""
    rows: int
    event_time: tuple[str, str]
    """Earliest and latest, RFC 3339."""
    logical: str
    """Hash of the rows, and below that of the bytes, as multihashes."""
    physical: str

    @property
    def end(self) -> int:
        """The offset after its last row."""
        return self.offset + self.rows


def is_text(value: object) -> bool:
    """A text."""
    return isinstance(value, str)


def is_name(value: object) -> bool:
    """A text that is not empty."""
    return value != "" and is_text(value)


def is_count(value: object) -> bool:
    """A number that JSON holds exactly, from 0."""
    return type(value) is int and 0 <= value <= MAX_INTEGER


def is_measured(value: object) -> bool:
    """A count, if there is one."""
    return value is None or is_count(value)


def matches(pattern: re.Pattern[str]) -> Holds:
    """Texts of a pattern."""
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


def is_span(value: object) -> bool:
    """Two texts, or nothing."""
    return value is None or (
        isinstance(value, list) and len(value) == len(("first", "last")) and all(map(is_name, value))
    )


def are_objects(value: object) -> bool:
    """Objects in the order of their keys."""
    objects: list[dict[str, object]] = value  # type: ignore[assignment]  # `encode` makes a list of a tuple
    good = all(holds(each[field]) for each in objects for field, holds in _OBJECT_FIELDS.items())
    return good and all(str(low["key"]) < str(high["key"]) for low, high in pairwise(objects))


def are_slices(value: object) -> bool:
    """Whether the offsets of slices follow one another."""
    slices: list[dict[str, Any]] = value  # type: ignore[assignment]  # likewise
    good = all(holds(each[field]) for each in slices for field, holds in _SLICE_FIELDS.items())
    return good and all(low["offset"] + low["rows"] == high["offset"] for low, high in pairwise(slices))


_OBJECT_FIELDS: Final[Mapping[str, Holds]] = {
    "key": is_name,
    "version": is_name,
    "size": is_count,
    "checksum": is_text,
}

_SLICE_FIELDS: Final[Mapping[str, Holds]] = {
    "key": is_name,
    "offset": is_count,
    "rows": lambda value: is_count(value) and value != 0,
    "event_time": is_span,
    "logical": is_name,
    "physical": is_name,
}


# ---- Blocks that record an act: who, what, and to which contract or dataset line. Most are of people ---------------
#
# A record is a block of the ledger beside the deliveries: it has a height and the digest of the block below, and is
# verified
# with them. Its content belongs to its kind, and has a closed JSON Schema: `lakegate/schemas/record-<kind>.json`.


RECORD_FORMAT: Final = "lakegate-block/2"
"""The format version of every record; that of deliveries is `lakegate-block/1`."""
CONTRACTS: Final = "_contracts"
"""Chains of contracts begin with this name, which no contract can have."""

KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "publication": ("version", "status"),
    "replay": ("workload",),
    "replay-version": ("workload", "contract_version"),
    "waiver": ("workload", "expires", "reason"),
    "approval": ("workload", "verdict"),
    "decline": ("workload", "verdict", "reason"),
    "lifecycle": ("act", "status"),
    "erasure": ("workload", "rows", "reason"),
    "erased": ("workload", "rows"),
    "restoration": ("workload", "key"),
    "key": ("key", "replaces"),
    "revalidation": ("height", "rules", "stale"),
    "watermark": ("watermark",),
}
"""By kind of record: which members of its content `lakegate log` prints."""


@dataclass(frozen=True, slots=True)
class Record:
    """One act. No field contains text of a producer."""

    kind: str
    """A key of KINDS."""
    height: int
    """From 0, without gaps, counted with the deliveries of the chain."""
    previous: str
    """Digest of the previous block; GENESIS at height 0."""
    system_time: str
    """RFC 3339, UTC, six decimals."""
    chain: str
    """Of a dataset line (`orders/lines_v1`) or of a contract (`_contracts/orders`)."""
    actor: str
    """The ARN of the caller (STS GetCallerIdentity), of a record `key` that of the KMS key; never a text that was given."""
    event: str
    """Identifies the act: no two records of a ledger have the same. See `event_id`."""
    content: Mapping[str, Any]
    """What was done, by the schema of the kind."""


def contract_chain(contract: str) -> str:
    """The chain of the records of a contract."""
    return f"{CONTRACTS}/{contract}"


def event_id(kind: str, *parts: str | int) -> str:
    """SHA-256 of what makes an act the same act when it is repeated."""
    return hashlib.sha256(json.dumps([kind, *parts], separators=(",", ":")).encode()).hexdigest()


def document_of(record: Record) -> dict[str, object]:
    """The JSON document of a record. Raises InputError where the record or its content does not match its schema."""
    from lakegate.json_codec import validate  # noqa: PLC0415 - a Lambda that meets no record must not pay for it

    document = {
        "format": RECORD_FORMAT,
        "kind": record.kind,
        "height": record.height,
        "previous": record.previous,
        "system_time": record.system_time,
        "chain": record.chain,
        "actor": record.actor,
        "event": record.event,
        "content": dict(record.content),
    }
    validate("record", document)
    if record.kind not in KINDS:
        raise InputError("a record cannot have this `kind`")
    validate(f"record-{record.kind}", document["content"])
    return document


def record_from(document: Mapping[str, Any]) -> Record:
    """The record of a document as `document_of` makes it; TypeError where members are missing or unknown."""
    return Record(**{name: value for name, value in document.items() if name != "format"})


# ---- The blocks of the ledger: deliveries, and records of what people did; their canonical form and their digest ----
#
# The canonical form is JSON by RFC 8785 (keys sorted, no blanks, UTF-8, and only integers as numbers); the digest is
# SHA3-256 over
# those bytes. docs/ledger.md describes them for other languages, with test vectors.


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
    if isinstance(document, dict) and document.get("format") == RECORD_FORMAT:
        return record_from(document)
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


class Head(NamedTuple):
    """The top of a chain: height -1 and GENESIS before the first block."""

    height: int
    digest: str
