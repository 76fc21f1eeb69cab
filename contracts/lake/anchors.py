"""Daily anchors: documents with the head of every chain; each names the one before with its SHA-256, and may be signed.

The anchor of a day has one part or more, each a document. docs/ledger.md describes them for other languages.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.block import canonical_json
from lakegate.contracts.lake.block_parts import MAX_INTEGER
from lakegate.contracts.lake.signatures import LENGTHS, fingerprint, is_public_key

if TYPE_CHECKING:
    from collections.abc import Iterable

FORMAT: Final = "lakegate-anchor/1"
FOLDER: Final = "_daily/"
"""Of the keys of anchors; no chain has a name that begins so."""
PREFIX: Final = b"lakegate-anchor-signature/1\n"
"""What a signed text begins with, so that the signature of an anchor is one of nothing else."""
MAX_HEADS: Final = 10_000
"""Of a part: some 1.5 MB."""
_KEY: Final = re.compile(rf"{FOLDER}([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}})/([0-9]{{5}})\.json")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


class AnchoredHead(NamedTuple):
    """The top of a chain, when the anchor was made."""

    chain: str
    height: int
    digest: str


class Previous(NamedTuple):
    """The document before."""

    key: str
    sha256: str


class AnchorSignature(NamedTuple):
    """Of a document, by a key."""

    public_key: bytes
    value: bytes

    @property
    def key(self) -> str:
        """The fingerprint of the key."""
        return fingerprint(self.public_key)


@dataclass(frozen=True, slots=True)
class Anchor:
    """One part of the anchor of a day."""

    date: str
    part: int
    """From 0."""
    is_last: bool
    """Whether the anchor of the day ends with it."""
    locked_days: int
    """For how many days nobody could delete it."""
    previous: Previous | None
    """None for the first document of all."""
    heads: tuple[AnchoredHead, ...]
    """Sorted by chain, no chain twice in all parts of a day."""
    signatures: tuple[AnchorSignature, ...] = ()
    """None in a stack that signs nothing; two where one key replaces another."""

    @property
    def key(self) -> str:
        """Of its object."""
        return anchor_key(self.date, self.part)

    @property
    def signed_text(self) -> bytes:
        """What is signed of it."""
        unsigned = canonical_json({name: each for name, each in _document(self).items() if name != "signatures"})
        return PREFIX + sha256(unsigned).encode()


def anchor_key(day: str, part: int) -> str:
    """The key of a document."""
    return f"{FOLDER}{day}/{part:05}.json"


def day_of(key: str) -> str | None:
    """The day in the key of a document; None for another key."""
    found = _KEY.fullmatch(key)
    return found[1] if found and _is_day(found[1]) else None


def sha256(text: bytes) -> str:
    """By which the next document names this one."""
    return hashlib.sha256(text).hexdigest()


def to_json(anchor: Anchor) -> bytes:
    """The canonical form, which is stored."""
    return canonical_json(_document(anchor))


def from_json(text: bytes) -> Anchor:
    """Parse a canonical form. Raises InputError for any other text."""
    try:
        anchor = _parsed(json.loads(text))
        same = _is_whole(anchor) and to_json(anchor) == text
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, InputError):
        raise InputError("it is not the JSON of an anchor") from None
    if not same:
        raise InputError("it is not the canonical form of an anchor")
    return anchor


def with_signature(anchor: Anchor, signatures: Iterable[AnchorSignature]) -> Anchor:
    """The same anchor, signed."""
    return replace(anchor, signatures=tuple(signatures))


def _document(anchor: Anchor) -> dict[str, Any]:
    before = anchor.previous
    return {
        "format": FORMAT,
        "date": anchor.date,
        "part": anchor.part,
        "last": anchor.is_last,
        "locked_days": anchor.locked_days,
        "previous": {"key": before.key, "sha256": before.sha256} if before else None,
        "heads": [{"chain": each.chain, "height": each.height, "digest": each.digest} for each in anchor.heads],
        "signatures": [
            {"key": each.key, "public_key": _base64(each.public_key), "value": _base64(each.value)}
            for each in anchor.signatures
        ],
    }


def _parsed(document: Any) -> Anchor:  # noqa: ANN401 - what JSON holds
    before = document["previous"]
    return Anchor(
        document["date"],
        document["part"],
        document["last"],
        document["locked_days"],
        None if before is None else Previous(before["key"], before["sha256"]),
        tuple(AnchoredHead(each["chain"], each["height"], each["digest"]) for each in document["heads"]),
        tuple(
            AnchorSignature(base64.b64decode(each["public_key"]), base64.b64decode(each["value"]))
            for each in document["signatures"]
        ),
    )


def _is_whole(anchor: Anchor) -> bool:
    """Whether each member is of its kind; unknown ones are found by the canonical form."""
    before = anchor.previous
    return (
        _is_day(anchor.date)
        and all(map(_is_count, (anchor.part, anchor.locked_days)))
        and (before is None or (day_of(before.key) is not None and _is_digest(before.sha256)))
        and all(_is_name(each.chain) and _is_count(each.height) and _is_digest(each.digest) for each in anchor.heads)
        and all(low.chain < high.chain for low, high in pairwise(anchor.heads))
        and all(is_public_key(each.public_key) and len(each.value) == LENGTHS[1] for each in anchor.signatures)
        and _is_flag(anchor.is_last)
    )


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_day(value: str) -> bool:
    try:
        return date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= MAX_INTEGER


def _is_digest(value: str) -> bool:
    return _DIGEST.fullmatch(value) is not None


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()
