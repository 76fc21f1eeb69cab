"""Which rules of a contract another one has too, threshold by threshold: by what is measured, not by how it is written."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from lakegate.contracts.compare.order import Order, is_same_measure, rejection, warning
from lakegate.contracts.compare.requirements import requirements
from lakegate.contracts.convert.odcs_thresholds import thresholds
from lakegate.contracts.plan.check import NONE, Interval, Tier, Unit
from lakegate.contracts.plan.metrics import Metric

if TYPE_CHECKING:
    from lakegate.contracts.compare.requirement import Requirement
    from lakegate.contracts.model.contract import Contract
    from lakegate.contracts.plan.check import Check


@dataclass(frozen=True, slots=True)
class ComparedRules:
    """The rules of two contracts."""

    paths: frozenset[str]
    """The paths of all rules, as changes have them."""
    lost: dict[str, str]
    """The rules of the old contract that the new one does not have with every threshold, by path, in words."""
    added: dict[str, str]
    """The same of the new contract."""


def compared_rules(old: Contract, new: Contract) -> ComparedRules:
    """Which rules are in one of the contracts alone."""
    paths: set[str] = set()
    lost: dict[str, str] = {}
    added: dict[str, str] = {}
    for dataset in old.datasets:
        other = new.dataset(dataset.name)
        sides = requirements(old, dataset), requirements(new, other) if other else []
        paths |= {path for side in sides for each in side for path in (each.path, each.rule_path)}
        lost |= _only_in(*sides)
        added |= _only_in(*sides[::-1])
    return ComparedRules(frozenset(paths), lost, added)


def _only_in(own: list[Requirement], theirs: list[Requirement]) -> dict[str, str]:
    """The rules of which a threshold is not among the others."""
    checks: dict[tuple[str, ...], list[Check]] = defaultdict(list)
    for each in theirs:
        checks[tuple(sorted(each.check.fields))] += split(each.check)
    unmeasured = {each.content for each in theirs if each.check.skip is not None}
    found: dict[str, str] = {}
    for each in own:
        others = checks[tuple(sorted(each.check.fields))]
        is_there = all(any(is_same(one, other) for other in others) for one in split(each.check))
        if not (is_there if each.check.skip is None else each.content in unmeasured):
            found[each.rule_path] = each.words
    return found


def split(check: Check) -> list[Check]:
    """A check for each threshold, in the form that several ways of writing it have in common."""
    return [_common(replace(check, accept=tier, tolerate=None, worst=worst)) for tier, worst in thresholds(check)]


def _common(check: Check) -> Check:
    """All values distinct is no duplicate; a share below 0 is 0."""
    interval = check.accept.interval
    if check.unit is not Unit.SHARE or interval.low is None:
        return check
    if check.metric is Metric.DISTINCT_SHARE and interval == Interval(low=Decimal(1)):
        return replace(check, metric=Metric.DUPLICATE_ROWS, unit=Unit.ROWS, accept=Tier(NONE))
    return replace(check, accept=replace(check.accept, interval=replace(interval, low=max(interval.low, Decimal(0)))))


def is_same(one: Check, other: Check) -> bool:
    """Whether two checks of one threshold accept the same, and do the same with the rest."""
    return (
        is_same_measure(one, other)
        and one.worst is other.worst
        and rejection(one, other) is warning(one, other) is Order.SAME
    )
