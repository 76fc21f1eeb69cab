from __future__ import annotations

import pytest

from lakegate.plan.predicates import All, Not, OneOf, Predicate, Present, fields_of


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
