"""Reads the `lakegate` extension of a document: the policy for deliveries, the file format and the CSV dialect.

Each key is one row of a table. An unknown key or an unsupported value is an error: no setting is ignored silently.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lakegate.contracts.model.contract import NOTICE_DAYS, ParentReference, Severity
from lakegate.contracts.model.policy import (
    MAX_BATCH_BYTES,
    MAX_BATCH_FILES,
    MAX_BATCH_SECONDS,
    QUARANTINE_DAYS,
    WORKFLOW,
    Additional,
    DeliveryUnit,
    Duplicates,
    Mode,
    OnReject,
    Policy,
)
from lakegate.contracts.model.storage import ENCODINGS, Compression, Csv, Format, Storage
from lakegate.contracts.words import did_you_mean, listed, shown

if TYPE_CHECKING:
    from decimal import Decimal
    from enum import Enum

    from lakegate.contracts.documents.nodes import Place
    from lakegate.contracts.documents.notes import Notes
    from lakegate.contracts.model.contract import Rule

EXTENSION = "lakegate"
"""The key of the extension in documents."""
REQUIREMENTS = ("owner", "classified-personal-data")
"""What a contract may require of itself and of those that inherit from it (`lakegate.contracts.lint.inheritance`)."""


class _InvalidValueError(Exception):
    """The key does not accept the value; the message names the values it accepts."""


Parser = Callable[["Place"], Any]


def _one_of(enum: type[Enum], *hidden: Enum) -> Parser:
    def parse(place: Place) -> Enum:
        known = [str(each.value) for each in enum if each not in hidden]
        if place.text not in known:
            raise _InvalidValueError(f"one of {listed(known)}")
        return enum(place.text)

    return parse


def _flag(place: Place) -> bool:
    if place.flag is None:
        raise _InvalidValueError("`true` or `false`")
    return place.flag


def _share(place: Place) -> Decimal:
    if place.number is None or not 0 <= place.number <= 1:
        raise _InvalidValueError("a number from 0 to 1")
    return place.number


def _count(place: Place) -> int:
    if place.number is None or place.number < 1 or place.number % 1:
        raise _InvalidValueError("a whole number from 1")
    return int(place.number)


def _count_to(most: int, unit: str = "") -> Parser:
    def parse(place: Place) -> int:
        if place.number is None or not 1 <= place.number <= most or place.number % 1:
            raise _InvalidValueError(f"a whole number{unit} from 1 to {most:,}")
        return int(place.number)

    return parse


def _days(place: Place) -> int:
    if place.number not in QUARANTINE_DAYS:
        raise _InvalidValueError(f"one of {listed(map(str, QUARANTINE_DAYS))}, in days")
    return int(place.number)


def _character(place: Place) -> str:
    if place.text is None or len(place.text) != 1 or place.text in "\r\n\0":
        raise _InvalidValueError("one character, in quotes")
    return place.text


def _encoding(place: Place) -> str:
    known = ENCODINGS.get((place.text or "").lower().replace("_", "-"))
    if known is None:
        raise _InvalidValueError(f"one of {listed(ENCODINGS)}")
    return known


def _texts(place: Place) -> tuple[str, ...]:
    items = tuple(each.text for each in place.items if each.text is not None)
    if not items or len(items) < len(place.items):
        raise _InvalidValueError("a list of texts, each in quotes")
    return items


def _parent(place: Place) -> ParentReference:
    contract, _, major = (place.text or "").rpartition("@")
    if not contract or not re.fullmatch(r"0|[1-9][0-9]{0,8}", major):
        raise _InvalidValueError("the id of a contract and a major number: `acme-policies@1`")
    return ParentReference(contract, int(major), place.origin)


def _workflow(place: Place) -> str:
    if not re.fullmatch(WORKFLOW, place.text or ""):
        raise _InvalidValueError("`push`, or the name and the major number of a published workflow: `strict@1`")
    return str(place.text)


def _requirements(place: Place) -> tuple[str, ...]:
    names = _texts(place)
    if not set(names) <= set(REQUIREMENTS):
        raise _InvalidValueError(f"a list of {listed(REQUIREMENTS)}")
    return names


def _only(value: str) -> Parser:
    """Accepts only one value."""

    def parse(place: Place) -> None:
        if place.text != value:
            raise _InvalidValueError(f"{shown(value)} (this version supports no other)")

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
    "delivery": ("delivery", _one_of(DeliveryUnit)),
    "quietMinutes": ("quiet_minutes", _count_to(24 * 60, " of minutes")),
    "partsWithinMinutes": ("parts_within_minutes", _count_to(7 * 24 * 60, " of minutes")),
    "batchFiles": ("batch_files", _count_to(MAX_BATCH_FILES)),
    "batchBytes": ("batch_bytes", _count_to(MAX_BATCH_BYTES)),
    "batchSeconds": ("batch_seconds", _count_to(MAX_BATCH_SECONDS)),
    "quarantineDays": ("quarantine_days", _days),
    "notifyProducers": ("notify_producers", _flag),
    "workflow": ("workflow", _workflow),
}
STORAGE: dict[str, tuple[str, Parser]] = {
    "format": ("format", _one_of(Format, Format.UNKNOWN)),
    "compression": ("compression", _one_of(Compression)),
}
OTHER: dict[str, tuple[str, Parser]] = {
    "critical": ("critical", _flag),
    "noticePeriod": ("notice_days", _count),
    "publishAs": ("", _only("original")),
    "mergeStrategy": ("", _only("append")),
}
OF_CONTRACTS: dict[str, tuple[str, Parser]] = {
    "inherits": ("inherits", _parent),
    "require": ("require", _requirements),
}
"""The keys of a whole contract."""
OF_DATASETS = ("schema", "models")
"""The keys of the root below which the extension belongs to one dataset."""
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
    """The extension of a dataset: later places override earlier ones (the dataset's override the contract's).

    `served` is the file format of the document's servers; the extension overrides it.
    """

    def __init__(self, places: list[Place], notes: Notes, served: Format | None = None) -> None:
        settings: dict[str, Any] = {}
        csv: dict[str, Any] = {}
        for place in places:
            settings |= _read(place, POLICY | STORAGE | OTHER, notes, other_keys=("csv", *_of_contracts(place)))
            csv |= _read(place["csv"], CSV, notes)
        self.declared = frozenset(settings) | frozenset(csv)
        """The settings that the document sets."""
        storage = {name: settings.pop(name) for name in tuple(STORAGE) if name in settings}
        self.critical = bool(settings.pop("critical", True))
        """Whether a broken rule may reject a delivery."""
        self.notice_days = settings.pop("notice_days", NOTICE_DAYS)
        """How long subscribers have before a new major version takes effect."""
        self.policy = Policy(**settings)
        self.csv = Csv(**csv)
        is_csv = served is None or (served is Format.UNKNOWN and bool(csv))
        self.storage = Storage(**({"format": Format.CSV if is_csv else served} | storage))

    def graded(self, rules: Iterable[Rule]) -> tuple[Rule, ...]:
        """The rules of the dataset; all are warnings if the dataset is not critical."""
        return tuple(rules if self.critical else (replace(rule, severity=Severity.WARN) for rule in rules))


def inheritance(places: Iterable[Place], notes: Notes) -> dict[str, Any]:
    """The fields `inherits` and `require` of `Contract`, from the extension of the whole contract."""
    found: dict[str, Any] = {}
    for place in places:
        found |= _read(place, OF_CONTRACTS, notes, other_keys=(*POLICY, *STORAGE, *OTHER, "csv"))
    return found


def _of_contracts(place: Place) -> Iterable[str]:
    return () if place.steps[0] in OF_DATASETS else OF_CONTRACTS


def _read(
    place: Place, table: dict[str, tuple[str, Parser]], notes: Notes, other_keys: Collection[str] = ()
) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    if place.node is not None and place.node.content is not None and not isinstance(place.node.content, Mapping):
        notes.error("extension-value", place, "Write a mapping of keys here.")
    for key, value in place.entries.items():
        if key in table:
            name, parse = table[key]
            try:
                settings[name] = parse(value)
            except _InvalidValueError as wrong:
                notes.error("extension-value", value, f"`{key}` takes {wrong}.")
        elif key not in other_keys:
            known = [*table, *other_keys]
            hint = did_you_mean(key, known) or f" Known are {listed(known)}."
            notes.error("extension-key", value, f"The key {shown(key)} is unknown in the extension.{hint}")
    settings.pop("", None)
    return settings
