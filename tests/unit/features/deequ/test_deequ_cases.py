"""The cases of rules that are constraints of Deequ."""

from __future__ import annotations

import pytest

from lakegate.features.deequ.deequ_constraints import CONSTRAINTS
from tests.unit.rules.test_cases import GOOD


@pytest.mark.parametrize("call", sorted(CONSTRAINTS))
def test_every_constraint_is_shown_an_empty_dataset_and_nothing_but_nulls(call: str) -> None:
    """Whatever a constraint is about, both are measured as its cases say."""
    of_call = [each for each in GOOD if call == each.contract.datasets[0].rules[0].arguments.get("call")]

    assert any(not case.rows for case in of_call)
    assert any(case.rows and all(value is None for row in case.rows for value in row) for case in of_call)
