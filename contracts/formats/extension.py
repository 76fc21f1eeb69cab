"""Reads the `lakegate` extension of a document: how the gate treats deliveries, what a file is, how CSV is written.

Each key is one row in a table. An unknown key, or a wish this version cannot fulfil, is an error: nothing an owner asked
for is left out in silence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from contracts.model import Additional, Compression, Csv, Duplicates, Format, Mode, OnReject, Policy, Storage
from contracts.words import did_you_mean, listed, shown

if TYPE_CHECKING:
    from decimal import Decimal
    from enum import Enum

    from contracts.formats.notes import Notes
    from contracts.nodes import Place

ENCODINGS = {
    "utf-8": "utf-8",
    "us-ascii": "us-ascii",
    "iso-8859-1": "iso-8859-1",
    "latin-1": "iso-8859-1",
    "windows-1252": "windows-1252",
}


class _WrongError(Exception):
    """The value is none this key takes; the text says which it takes."""


Parser = Callable[["Place"], Any]


def _one_of(enum: type[Enum], *hidden: Enum) -> Parser:
    def parse(place: Place) -> Enum:
        known = [str(each.value) for each in enum if each not in hidden]
        if place.text not in known:
            raise _WrongError(f"one of {listed(known)}")
        return enum(place.text)

    return parse


def _flag(place: Place) -> bool:
    if place.flag is None:
        raise _WrongError("`true` or `false`")
    return place.flag


def _share(place: Place) -> Decimal:
    if place.number is None or not 0 <= place.number <= 1:
        raise _WrongError("a number from 0 to 1")
    return place.number


def _count(place: Place) -> int:
    if place.number is None or place.number < 1 or place.number % 1:
        raise _WrongError("a whole number from 1")
    return int(place.number)


def _character(place: Place) -> str:
    if place.text is None or len(place.text) != 1 or place.text in "\r\n\0":
        raise _WrongError("one character, in quotes")
    return place.text


def _encoding(place: Place) -> str:
    known = ENCODINGS.get((place.text or "").lower().replace("_", "-"))
    if known is None:
        raise _WrongError(f"one of {listed(ENCODINGS)}")
    return known


def _texts(place: Place) -> tuple[str, ...]:
    items = tuple(each.text for each in place.items if each.text is not None)
    if not items or len(items) < len(place.items):
        raise _WrongError("a list of texts, each in quotes")
    return items


def _only(value: str) -> Parser:
    """The one value this version knows."""

    def parse(place: Place) -> None:
        if place.text != value:
            raise _WrongError(f"{shown(value)} (this version knows no other)")

    return parse


POLICY: dict[str, tuple[str, Parser]] = {
    "mode": ("mode", _one_of(Mode)),
    "onReject": ("on_reject", _one_of(OnReject)),
    "maxRejectedShare": ("max_rejected_share", _share),
    "additionalFields": ("additional_fields", _one_of(Additional)),
    "allowEmpty": ("allow_empty", _flag),
    "duplicates": ("duplicates", _one_of(Duplicates)),
    "samples": ("samples", _flag),
    "maxBytes": ("max_bytes", _count),
}
STORAGE: dict[str, tuple[str, Parser]] = {
    "format": ("format", _one_of(Format, Format.UNKNOWN)),
    "compression": ("compression", _one_of(Compression)),
}
OTHER: dict[str, tuple[str, Parser]] = {
    "critical": ("critical", _flag),
    "publishAs": ("", _only("original")),
    "delivery": ("", _only("object")),
    "workflow": ("", _only("push")),
    "mergeStrategy": ("", _only("append")),
}
CSV: dict[str, tuple[str, Parser]] = {
    "delimiter": ("delimiter", _character),
    "quote": ("quote", _character),
    "escape": ("", _only('"')),
    "header": ("header", _flag),
    "encoding": ("encoding", _encoding),
    "nullValues": ("null_values", _texts),
    "multiLine": ("multi_line", _flag),
}


class Extension:
    """The extension of a dataset: later places win over earlier ones (the dataset's over the contract's).

    `served`: the format that the document's servers name, which the extension's own word wins over.
    """

    def __init__(self, places: list[Place], notes: Notes, served: Format | None = None) -> None:
        said: dict[str, Any] = {}
        csv: dict[str, Any] = {}
        for place in places:
            said |= _read(place, POLICY | STORAGE | OTHER, notes, apart="csv")
            csv |= _read(place["csv"], CSV, notes)
        storage = {name: said.pop(name) for name in tuple(STORAGE) if name in said}
        self.critical = bool(said.pop("critical", True))
        """Whether a broken rule may refuse a delivery."""
        self.said = frozenset(said)
        """What the document says of the policy, by the names of `Policy`."""
        self.policy = Policy(**said)
        self.csv = Csv(**csv)
        is_csv = served is None or (served is Format.UNKNOWN and bool(csv))
        self.storage = Storage(**({"format": Format.CSV if is_csv else served} | storage))


def _read(place: Place, table: dict[str, tuple[str, Parser]], notes: Notes, apart: str = "") -> dict[str, Any]:
    said: dict[str, Any] = {}
    if place.node is not None and place.node.content is not None and not isinstance(place.node.content, Mapping):
        notes.error("extension-value", place, "Write a mapping of keys here.")
    for key, value in place.entries.items():
        if key in table:
            name, parse = table[key]
            try:
                said[name] = parse(value)
            except _WrongError as wrong:
                notes.error("extension-value", value, f"`{key}` takes {wrong}.")
        elif key != apart:
            known = [*table, apart] if apart else list(table)
            hint = did_you_mean(key, known) or f" Known are {listed(known)}."
            notes.error("extension-key", value, f"The key {shown(key)} is not known to the extension.{hint}")
    said.pop("", None)
    return said
