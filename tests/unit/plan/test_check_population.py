"""The records that a check is about, and the predicates that it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lakegate.plan.check import Interval, Keys, Population, Tier, keys_of, population_of, predicates_of, tiers_of
from lakegate.plan.metrics import Metric
from lakegate.plan.predicates import Not, Present
from tests.unit.verdict.test_verdict import check

if TYPE_CHECKING:
    from lakegate.plan.check import Check

FILTER = Present("kind")
DUPLICATES = check(metric=Metric.DUPLICATE_ROWS)
TWO_TIERS = check(accept=Tier(Interval(), Present("a")), tolerate=Tier(Interval(), Present("b")))


@pytest.mark.parametrize(
    ("of", "population"),
    [
        (check(), None),
        (check(row_filter=FILTER), Population((), FILTER)),
        (check(metric=Metric.MEAN_LENGTH), Population(condition=Present("n"))),
        (DUPLICATES, Population(("n",))),
        (check(metric=Metric.DUPLICATE_ROWS, row_filter=FILTER), Population(("n",), FILTER)),
        (check(metric=Metric.DUPLICATE_ROWS, nulls_alike=True), None),
    ],
)
def test_a_check_is_about_all_records_or_some(of: Check, population: Population | None) -> None:
    """Keys need values in all their fields; a filter excludes the records for which it is not true."""
    assert population_of(of) == population


def test_records_outside_a_filter_are_excluded() -> None:
    """The predicate of a filter fails for the records that are counted; without a filter there is none."""
    assert Population((), FILTER).excluded == Not(FILTER)
    assert Population(("n",)).excluded is None


def test_keys_are_those_of_a_check_that_compares_keys() -> None:
    """Other checks have none; a tier adds the predicate of the keys that it counts."""
    assert keys_of(check(row_filter=FILTER)) is None
    assert keys_of(DUPLICATES) == Keys(("n",), Population(("n",)))
    assert keys_of(DUPLICATES, Tier(Interval(), FILTER)) == Keys(("n",), Population(("n",)), FILTER)


def test_all_predicates_of_checks_are_evaluated() -> None:
    """Those of both tiers, and that of a filter."""
    assert tiers_of(TWO_TIERS) == (TWO_TIERS.accept, TWO_TIERS.tolerate)
    assert list(predicates_of((TWO_TIERS, check(row_filter=FILTER), DUPLICATES))) == [
        Present("a"),
        Present("b"),
        Present("n"),
        Not(FILTER),
        Present("n"),
    ]
