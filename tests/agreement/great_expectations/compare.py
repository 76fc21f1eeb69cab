"""Compares the reference evaluator with Great Expectations, case by case."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import Path

from infra.setup.environments import program
from lakegate.contract.contract_model import Contract
from lakegate.plan.metrics import Number
from lakegate.plan.result import Result
from lakegate.rules.compile_plan import compile_plan
from lakegate.verdict.check_status import Status
from lakegate.verdict.verdict import judge
from tests.agreement.great_expectations.cases import AgreedCase
from tests.reference.cases import contract_of, rule_of
from tests.reference.evaluator import measure

ENVIRONMENT = "great-expectations"
JUDGE = Path(__file__).with_name("great.py")


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of one of the two."""

    success: bool | None
    """None where it refuses the case."""
    unexpected: int | None = None
    """Rows that break the expectation, where rows are counted."""
    reason: str = ""
    of_nothing: bool = False
    """Whether there was no value to take a number of."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A case that the two answer otherwise."""

    case: AgreedCase
    ours: Answer
    theirs: Answer


def contract_of_case(case: AgreedCase) -> Contract:
    """The case's rule in a contract of its own."""
    written = {"engine": "great-expectations", "call": case.expectation, "args": case.arguments}
    return contract_of(case.columns, rule_of("custom", written, ()))


def ours(case: AgreedCase, result: Result | None = None) -> Answer:
    """The answer of the reference evaluator, or of a result of the job."""
    contract = contract_of_case(case)
    plan = compile_plan(contract, contract.datasets[0])
    found = measure(plan, list(case.columns), case.rows) if result is None else result
    outcomes = judge(plan, found).outcomes[-len(plan.checks) :]
    statuses = {each.status for each in outcomes}
    if Status.SKIP in statuses or Status.ERROR in statuses:
        return Answer(None, reason="; ".join(each.message for each in outcomes))
    counted = [
        each.failing_rows
        for each, check in zip(outcomes, plan.checks, strict=True)
        if check.metric.spec.number is not Number.REMAINING
    ]
    of_nothing = all(each.accept is not None and each.accept.of == 0 for each in found.measurements)
    return Answer(statuses == {Status.PASS}, counted[0] if counted else None, of_nothing=of_nothing)


def theirs(cases: list[AgreedCase]) -> Iterator[Answer]:
    """The answers of Great Expectations, from a process in its own environment."""
    lines = "".join(json.dumps(asdict(case), default=_plain) + "\n" for case in cases)
    interpreter = program(f"{ENVIRONMENT}/python")
    ended = subprocess.run(  # noqa: S603 - our own environment
        [interpreter, str(JUDGE)], input=lines, capture_output=True, text=True, check=True
    )
    for line in ended.stdout.splitlines():
        found = json.loads(line)
        yield Answer(found.get("success"), found.get("unexpected"), found.get("error", ""))


def _plain(value: object) -> float:
    assert isinstance(value, Decimal)
    return float(value)


COUNTS_VALUES = {"expect_column_distinct_values_to_be_in_set", "expect_column_distinct_values_to_equal_set"}
"""Here Great Expectations counts values that are unexpected, and we the rows that hold them."""
SUM = "expect_column_sum_to_be_between"
"""pandas sums nothing to 0, SQL (and Great Expectations on it) and we to nothing, which meets no bound."""


def named_only(case: AgreedCase) -> bool:
    """Whether we measure nothing of it."""
    return ours(case).success is None


def differences(cases: list[AgreedCase], results: Sequence[Result | None] = ()) -> Iterator[Difference]:
    """The cases that the two answer otherwise: success, or the number of unexpected rows where both count them.

    Ours is the reference evaluator's answer, or that of the job's results.
    """
    answered = zip(cases, theirs(cases), results or [None] * len(cases), strict=True)
    for case, found, result in answered:
        mine = ours(case, result)
        is_uncounted = None in {mine.unexpected, found.unexpected} or case.expectation in COUNTS_VALUES
        same_rows = is_uncounted or mine.unexpected == found.unexpected
        if case.expectation == SUM and mine.of_nothing:
            continue
        if mine.success is not found.success or not same_rows:
            yield Difference(case, mine, found)
