"""Thresholds and conditions are ordered by what they accept; a checker of single numbers and rows agrees."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakegate.diff.rule_strictness import Order, moment, of_intervals, of_predicates
from lakegate.plan.check import Interval
from lakegate.plan.predicates import (
    All,
    Compare,
    Length,
    Matches,
    MultipleOf,
    NoRepeats,
    Not,
    OneOf,
    Predicate,
    Present,
    Relation,
    Size,
    Within,
)
from tests.unit.diff.builder import compared, document

BOUNDS = st.sampled_from([Decimal(each) for each in ("0", "1", "1.5", "2", "3")])
INTERVALS = st.builds(
    Interval, st.none() | BOUNDS, st.none() | BOUNDS, low_open=st.booleans(), high_open=st.booleans()
) | st.tuples(BOUNDS, BOUNDS).map(lambda pair: Interval(min(pair), max(pair), outside=True))
NUMBERS = [Fraction(each, 4) for each in range(-4, 20)]
A_B = OneOf("f", ("a", "b"))
A = OneOf("f", ("a",))


def by_numbers(old: Interval, new: Interval, numbers: list[Fraction]) -> Order:
    """The order, by trying numbers one by one."""
    before, after = ({each for each in numbers if side.holds(each)} for side in (old, new))
    if before == after:
        return Order.SAME
    return Order.STRICTER if after < before else Order.LOOSER if before < after else Order.OTHER


def test_a_gap_without_a_whole_number_is_no_gap() -> None:
    """Each number of rows is below 1.2 or above 1.8; other numbers are between."""
    split = Interval(Decimal("1.2"), Decimal("1.8"), outside=True)

    assert of_intervals(Interval(), split, whole=True, least=Decimal(0)) is Order.SAME
    assert of_intervals(Interval(), split) is Order.STRICTER


@settings(max_examples=300)
@given(INTERVALS, INTERVALS)
def test_good_numbers_are_ordered_as_sets(old: Interval, new: Interval) -> None:
    """Of all numbers, of those from 0, and of whole numbers from 0."""
    assert of_intervals(old, new) is by_numbers(old, new, NUMBERS)
    assert of_intervals(old, new, least=Decimal(0)) is by_numbers(old, new, [each for each in NUMBERS if each >= 0])
    counts = [Fraction(each) for each in range(9)]
    assert of_intervals(old, new, whole=True, least=Decimal(0)) is by_numbers(old, new, counts)


@pytest.mark.parametrize(
    ("old", "new", "order"),
    [
        (A_B, OneOf("f", ("b", "a")), Order.SAME),
        (A_B, A, Order.STRICTER),
        (A_B, OneOf("g", ("a",)), Order.OTHER),
        (Not(A_B), Not(A), Order.LOOSER),
        (Within("f", low="1"), Within("f", low="2", high="9"), Order.STRICTER),
        (Within("f", low="1"), Within("f", low="1.0"), Order.SAME),
        (Within("f", low="1"), Within("f", low="1", low_open=True), Order.STRICTER),
        (Within("f", low="1"), Within("f", high="9"), Order.OTHER),
        (Within("f", low="1"), Within("g", low="1"), Order.OTHER),
        (Within("f", high="2026-01-02"), Within("f", high="2026-01-01"), Order.STRICTER),
        (Within("f", high="2026-01-02"), Within("f", high="7"), Order.OTHER),
        (Length("f", low=1), Length("f", low=1, high=5), Order.STRICTER),
        (Length("f", high=5), Length("f"), Order.LOOSER),
        (Length("f", low=1), Length("g", low=1), Order.OTHER),
        (Size("f", low=1), Size("f", low=2), Order.STRICTER),
        (Size("f", high=5), Length("f", high=5), Order.OTHER),
        (NoRepeats("f"), NoRepeats("f"), Order.SAME),
        (MultipleOf("f", "0.5"), MultipleOf("f", "1.5"), Order.STRICTER),
        (MultipleOf("f", "2"), MultipleOf("f", "3"), Order.OTHER),
        (MultipleOf("f", "2"), MultipleOf("g", "2"), Order.OTHER),
        (Matches("f", "a"), Matches("f", "a"), Order.SAME),
        (Present("f"), Compare("f", Relation.EQUAL, "g"), Order.OTHER),
        (All((A, Present("f"))), Present("f"), Order.LOOSER),
        (All((A, All((Present("f"),)))), All((Present("f"), A)), Order.SAME),
    ],
)
def test_conditions_are_ordered_by_implication(old: Predicate, new: Predicate, order: Order) -> None:
    """A condition is stricter if it implies the other one; what cannot be decided is another condition."""
    assert of_predicates(old, new) is order


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00"),
        ("2026-01-01T00:00", "2026-01-01 00:00:00Z"),
        ("10", "10.000"),
    ],
)
def test_bounds_are_compared_by_their_meaning(first: str, second: str) -> None:
    """A moment without an offset is in UTC, and zeros at the end of a number do not count."""
    assert moment(first) == moment(second)


def _most_common(identifier: str, values: list[str], *, ties: bool) -> dict[str, object]:
    call = "expect_column_most_common_value_to_be_in_set"
    implementation = {"expectation_type": call, "kwargs": {"value_set": values, "ties_okay": ties}}
    return {
        "id": identifier,
        "type": "custom",
        "engine": "greatExpectations",
        "implementation": json.dumps(implementation),
    }


def test_checks_of_one_measure_are_compared_although_only_one_counts_rows() -> None:
    """A rule of two checks has one with a condition and one without; whichever are paired, the versions differ."""
    rules = [
        [_most_common("x", ["a"], ties=True)],
        [_most_common("x", ["a"], ties=False)],
        [_most_common("y", ["b"], ties=False)],
        [_most_common("x", ["b"], ties=True)],
        [_most_common("x", ["a"], ties=False), _most_common("z", ["c"], ties=True)],
    ]
    field = {"name": "a", "logicalType": "string"}
    documents = [document({"properties": [{**field, "quality": each}]}) for each in rules]
    same = [(old, new) for old, new in product(documents, repeat=2) if not compared(old, new).changes]

    assert same == [(each, each) for each in documents]
