"""Compares service levels: by name in any format, by seconds and shares, whatever unit they are written in."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from decimal import Decimal

from lakegate.contract.contract_model import Contract, Origin, Rule
from lakegate.contract.logical_types import number_of
from lakegate.contract.service_levels import (
    DAY_TEXT,
    KIND,
    LESS_IS_STRICTER,
    MORE_IS_STRICTER,
    SHARES,
    as_share,
    duration,
    level_name,
)
from lakegate.diff.change_kinds import Change, meaning, pair_elements, text_of

VALUES = ("property", "value", "unit")
"""The arguments that are not fields."""


@dataclass(frozen=True, slots=True)
class DeclaredLevel:
    """One service level of a contract."""

    name: str
    fields: tuple[str, ...]
    """With their datasets; empty for a level of all data."""
    rule: Rule

    @property
    def path(self) -> str:
        """Its path in changes."""
        return f"serviceLevels.{self.name}"

    @property
    def words(self) -> str | None:
        """Its value as the document writes it, with unit and fields."""
        value, unit = text_of(self.rule.arguments.get("value")), self.rule.arguments.get("unit")
        amount = f"{value} {unit}" if unit else value
        return f"{amount} ({', '.join(self.fields)})" if self.fields else amount

    @property
    def value(self) -> Hashable:
        """Its value: seconds, a share, a day as text, or what is written."""
        value, unit = self.rule.arguments.get("value"), self.rule.arguments.get("unit")
        seconds = duration(value, unit)
        if seconds is not None:
            return seconds
        share = as_share(value, unit) if self.name in SHARES else None
        number = number_of(value) if share is None and not unit else share
        if number is not None:
            return number
        return value if isinstance(value, str) and DAY_TEXT.fullmatch(value) and not unit else (meaning(value), unit)

    @property
    def origin(self) -> Origin:
        """Its place in the document."""
        return self.rule.origin


def service_levels(contract: Contract) -> list[DeclaredLevel]:
    """The service levels of a contract, each once although it is a rule of every dataset that it concerns."""
    levels: dict[str, DeclaredLevel] = {}
    for dataset in contract.datasets:
        for rule in dataset.rules:
            if rule.kind == KIND:
                fields = tuple(f"{dataset.name}.{field}" for field in rule.fields)
                known = levels.get(rule.origin.path)
                levels[rule.origin.path] = DeclaredLevel(
                    level_name(rule), (*(known.fields if known else ()), *fields), rule
                )
    return list(levels.values())


def pair_levels(
    old: Contract, new: Contract
) -> tuple[list[tuple[DeclaredLevel, DeclaredLevel]], list[DeclaredLevel], list[DeclaredLevel]]:
    """The service levels of two versions, by name and fields."""
    return pair_elements(
        service_levels(old),
        service_levels(new),
        lambda level: (level.name, level.fields, level.value),
        lambda level: (level.name, level.fields),
        lambda level: level.name,
    )


def compare_levels(
    pairs: list[tuple[DeclaredLevel, DeclaredLevel]], removed: list[DeclaredLevel], added: list[DeclaredLevel]
) -> Iterator[Change]:
    """The changes of service levels."""
    for old, new in pairs:
        kind = _kind(old, new)
        if kind is not None:
            yield Change(new.path, kind, old.words, new.words)
    yield from (Change(level.path, "service-level-removed", level.words, None) for level in removed)
    yield from (Change(level.path, "service-level-added", None, level.words) for level in added)


def _kind(old: DeclaredLevel, new: DeclaredLevel) -> str | None:
    """The kind of change; None if the meaning is the same."""
    if old.fields != new.fields:
        return "service-level-changed"
    if old.value == new.value:
        return None
    order = _comparable(old, new)
    if order is None:
        return "service-level-changed"
    return "service-level-stricter" if order else "service-level-relaxed"


def _comparable(old: DeclaredLevel, new: DeclaredLevel) -> bool | None:
    """Whether the new value is stricter; None if it cannot be decided."""
    before, after = old.value, new.value
    less = old.name in LESS_IS_STRICTER
    if not (less or old.name in MORE_IS_STRICTER):
        return None
    if isinstance(before, Decimal) and isinstance(after, Decimal):
        return (after < before) is less
    if isinstance(before, str) and isinstance(after, str):
        return (after < before) is less
    return None
