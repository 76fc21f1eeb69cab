"""P22: no rule of any kind is kept by data that is not there."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import pytest

from lakegate.contracts.compile.rules.expectations import EXPECTATIONS
from lakegate.contracts.compile.rules.table import RULES
from lakegate.contracts.judge.judgement import judge
from lakegate.contracts.judge.outcomes import Status
from lakegate.contracts.judge.verdict import Verdict
from lakegate.contracts.model.policy import Policy
from lakegate.contracts.plan.metrics import Metric
from lakegate.contracts.plan.result import Columns
from tests.deliveries.side_by_side import as_csv, comparable, side_by_side
from tests.reference.cases import Case, good_cases
from tests.reference.evaluator import measure

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakegate.contracts.plan.result import Result
    from tests.deliveries.delivery import Judged

NUMBERED = list(enumerate(good_cases()))
IDS = [case.id for _, case in NUMBERED]
ROWS = 3
BATCH = 60
"""Cases in one delivery."""
LET_IN = {Verdict.ACCEPTED, Verdict.ACCEPTED_WITH_WARNINGS}


def with_rows(case: Case, count: int) -> Case:
    """The case's rule over so many rows of nothing but nulls."""
    return replace(case, rows=((None,) * len(case.header),) * count)


@pytest.fixture(scope="module")
def answers(judge_files: Callable[..., Judged]) -> Callable[[int], Result]:
    """The measurements of the rules of all cases in one plan, over rows of nulls."""

    @cache
    def answer(count: int) -> Result:
        all_of_them = [(number, with_rows(case, count)) for number, case in NUMBERED]
        batches = [all_of_them[at : at + BATCH] for at in range(0, len(all_of_them), BATCH)]
        results = [judge_files(side_by_side(each), as_csv(each)).result for each in batches]
        return replace(results[0], measurements=tuple(found for each in results for found in each.measurements))

    return answer


def of_one(number: int, case: Case, together: Result) -> Result:
    """The part of an answer that concerns one rule, as if its plan had been alone."""
    own = [each for each in together.measurements if each.check.startswith(f"{number}.")]
    mine = tuple(replace(each, check=each.check.removeprefix(f"{number}.")) for each in own)
    return replace(together, plan_digest=case.plan.digest, measurements=mine, columns=Columns(case.header))


def test_every_kind_and_every_expectation_is_walked() -> None:
    """There is a rule of each kind, and a call of each expectation, among those that the tests below judge."""
    rules = [case.contract.datasets[0].rules[0] for _, case in NUMBERED]

    assert set(RULES) <= {rule.kind for rule in rules}
    assert set(EXPECTATIONS) <= {rule.arguments.get("call") for rule in rules}


@pytest.mark.parametrize(("number", "case"), NUMBERED, ids=IDS)
def test_no_rows_are_never_let_in(number: int, case: Case, answers: Callable[[int], Result]) -> None:
    """Over a file with a header alone every rule is answered, as by the reference evaluator, and the file is not accepted."""
    result = of_one(number, case, answers(0))
    reference = measure(case.plan, case.header, ())

    assert result.rows == 0
    assert [comparable(each) for each in reference.measurements] == [comparable(each) for each in result.measurements]
    assert judge(case.plan, result).verdict not in LET_IN


@pytest.mark.parametrize(("number", "case"), NUMBERED, ids=IDS)
def test_nothing_but_nulls_is_judged_as_nothing(number: int, case: Case, answers: Callable[[int], Result]) -> None:
    """Over nulls alone every rule is answered, as by the reference evaluator; no number comes of no values, no skip passes."""
    result = of_one(number, case, answers(ROWS))
    reference = measure(case.plan, case.header, with_rows(case, ROWS).rows)
    judgement = judge(case.plan, result)
    statuses = {each.id: each.status for each in judgement.outcomes}

    assert [comparable(each) for each in reference.measurements] == [comparable(each) for each in result.measurements]
    for check in case.plan.checks:
        if check.skip is not None:
            assert statuses[check.id] is Status.SKIP
        if check.metric.floating and check.skip is None:
            assert statuses[check.id] not in {Status.PASS, Status.SKIP}
        if check.metric is Metric.FAILING_ROWS and check.skip is None and check.kind in {"required", "complete"}:
            assert result.measurements[0].accept
            assert result.measurements[0].accept.failing == ROWS
    if set(statuses.values()) == {Status.SKIP}:
        assert judgement.verdict is Verdict.UNDECIDED


@pytest.mark.parametrize(("number", "case"), NUMBERED, ids=IDS)
def test_a_column_that_is_not_there_keeps_no_rule(number: int, case: Case, answers: Callable[[int], Result]) -> None:
    """A rule whose column the file lacks never passes, whatever its kind; the file is not accepted without a word."""
    named = {name for check in case.plan.checks for name in check.fields}
    columns = Columns(found=("other",), absent=tuple(name for name in case.header if name in named), extra=("other",))
    result = replace(of_one(number, case, answers(ROWS)), columns=columns)
    judgement = judge(case.plan, result)

    for check, outcome in zip(case.plan.checks, judgement.outcomes[-len(case.plan.checks) :], strict=True):
        if check.fields:
            assert outcome.status is not Status.PASS
    if named:
        assert judgement.verdict is not Verdict.ACCEPTED


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
