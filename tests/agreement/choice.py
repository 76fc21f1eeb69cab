"""A few cases that contain together what many contain: for a run at each commit, where each case is a job of Spark.

The kinds of a case are the properties by which an engine takes another path: for a check its metric with the policy, the unit,
the filter and the types of its fields, its predicates, its rule; for the delivery its format, codec and objects, and the policy.
Both engines read files with the same code (`engine/read`), so that a metric or a type is not chosen again for each format:
`tests/engine` has these, and `make nightly` compares all cases.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

from lakegate.plan.check import Check
from lakegate.plan.plan import Plan
from lakegate.plan.predicates import All, Not, Predicate
from tests.agreement.cases import Case

OWN_JOBS = 5
"""What a case costs beside its measured checks, in checks."""


def kinds_of(case: Case) -> frozenset[Hashable]:
    """What a case contains."""
    plan, storage = case.plan, case.plan.storage
    found: set[Hashable] = {
        ("storage", storage.format, storage.compression),
        ("place", storage.records != "", plan.csv.skip_rows > 0),
        ("objects", storage.format, len(case.objects) > 1),
        ("policy", storage.format, plan.policy.on_reject),
        ("document", case.contract.format.split(" ")[0], plan.policy.on_reject),
        *(("field", each.type, each.shape) for each in plan.fields),
        ("former rows", bool(case.referred) and case.accepted is not None and case.is_upserted),
    }
    return frozenset(found.union(*(_kinds_of_check(plan, each) for each in plan.checks)))


def _kinds_of_check(plan: Plan, check: Check) -> Iterator[Hashable]:
    yield "rule", check.kind, check.skip is None
    if check.skip is not None:
        return
    yield "metric", check.metric, plan.policy.on_reject
    yield "number", check.metric, check.unit, check.tolerate is not None
    yield "rows", check.metric, check.row_filter is not None, check.of_elements
    yield from (("type", check.metric, each.type) for each in plan.fields if each.name in check.fields)
    tiers = (check.accept, check.tolerate) if check.tolerate else (check.accept,)
    for predicate in (each.predicate for each in tiers if each.predicate is not None):
        yield from (("predicate", kind) for kind in _kinds_of_predicate(predicate))


def _kinds_of_predicate(predicate: Predicate) -> Iterator[str]:
    yield predicate.kind
    match predicate:
        case Not(inner):
            yield from _kinds_of_predicate(inner)
        case All(inner):
            for each in inner:
                yield from _kinds_of_predicate(each)


def chosen(cases: Iterable[Case]) -> list[Case]:
    """Cases that contain together every kind of all of them: each time the one that adds the most for its jobs.

    A case all of whose kinds are in others that were chosen is left out afterwards, the one with the most jobs first.
    """
    drawn, kinds, jobs = {}, {}, {}
    for case in cases:
        drawn[case.seed], kinds[case.seed] = case, kinds_of(case)
        jobs[case.seed] = OWN_JOBS + sum(each.skip is None for each in case.plan.checks)
    left: frozenset[Hashable] = frozenset().union(*kinds.values())
    found: list[int] = []
    while left:
        found.append(max(kinds, key=lambda seed: len(kinds[seed] & left) / jobs[seed]))
        left -= kinds[found[-1]]
    for seed in sorted(found, key=lambda each: -jobs[each]):
        others = [each for each in found if each != seed]
        if kinds[seed] <= frozenset().union(*(kinds[each] for each in others)):
            found = others
    return [drawn[seed] for seed in sorted(found)]
