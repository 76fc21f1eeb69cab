"""P9: SQL of a contract reads nothing but its data and runs nothing: hostile queries are errors of the document."""

from __future__ import annotations

from collections import Counter

import pytest

from contracts.compile import compile_plan
from contracts.errors import ContractError
from contracts.linting.codes import CODES
from tests.security.queries import Hostile, contract_of, hostile

CLASSES = 10
ENOUGH = 500


@pytest.mark.parametrize("query", hostile(), ids=lambda each: f"{each.kind}: {each.dialect}: {each.sql[:70]}")
def test_a_hostile_query_is_an_error_of_its_contract(query: Hostile) -> None:
    """None of them is measured, and none is only named: the contract is refused, with a code that the linter explains."""
    contract = contract_of(query)
    with pytest.raises(ContractError) as refusal:
        compile_plan(contract, contract.datasets[0])

    assert [each.path for each in refusal.value.problems] == ["$.query"]
    assert {each.code for each in refusal.value.problems} <= set(CODES)


def test_there_are_hostile_queries_enough() -> None:
    """At least five hundred, in ten classes, each with a dozen or more."""
    counted = Counter(each.kind for each in hostile())

    assert (len(counted), sum(counted.values()) >= ENOUGH) == (CLASSES, True)
    assert min(counted.values()) >= 12
