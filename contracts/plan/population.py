"""The population of a check: the records (or elements) that it is measured over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakegate.contracts.plan.metrics import Over
from lakegate.contracts.plan.predicate import Not, Predicate, Present, fields_of, leaves, together

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.contracts.plan.check import Check, Tier
    from lakegate.contracts.plan.plan import Plan


@dataclass(frozen=True, slots=True)
class Population:
    """Records in which all of these fields have a value of their type, and for which the condition is true (not null)."""

    fields: tuple[str, ...] = ()
    condition: Predicate | None = None

    @property
    def excluded(self) -> Predicate | None:
        """The predicate that fails exactly for records whose condition is true; None without a condition."""
        return None if self.condition is None else Not(self.condition)


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of some fields in the records of a population."""

    fields: tuple[str, ...]
    population: Population
    predicate: Predicate | None = None
    """The predicate of the keys that are counted, if not all are (`Metric.MOST_COMMON`)."""


def population_of(check: Check) -> Population | None:
    """The population of a check; None for all records."""
    over = check.metric.spec.over
    if over is Over.TEXTS:
        return Population(condition=together(check.row_filter, *map(Present, check.fields)))
    fields = () if over is Over.ROWS or check.nulls_alike else check.fields
    return Population(fields, check.row_filter) if fields or check.row_filter is not None else None


def keys_of(check: Check, tier: Tier | None = None) -> Keys | None:
    """The keys that a check (or one of its tiers) compares; None if it compares none."""
    population = population_of(check)
    predicate = tier.predicate if tier else None
    return Keys(check.fields, population, predicate) if check.metric.is_key_based and population is not None else None


def tiers_of(check: Check) -> tuple[Tier, ...]:
    """The one or two tiers of a check."""
    return (check.accept, check.tolerate) if check.tolerate else (check.accept,)


def read_as(plan: Plan, kind: type[Predicate]) -> frozenset[str]:
    """Aliases of the fields that predicates of one kind read."""
    found = (each for predicate in predicates_of(plan.checks) for each in leaves(predicate) if isinstance(each, kind))
    return frozenset(plan.field(name).alias for each in found for name in fields_of(each))


def predicates_of(checks: tuple[Check, ...]) -> Iterator[Predicate]:
    """All predicates that are evaluated to measure these checks."""
    for check in checks:
        yield from (tier.predicate for tier in tiers_of(check) if tier.predicate)
        population = population_of(check)
        if population is not None and population.excluded is not None:
            yield population.excluded
