"""Blocks that record an act: who, what, and to which contract or dataset line. Most are of people.

A record is a block of the ledger beside the deliveries: it has a height and the digest of the block below, and is verified
with them. Its content belongs to its kind, and has a closed JSON Schema: `contracts/schemas/record-<kind>.json`.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lakegate.contracts.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT: Final = "lakegate-block/2"
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
    from lakegate.contracts.schemas import validate  # noqa: PLC0415 - a Lambda that meets no record must not pay for it

    document = {
        "format": FORMAT,
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
