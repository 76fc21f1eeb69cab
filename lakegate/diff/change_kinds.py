"""Kinds of change: who is affected; major, minor or patch."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import asdict, dataclass, is_dataclass
from decimal import Decimal
from enum import Enum
from functools import total_ordering
from typing import Annotated, Final, Literal, TypeVar

from lakegate.base.json_codec import Permitted, encode
from lakegate.contract.semantic_versions import precedence

# ---- The table of kinds of change ----
# A kind that ADR-0029 names has the bump of ADR-0029. All others follow one rule: a change that may surprise a consumer is
# MAJOR, one that may only reject data of producers that was accepted before is MINOR, any other is PATCH (decision 65).


@total_ordering
class Bump(Enum):
    """The part of a semantic version that increases."""

    NONE = "none"
    PATCH = "patch"
    MINOR = "minor"
    MAJOR = "major"

    @property
    def rank(self) -> int:
        """Its place in the order."""
        return list(Bump).index(self)

    def __lt__(self, other: Bump) -> bool:
        """Whether the other bump is larger."""
        return self.rank < other.rank


@dataclass(frozen=True, slots=True)
class ChangeKind:
    """The effect of a kind of change."""

    because: str
    """The reason of the effect, as a sentence."""
    inverse: str
    """The kind of the opposite change, from the new version to the old one."""
    consumer: bool = False
    """Whether accepted data, or its readers, may no longer fit: a consumer may be affected."""
    producer: bool = False
    """Whether data that was accepted before may be rejected: a producer may be affected."""
    adr: Bump | None = None
    """The bump that ADR-0029 states."""

    @property
    def bump(self) -> Bump:
        """The bump of ADR-0029, else by who is affected."""
        if self.adr is not None:
            return self.adr
        return Bump.MAJOR if self.consumer else Bump.MINOR if self.producer else Bump.PATCH


MAY_REJECT = "It may reject data that was accepted before"
NO_DATA = "No delivery is judged otherwise"
SHOWN = f"{NO_DATA}; only values of public fields are shown in samples."


def _breaking(because: str, inverse: str, adr: Bump | None = None) -> ChangeKind:
    return ChangeKind(because, inverse, consumer=True, producer=True, adr=adr)


def _for_consumers(because: str, inverse: str, adr: Bump | None = None) -> ChangeKind:
    return ChangeKind(because, inverse, consumer=True, adr=adr)


def _for_producers(because: str, inverse: str, adr: Bump | None = None) -> ChangeKind:
    return ChangeKind(f"{MAY_REJECT}: {because}", inverse, producer=True, adr=adr)


def _for_nobody(because: str, inverse: str, adr: Bump | None = None) -> ChangeKind:
    return ChangeKind(because, inverse, adr=adr)


KINDS: dict[str, ChangeKind] = {
    "contract-id": _breaking("Routes, folders and consumers use the id of the contract.", "contract-id"),
    "dataset-added": _for_nobody("Nobody reads or delivers the new dataset yet.", "dataset-removed", Bump.MINOR),
    "dataset-removed": _breaking(
        "Its consumers lose the dataset, and its deliveries have no contract.", "dataset-added"
    ),
    "dataset-renamed": _breaking("Consumers and routes use the name of the dataset.", "dataset-renamed"),
    "optional-field-added": _for_nobody(
        "Consumers may ignore the field, and a delivery without it is accepted.", "optional-field-removed", Bump.MINOR
    ),
    "required-field-added": _for_producers(
        "a delivery without the field is rejected.", "required-field-removed", Bump.MAJOR
    ),
    "optional-field-removed": _for_consumers(
        "Consumers that read the field lose it.", "optional-field-added", Bump.MAJOR
    ),
    "required-field-removed": _for_consumers(
        "Consumers that read the field lose it.", "required-field-added", Bump.MAJOR
    ),
    "field-renamed": _breaking(
        "Consumers that read the field lose it, and deliveries have it under its old name.", "field-renamed", Bump.MAJOR
    ),
    "field-moved": _breaking(
        "Consumers that read the field lose it, and deliveries have it at its old place.", "field-moved", Bump.MAJOR
    ),
    "field-order": _for_nobody("Fields are found by their names.", "field-order"),
    "field-position": _breaking(
        "The file has no header, so that the position of a column decides its field.", "field-position"
    ),
    "type-changed": _breaking("The values are of another type.", "type-changed", Bump.MAJOR),
    "type-spelling": _for_nobody("The values are of the same type.", "type-spelling"),
    "physical-type": _for_producers("the stored type is another one.", "physical-type"),
    "physical-name": _for_nobody(f"{NO_DATA}: queries may use the name.", "physical-name"),
    "field-required": _for_producers("a row without a value is rejected.", "field-optional", Bump.MAJOR),
    "field-optional": _for_consumers("Consumers may find rows without a value.", "field-required", Bump.MINOR),
    "description": _for_nobody(f"{NO_DATA}.", "description", Bump.PATCH),
    "classification-raised": _for_nobody(SHOWN, "classification-lowered", Bump.PATCH),
    "classification-lowered": _for_nobody(SHOWN, "classification-raised", Bump.PATCH),
    "classification-changed": _for_nobody(
        f"{SHOWN} It cannot be decided which is higher.", "classification-changed", Bump.PATCH
    ),
    "personal-marked": _for_nobody("The values are masked in samples from now on.", "personal-unmarked", Bump.PATCH),
    "personal-unmarked": _for_nobody(
        "Warning: nothing marks the values as personal data any more, so that samples may show them.",
        "personal-marked",
        Bump.PATCH,
    ),
    "examples": _for_nobody(f"{NO_DATA}.", "examples"),
    "rule-added": _for_producers("there is another rule.", "rule-removed"),
    "rule-removed": _for_consumers("Accepted data may break the rule from now on.", "rule-added"),
    "rule-stricter": _for_producers("the rule accepts less.", "rule-looser"),
    "rule-looser": _for_consumers("The rule accepts more than before.", "rule-stricter"),
    "rule-changed": _breaking("The rule accepts other data than before.", "rule-changed"),
    "severity-raised": _for_producers("a warning becomes a rejection.", "severity-lowered"),
    "severity-lowered": _for_consumers("A rejection becomes a warning.", "severity-raised"),
    "warning-added": _for_nobody("A warning rejects nothing.", "warning-removed"),
    "warning-removed": _for_nobody("A warning rejects nothing.", "warning-added"),
    "warning-stricter": _for_nobody("A warning rejects nothing.", "warning-looser"),
    "warning-looser": _for_nobody("A warning rejects nothing.", "warning-stricter"),
    "warning-changed": _for_nobody("A warning rejects nothing.", "warning-changed"),
    "rule-repeated": _for_nobody("Another rule requires the same, or more.", "rule-not-repeated"),
    "rule-not-repeated": _for_nobody("Another rule requires the same, or more.", "rule-repeated"),
    "rule-id": _for_nobody("The rule measures the same under another id.", "rule-id"),
    "rule-described": _for_nobody("The rule measures the same.", "rule-described"),
    "note-added": _for_nobody("A rule in words is not measured.", "note-removed"),
    "note-removed": _for_nobody("A rule in words is not measured.", "note-added"),
    "key-added": _for_producers("rows that share the key are rejected.", "key-removed"),
    "key-removed": _for_consumers("Rows may share the key from now on.", "key-added"),
    "key-changed": _breaking("Rows are identified by other fields.", "key-changed"),
    "relationship-added": _for_producers("a value without its counterpart is rejected.", "relationship-removed"),
    "relationship-removed": _for_consumers("A value may have no counterpart from now on.", "relationship-added"),
    "relationship-changed": _breaking("The values refer to other data.", "relationship-changed"),
    "service-level-added": _for_producers("there is another service level.", "service-level-removed"),
    "service-level-removed": _for_consumers("Consumers lose the service level.", "service-level-added"),
    "service-level-stricter": _for_producers("the service level is stricter.", "service-level-relaxed", Bump.MINOR),
    "service-level-relaxed": _for_consumers("The service level is relaxed.", "service-level-stricter", Bump.MAJOR),
    "service-level-changed": _breaking("It cannot be decided which value is stricter.", "service-level-changed"),
    "policy-stricter": _for_producers("the policy for deliveries is stricter.", "policy-looser"),
    "policy-looser": _for_consumers("The policy for deliveries accepts more than before.", "policy-stricter"),
    "policy-changed": _for_nobody(f"{NO_DATA}.", "policy-changed"),
    "limit-lowered": _for_producers("larger files are refused.", "limit-raised"),
    "limit-raised": _for_nobody("Every file that was accepted before is accepted.", "limit-lowered"),
    "quarantine-shortened": _for_nobody(
        f"{NO_DATA}: rejected deliveries are deleted earlier, and cannot be replayed afterwards.",
        "quarantine-lengthened",
    ),
    "quarantine-lengthened": _for_nobody(f"{NO_DATA}: rejected deliveries are kept longer.", "quarantine-shortened"),
    "notice-shortened": _for_consumers("Consumers have less time before a breaking version.", "notice-lengthened"),
    "notice-lengthened": _for_nobody("Consumers have more time before a breaking version.", "notice-shortened"),
    "snapshot-time": _for_producers("the time of a snapshot is at another place.", "snapshot-time"),
    "table-added": _for_nobody(
        "Consumers of files read what they read before; a table of the rows is published, too.", "table-removed"
    ),
    "table-removed": _for_consumers("The table of the rows gets no further ones.", "table-added"),
    "replacement-added": _for_nobody(
        "What is delivered again takes the place of what was accepted before, as a recall may at any time.",
        "replacement-removed",
    ),
    "replacement-removed": _for_consumers("What is delivered again counts twice.", "replacement-added"),
    "replacement-changed": _for_consumers(
        "What is delivered again takes the place of other deliveries than before.", "replacement-changed"
    ),
    "period-added": _for_producers("a delivery that does not have one period is rejected.", "period-removed"),
    "period-removed": _for_nobody("A delivery may have any values of the column.", "period-added"),
    "period-changed": _breaking("A delivery has to have one value of another column.", "period-changed"),
    "derivation-added": _breaking("The rows are computed, and no longer delivered.", "derivation-removed"),
    "derivation-removed": _breaking("The rows are delivered, and no longer computed.", "derivation-added"),
    "query-changed": _for_consumers("All rows are computed by another query.", "query-changed", Bump.MINOR),
    "file-format": _breaking("Files are written and read in another way.", "file-format"),
    "status": _for_nobody(f"{NO_DATA} by the status that a document declares.", "status"),
    "deprecation": _for_nobody(f"{NO_DATA}.", "deprecation"),
    "owner": _for_nobody(f"{NO_DATA}.", "owner"),
    "server": _for_nobody(f"{NO_DATA}: servers describe where data is stored.", "server"),
    "metadata": _for_nobody(f"{NO_DATA}.", "metadata"),
}
"""Each kind of change with its effect."""


# ---- Changes between two versions ----


FORMAT: Final = "lakegate/diff/1"


class Affected(Enum):
    """Parties that may be affected by a change."""

    CONSUMER = "consumer"
    PRODUCER = "producer"
    BOTH = "consumer and producer"
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class Change:
    """One difference between two versions of a contract."""

    path: str
    """`orders`, `orders.country`, `orders.lines[].sku#minimum`, `serviceLevels.freshness`: of the new version, if it has it."""
    kind: str
    """A key of `KINDS`."""
    before: str | None
    """The old value in words; None if there is none."""
    after: str | None

    @property
    def effect(self) -> ChangeKind:
        """The parties affected by changes of this kind, and the version they need."""
        return KINDS[self.kind]

    @property
    def bump(self) -> Bump:
        """The part of the version number that the change increases."""
        return self.effect.bump

    @property
    def affected(self) -> Affected:
        """The parties that may be affected."""
        effect = self.effect
        if effect.consumer:
            return Affected.BOTH if effect.producer else Affected.CONSUMER
        return Affected.PRODUCER if effect.producer else Affected.NOBODY

    @property
    def document(self) -> ChangeDocument:
        """The change with its effect."""
        effect = self.effect
        own = (self.path, self.kind, self.before, self.after)
        return ChangeDocument(*own, effect.consumer, effect.producer, self.bump, effect.because)


@dataclass(frozen=True, slots=True)
class ChangeDocument:
    """One difference between two versions of a contract."""

    path: str
    """E.g. `orders.country`, `orders.country#minimum`, `serviceLevels.freshness`."""
    kind: str
    """One of the kinds of docs/compatibility.md."""
    before: str | None
    """In words, or as JSON; null if there is none."""
    after: str | None
    """Likewise."""
    consumer: bool
    """Whether a consumer of the data may be affected."""
    producer: bool
    """Whether data of a producer that was accepted before may be rejected."""
    bump: Annotated[Bump, Permitted(("patch", "minor", "major"))]
    because: str
    """The reason of the effect, as a sentence."""


@dataclass(frozen=True, slots=True)
class DiffDocument:
    """The differences between two versions of a contract.

    `lakegate diff --json` writes it, and `lakegate publish --json` refuses a version with it (docs/compatibility.md).
    """

    format: Literal["lakegate/diff/1"]
    old: str
    """The semantic version of the old document."""
    new: str
    """The semantic version of the new document."""
    bump: Bump
    """The largest bump that a change needs."""
    declared: Bump | None
    """The bump from the old number to the new one; null if the new number is lower."""
    sufficient: str
    """The lowest release number that is high enough for the changes."""
    ok: bool
    """Whether the new number is high enough for the changes."""
    changes: tuple[ChangeDocument, ...]
    """The larger bump first."""


@dataclass(frozen=True, slots=True)
class VersionComparison:
    """The differences between two versions, the larger bump first."""

    old: str
    """Semantic version."""
    new: str
    changes: tuple[Change, ...]

    @property
    def bump(self) -> Bump:
        """The largest bump that a change needs."""
        return max((change.bump for change in self.changes), default=Bump.NONE)

    @property
    def declared(self) -> Bump | None:
        """The bump from the old number to the new one; None if the new number is lower."""
        return bump_between(self.old, self.new)

    @property
    def ok(self) -> bool:
        """Whether the new number is high enough for the changes."""
        bump = self.declared
        return bump is not None and bump >= self.bump

    @property
    def sufficient(self) -> str:
        """The lowest release number that is high enough for the changes."""
        return raise_version(self.old, self.bump)

    @property
    def responsible(self) -> tuple[Change, ...]:
        """The changes that the declared bump does not cover."""
        bump = self.declared or Bump.NONE
        return tuple(change for change in self.changes if change.bump > bump)

    def to_json(self) -> dict[str, object]:
        """The comparison as a document of the schema `diff.json`."""
        changes = tuple(change.document for change in self.changes)
        own = (self.bump, self.declared, self.sufficient, self.ok)
        document: dict[str, object] = encode(DiffDocument(FORMAT, self.old, self.new, *own, changes))
        return document


def bump_between(old: str, new: str) -> Bump | None:
    """The bump from one semantic version to another; None if the new one is lower.

    A pre-release counts as its release, because its release follows without another comparison.
    """
    before, after = precedence(old), precedence(new)
    if after < before:
        return None
    for part, (was, now) in zip(
        (Bump.MAJOR, Bump.MINOR, Bump.PATCH), zip(before[0], after[0], strict=True), strict=True
    ):
        if was != now:
            return part
    return Bump.NONE if before == after else Bump.PATCH


def raise_version(version: str, bump: Bump) -> str:
    """The next release number after a version: `1.2.3` raised by a minor bump is `1.3.0`."""
    major, minor, patch = precedence(version)[0]
    match bump:
        case Bump.MAJOR:
            return f"{major + 1}.0.0"
        case Bump.MINOR:
            return f"{major}.{minor + 1}.0"
        case Bump.PATCH:
            return f"{major}.{minor}.{patch + 1}"
        case _:
            return version


# ---- Pairs of elements ----


Element = TypeVar("Element")
Pairs = list[tuple[Element, Element]]


def pair_elements(
    old: Iterable[Element], new: Iterable[Element], *keys: Callable[[Element], Hashable | None]
) -> tuple[Pairs[Element], list[Element], list[Element]]:
    """The pairs, and the elements of each side without a counterpart.

    Each key in turn pairs what the keys before it left over; elements with an equal key are paired in order. An element whose key
    is None is left over.
    """
    pairs: Pairs[Element] = []
    before, after = list(old), list(new)
    for key in keys:
        groups: dict[Hashable, list[Element]] = defaultdict(list)
        for entry in before:
            groups[key(entry)].append(entry)
        groups.pop(None, None)
        used: set[int] = set()
        after_left: list[Element] = []
        for item in after:
            group = groups.get(key(item))
            if group:
                pairs.append((group[0], item))
                used.add(id(group.pop(0)))
            else:
                after_left.append(item)
        before, after = [member for member in before if id(member) not in used], after_left
    return pairs, before, after


# ---- Values as texts ----


def text_of(value: object) -> str | None:
    """A value as text: texts as they are, lists and mappings as JSON; None if there is none."""
    plain = _plain(value)
    return plain if plain is None or isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def _plain(value: object) -> object:
    """The value in the types of JSON."""
    match value:
        case Mapping():
            return {key: _plain(entry) for key, entry in value.items()}
        case list() | tuple():
            return [_plain(entry) for entry in value]
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case Enum():
            return value.value
        case _ if is_dataclass(value) and not isinstance(value, type):
            return {key: _plain(entry) for key, entry in asdict(value).items() if entry}
        case _:
            return value


def meaning(value: object) -> Hashable:
    """A value that is equal to another one of the same meaning: the order of keys and the spelling of numbers do not count."""
    match value:
        case Mapping():
            return frozenset((key, meaning(entry)) for key, entry in value.items())
        case list() | tuple():
            return tuple(meaning(entry) for entry in value)
        case bool() | None:
            return ("constant", value)
        case int() | Decimal():
            return Decimal(value)
        case _ if is_dataclass(value) and not isinstance(value, type):
            return meaning(asdict(value))
        case _:
            return str(value)
