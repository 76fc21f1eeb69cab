"""P9: SQL of a contract reads nothing but its data and runs nothing: no hostile query reaches a plan."""

from __future__ import annotations

from collections import Counter

import pytest

from lakegate.lints.lint_codes import CODES
from lakegate.rules.compile_plan import compile_rules
from tests.security.queries import Hostile, contract_of, hostile

CLASSES = 10
ENOUGH = 500
NAMED = {"query-unknown-table", "query-unknown-column", "query-unknown-function", "query-not-repeatable"}
"""What a query may read or call that nobody here knows: the rule is skipped, and nothing of it is run."""


@pytest.mark.parametrize("query", hostile(), ids=lambda each: f"{each.kind}: {each.dialect}: {each.sql[:70]}")
def test_a_hostile_query_reaches_no_plan(query: Hostile) -> None:
    """Its contract is refused, or its rule is only named for what it reads or calls; the linter explains the code."""
    contract = contract_of(query)
    compiled = compile_rules(contract, contract.datasets[0])
    problems = (*compiled.refused, *compiled.unmeasured)

    assert [each.path for each in problems] == ["$.query"]
    assert {each.code for each in compiled.refused} <= set(CODES)
    assert {each.code for each in compiled.unmeasured} <= NAMED
    assert [(check.query, check.skip is None) for check in compiled.checks] == [(None, False)]


def test_there_are_hostile_queries_enough() -> None:
    """At least five hundred, in ten classes, each with a dozen or more."""
    counted = Counter(each.kind for each in hostile())

    assert (len(counted), sum(counted.values()) >= ENOUGH) == (CLASSES, True)
    assert min(counted.values()) >= 12
