"""P22: no rule of any kind is kept by data that is not there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

from lakegate.contract.delivery_policy import Policy
from lakegate.features.great_expectations.expectations import EXPECTATIONS
from lakegate.plan.metrics import Metric
from lakegate.plan.result import Columns, Result
from lakegate.rules.rule_kinds import RULES
from lakegate.verdict.check_status import Status
from lakegate.verdict.verdict import Verdict, judge
from tests.deliveries.delivery import Judged
from tests.deliveries.side_by_side import as_csv, compared, of_one_case, side_by_side
from tests.reference.cases import Case, cases_of_parts, good_cases, good_cases_by_kind
from tests.reference.evaluator import measure

NUMBERED = list(enumerate(good_cases()))
KINDS = good_cases_by_kind()
OF_PARTS = {f"{case.kind} of {case.contract.datasets[0].fields[0].declared}": case for case in cases_of_parts()}
"""A case of each kind of rule for each type of values with parts: CSV does not have them."""
ROWS = 3
BATCH = 60
"""Cases in one delivery."""
LET_IN = {Verdict.ACCEPTED, Verdict.ACCEPTED_WITH_WARNINGS}


def with_rows(case: Case, count: int) -> Case:
    """The case's rule over so many rows of nothing but nulls."""
    return replace(case, rows=((None,) * len(case.header),) * count)


@pytest.fixture(scope="module")
def of_one(judge_files: Callable[..., Judged]) -> Callable[[int, Case, int], Result]:
    """The measurements of one rule as if its plan had been alone, over so many rows of nulls."""

    @cache
    def answer(batch: int, count: int) -> Result:
        together = [(number, with_rows(case, count)) for number, case in NUMBERED[batch * BATCH : (batch + 1) * BATCH]]
        return judge_files(side_by_side(together), as_csv(together)).result

    return lambda number, case, count: of_one_case(number, case, answer(number // BATCH, count))


def test_every_kind_and_every_expectation_is_walked() -> None:
    """There is a rule of each kind, and a call of each expectation, among those that the tests below judge."""
    rules = [case.contract.datasets[0].rules[0] for case in (*good_cases(), *OF_PARTS.values())]

    assert set(RULES) <= {rule.kind for rule in rules}
    assert set(EXPECTATIONS) <= {rule.arguments.get("call") for rule in rules}


@pytest.mark.parametrize("kind", KINDS)
def test_no_rows_are_never_let_in(kind: str, of_one: Callable[[int, Case, int], Result]) -> None:
    """Over a file with a header alone every rule is answered, as by the reference evaluator, and the file is not accepted."""
    results = {case.id: of_one(number, case, 0) for number, case in KINDS[kind]}
    references = {case.id: measure(case.plan, case.header, ()) for _, case in KINDS[kind]}

    assert {each.rows for each in results.values()} == {0}
    assert compared(results) == compared(references)
    assert [case.id for _, case in KINDS[kind] if judge(case.plan, results[case.id]).verdict in LET_IN] == []


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_but_nulls_is_judged_as_nothing(kind: str, of_one: Callable[[int, Case, int], Result]) -> None:
    """Over nulls alone every rule is answered, as by the reference evaluator; no number comes of no values, no skip passes."""
    results = {case.id: of_one(number, case, ROWS) for number, case in KINDS[kind]}
    references = {case.id: measure(case.plan, case.header, with_rows(case, ROWS).rows) for _, case in KINDS[kind]}

    assert compared(results) == compared(references)
    for _, case in KINDS[kind]:
        judge_nothing(case, results[case.id])


@pytest.mark.parametrize("case", OF_PARTS.values(), ids=OF_PARTS)
def test_values_with_parts_that_are_not_there_keep_no_rule(case: Case, judge_files: Callable[..., Judged]) -> None:
    """Neither in a file without rows, nor in nulls alone, nor in rows without the field, which lack the column."""
    empty, nulls, absent = (judge_files(case.plan, line * ROWS) for line in (b"", b'{"a": null}\n', b"{}\n"))

    assert empty.verdict not in LET_IN
    assert compared({case.id: nulls.result}) == compared(
        {case.id: measure(case.plan, case.header, with_rows(case, ROWS).rows)}
    )
    judge_nothing(case, nulls.result)
    assert Status.PASS not in {absent.statuses()[check.id] for check in case.plan.checks}
    assert absent.verdict is not Verdict.ACCEPTED


def judge_nothing(case: Case, result: Result) -> None:
    judgement = judge(case.plan, result)
    statuses = {each.id: each.status for each in judgement.outcomes}
    for check in case.plan.checks:
        if check.skip is not None:
            assert statuses[check.id] is Status.SKIP, case.id
        if check.metric.floating and check.skip is None:
            assert statuses[check.id] not in {Status.PASS, Status.SKIP}, case.id
        if check.metric is Metric.FAILING_ROWS and check.skip is None and check.kind in {"required", "complete"}:
            assert result.measurements[0].accept, case.id
            assert result.measurements[0].accept.failing == ROWS, case.id
    if set(statuses.values()) == {Status.SKIP}:
        assert judgement.verdict is Verdict.UNDECIDED, case.id


@pytest.mark.parametrize("kind", KINDS)
def test_a_column_that_is_not_there_keeps_no_rule(kind: str, of_one: Callable[[int, Case, int], Result]) -> None:
    """A rule whose column the file lacks never passes, whatever its kind; the file is not accepted without a word."""
    for number, case in KINDS[kind]:
        named = {name for check in case.plan.checks for name in check.fields}
        columns = Columns(
            found=("other",), absent=tuple(name for name in case.header if name in named), extra=("other",)
        )
        judgement = judge(case.plan, replace(of_one(number, case, ROWS), columns=columns))

        for check, outcome in zip(case.plan.checks, judgement.outcomes[-len(case.plan.checks) :], strict=True):
            if check.fields:
                assert outcome.status is not Status.PASS, case.id
        if named:
            assert judgement.verdict is not Verdict.ACCEPTED, case.id


def test_an_engine_itself_knows_an_absent_column(judge_files: Callable[..., Judged]) -> None:
    """All rules at once over a file that has none of their columns but one: nothing is measured of an absent column."""
    whole = side_by_side(NUMBERED)
    kept = whole.fields[0].name
    plan = replace(whole, policy=Policy(samples=False))

    judged = judge_files(plan, f'"{kept}"\n"x"\n'.encode())

    measured = {each.check for each in judged.result.measurements}
    lacking = [check for check in plan.checks if set(check.fields) - {kept}]
    assert not measured & {check.id for check in lacking}
    statuses = judged.statuses()
    assert Status.PASS not in {statuses[check.id] for check in lacking}
    assert judged.verdict not in LET_IN
