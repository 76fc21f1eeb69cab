"""The cases of rules that are checks of Soda."""

from __future__ import annotations

import re

import pytest

from lakegate.features.soda.soda_checks import METRICS
from tests.reference.cases import Case
from tests.unit.rules.test_cases import GOOD


def calls(call: str) -> list[Case]:
    """The cases of one call of Soda."""
    arguments = ((case, case.contract.datasets[0].rules[0].arguments) for case in GOOD)
    return [
        case
        for case, given in arguments
        if given.get("engine") == "soda" and re.fullmatch(rf"{call}\b.*", str(given.get("call")), re.DOTALL)
    ]


@pytest.mark.parametrize("check", [*sorted(METRICS), "schema"])
def test_every_check_of_soda_is_shown_an_empty_dataset_and_nothing_but_nulls(check: str) -> None:
    """The same holds for each check of Soda."""
    of_check = calls(check)

    assert any(not case.rows for case in of_check)
    assert any(case.rows and all(value is None for row in case.rows for value in row) for case in of_check)
