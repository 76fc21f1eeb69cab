"""Numbers that show values of classified fields: an answer of SQL, a mean, a percentile or an age may be the value of one person.

Of such a number, an attempt's result and all that is made of it have only whether the bounds hold (P15), where a check reads a
field with another classification than `public`. Counts of rows are no such numbers.
"""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING

from lakegate.contracts.plan.metrics import Number
from lakegate.contracts.plan.numbers import number_of, tier_holds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.contracts.plan.check import Check
    from lakegate.contracts.plan.plan import Plan
    from lakegate.contracts.plan.result import Measured, Measurement

OF_VALUES = frozenset({Number.ANSWER, Number.FLOATING, Number.SECONDS})
"""Numbers that are computed from values, and do not count rows."""
COUNT = re.compile(r"SELECT count\((?:1|(?:DISTINCT )?q[0-9]+\.c[0-9]+)\) AS k0 FROM [^()]*(?: WHERE .*)?", re.DOTALL)
"""A query of a plan that counts rows, or the values of a column."""


def shows_values(plan: Plan, check: Check) -> bool:
    """Whether the number of a check may show a value of a field with a classification other than `public`."""
    if check.metric.spec.number not in OF_VALUES or (check.query is not None and COUNT.fullmatch(check.query.text)):
        return False
    return reads_classified(plan, check)


def reads_classified(plan: Plan, check: Check) -> bool:
    """Whether a check reads a field with a classification other than `public`, or one of another dataset."""
    relations = check.query.relations if check.query is not None else ()
    own = {column.field for each in relations if each.dataset == plan.dataset for column in each.columns}
    known = {each.name: each for each in plan.fields}
    read = [known[name] for name in check.reads | own if name in known]
    # of another dataset, the plan does not know what is classified
    return any(each.dataset != plan.dataset for each in relations) or any(
        each.classification is not None and not each.public for each in read
    )


def concealed(check: Check, found: Measurement) -> Measurement:
    """The measurement with a number that meets the same bounds, computed from the bounds alone."""
    if found.accept is None or number_of(check, found.accept) is None:
        return found
    holds = _holds(check, found.accept)
    number = next(each for each in _candidates(check) if _holds(check, _with(found.accept, each)) == holds)
    return replace(found, accept=_with(found.accept, number), tolerate=found.tolerate and _with(found.tolerate, number))


def _holds(check: Check, found: Measured) -> list[bool]:
    return [tier_holds(check, tier, found) for tier in (check.accept, check.tolerate) if tier is not None]


def _candidates(check: Check) -> Iterator[Decimal]:
    """Numbers at, between and beyond the bounds: one of them meets the same bounds as any number."""
    tiers = [each.interval for each in (check.accept, check.tolerate) if each is not None]
    bounds = sorted({each for one in tiers for each in (one.low, one.high) if each is not None} or {Decimal(0)})
    yield from bounds
    yield from ((low + high) / 2 for low, high in pairwise(bounds))
    yield bounds[0] - abs(bounds[0]) - 1
    yield bounds[-1] + abs(bounds[-1]) + 1


def _with(found: Measured, number: Decimal) -> Measured:
    return replace(found, number=float(number)) if found.exact is None else replace(found, exact=number.normalize())
