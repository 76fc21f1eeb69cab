"""Changes between two versions of a contract, and the semantic version that they need."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from lakegate.contracts.compare.kinds import KINDS, Bump
from lakegate.contracts.lake.versions import precedence

if TYPE_CHECKING:
    from lakegate.contracts.compare.kinds import ChangeKind

FORMAT = "lakegate/diff/1"


class Affected(Enum):
    """Who may be affected by a change."""

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
        """Who is affected by changes of this kind, and the version they need."""
        return KINDS[self.kind]

    @property
    def bump(self) -> Bump:
        """The part of the version number that the change increases."""
        return self.effect.bump

    @property
    def affected(self) -> Affected:
        """Who may be affected."""
        effect = self.effect
        if effect.consumer:
            return Affected.BOTH if effect.producer else Affected.CONSUMER
        return Affected.PRODUCER if effect.producer else Affected.NOBODY

    def to_json(self) -> dict[str, object]:
        """The change as `contracts/schemas/diff.json` describes it."""
        return {
            "path": self.path,
            "kind": self.kind,
            "before": self.before,
            "after": self.after,
            "consumer": self.effect.consumer,
            "producer": self.effect.producer,
            "bump": self.bump.value,
            "because": self.effect.because,
        }


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
        return max((each.bump for each in self.changes), default=Bump.NONE)

    @property
    def declared(self) -> Bump | None:
        """The bump from the old number to the new one; None if the new number is lower."""
        return declared(self.old, self.new)

    @property
    def ok(self) -> bool:
        """Whether the new number is high enough for the changes."""
        found = self.declared
        return found is not None and found >= self.bump

    @property
    def sufficient(self) -> str:
        """The lowest release number that is high enough for the changes."""
        return raised(self.old, self.bump)

    @property
    def responsible(self) -> tuple[Change, ...]:
        """The changes that the declared bump does not cover."""
        found = self.declared or Bump.NONE
        return tuple(each for each in self.changes if each.bump > found)

    def to_json(self) -> dict[str, object]:
        """The comparison as `contracts/schemas/diff.json` describes it."""
        return {
            "format": FORMAT,
            "old": self.old,
            "new": self.new,
            "bump": self.bump.value,
            "declared": None if self.declared is None else self.declared.value,
            "sufficient": self.sufficient,
            "ok": self.ok,
            "changes": [each.to_json() for each in self.changes],
        }


def declared(old: str, new: str) -> Bump | None:
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


def raised(version: str, bump: Bump) -> str:
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
