"""Predicates: their structure, and predicates on literals, which are evaluated as in the engines."""

from __future__ import annotations

import pytest

from lakegate.contract.logical_types import LogicalType
from lakegate.plan.predicates import (
    All,
    Length,
    Matches,
    MultipleOf,
    Not,
    OneOf,
    Predicate,
    Present,
    Typed,
    Within,
    fields_of,
    holds,
)


@pytest.mark.parametrize(
    ("predicate", "fields"),
    [
        (Present("a"), {"a"}),
        (Not(Present("a")), {"a"}),
        (All((Present("a"), Not(OneOf("b", ("x",))))), {"a", "b"}),
        (All(()), set()),
    ],
)
def test_a_predicate_knows_the_fields_it_reads(predicate: Predicate, fields: set[str]) -> None:
    """Fields are found through every nesting."""
    assert fields == fields_of(predicate)


def test_equal_conditions_are_one_value() -> None:
    """Predicates are values: an engine measures two equal ones once."""
    assert len({OneOf("a", ("x",)), OneOf("a", ("x",))}) == 1


TEXT, NUMBER, INTEGER, DATE, MOMENT = (
    LogicalType.STRING,
    LogicalType.NUMBER,
    LogicalType.INTEGER,
    LogicalType.DATE,
    LogicalType.TIMESTAMP,
)
CASES: list[tuple[Predicate, LogicalType, str, bool]] = [
    (Present("x"), TEXT, "", True),
    (Typed("x"), INTEGER, "1", True),
    (Typed("x"), INTEGER, "one", False),
    (Typed("x"), DATE, "2024-02-30", False),
    (Length("x", 1, 3), TEXT, "abc", True),
    (Length("x", 1, 3), TEXT, "abcd", False),
    (Length("x", 1, None), TEXT, "", False),
    (Matches("x", r"^a\z"), TEXT, "a", True),
    (Matches("x", r"^a\z"), TEXT, "a\n", False),
    (Matches("x", r"^a\z"), TEXT, "b" * 500, True),
    (OneOf("x", ("1.0",)), NUMBER, "1", True),
    (OneOf("x", ("a",)), TEXT, "b", False),
    (OneOf("x", ("1",)), NUMBER, "none", True),
    (MultipleOf("x", "0.1"), NUMBER, "0.3", True),
    (MultipleOf("x", "0.1"), NUMBER, "0.35", False),
    (Within("x", "1", "5"), NUMBER, "5.0", True),
    (Within("x", "0.10000000000000000001", None), NUMBER, "0.1", True),
    (Within("x", "1", "5", high_open=True), NUMBER, "5.0", False),
    (Within("x", "1", None, low_open=True), NUMBER, "1", False),
    (Within("x", "1", None), NUMBER, "0.9", False),
    (Within("x", None, "2024-01-01"), DATE, "2023-12-31", True),
    (Within("x", None, "2024-01-01T00:00:00Z"), MOMENT, "2024-01-01T01:00:00+01:00", True),
    (Within("x", None, "2024-01-01T00:00:00Z"), MOMENT, "2024-01-01T00:00:01", False),
    (Not(OneOf("x", ("a",))), TEXT, "a", False),
    (All((Length("x", 1, None), Matches("x", "a"))), TEXT, "a", True),
    (All((Length("x", 1, None), Matches("x", "a"))), TEXT, "b", False),
]


@pytest.mark.parametrize(("predicate", "logical", "written", "expected"), CASES)
def test_a_value_is_judged(predicate: Predicate, logical: LogicalType, written: str, expected: bool) -> None:  # noqa: FBT001 -- a row
    """Numbers are compared by value, timestamps by time, texts as written; values of another type pass."""
    assert expected is holds(predicate, logical, written)


def test_a_type_predicate_is_not_compared() -> None:
    """A value of its type has its type."""
    assert holds(Typed("x"), MOMENT, "2024-01-01 12:00")
