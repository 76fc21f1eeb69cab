"""The population of a check: the records (or elements) that its number is taken over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from contracts.check import Metric
from contracts.predicate import Not, Predicate, Present, together

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contracts.check import Check, Tier

OVER_ROWS = {Metric.FAILING_ROWS, Metric.ROW_COUNT}
"""Metrics of rows, not of the values present."""


@dataclass(frozen=True, slots=True)
class Population:
    """Records in which all of these fields hold a value of their type, and for which the condition surely holds."""

    fields: tuple[str, ...] = ()
    condition: Predicate | None = None

    @property
    def excluded(self) -> Predicate | None:
        """The predicate that fails exactly where the condition surely holds; None without a condition."""
        return None if self.condition is None else Not(self.condition)


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of some fields in the records of a population."""

    fields: tuple[str, ...]
    population: Population
    predicate: Predicate | None = None
    """Which keys are counted, where some are told apart (`Metric.MOST_COMMON`)."""


def population_of(check: Check) -> Population | None:
    """What a check's number is taken over; None where that is every judged record."""
    if check.metric is Metric.MEAN_LENGTH:
        return Population(condition=together(check.given, *map(Present, check.fields)))
    fields = () if check.metric in OVER_ROWS or check.nulls_alike else check.fields
    return Population(fields, check.given) if fields or check.given is not None else None


def keys_of(check: Check, tier: Tier | None = None) -> Keys | None:
    """The keys that a check (or one tier of it) compares; None where it compares none."""
    population = population_of(check)
    predicate = tier.predicate if tier else None
    return Keys(check.fields, population, predicate) if check.metric.keyed and population is not None else None


def tiers_of(check: Check) -> tuple[Tier, ...]:
    """The one or two tiers of a check."""
    return (check.accept, check.tolerate) if check.tolerate else (check.accept,)


def predicates_of(checks: tuple[Check, ...]) -> Iterator[Predicate]:
    """Every predicate that measuring these checks evaluates."""
    for check in checks:
        yield from (tier.predicate for tier in tiers_of(check) if tier.predicate)
        population = population_of(check)
        if population is not None and population.excluded is not None:
            yield population.excluded
