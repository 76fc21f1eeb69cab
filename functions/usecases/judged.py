"""The result of a delivery, judged again by the same pure function as at the gate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lakegate.contracts.judge.judgement import judge
from lakegate.contracts.judge.verdict import Verdict
from lakegate.contracts.plan.plan import Plan
from lakegate.contracts.plan.result import Result
from lakegate.functions.usecases.delivery import result_of
from lakegate.functions.workload import State

if TYPE_CHECKING:
    from lakegate.contracts.judge.judgement import Judgement
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.workload import Workload


@dataclass(frozen=True, slots=True)
class JudgedResult:
    """What the job measured, and what follows from it."""

    plan: Plan
    result: Result
    judgement: Judgement


def judged(dependencies: Dependencies, row: Workload) -> JudgedResult | None:
    """The outcomes behind the verdict; None where nothing was measured, or nothing is decided yet.

    The verdict is the one that was decided, whatever is computed today. Raises Alarm where plan or result are missing or are
    not those that were decided on, and InputError where the result cannot be read.
    """
    if row.pin is None or not row.pin.plan or (row.decision is None and row.state is not State.FAILED):
        return None
    body = result_of(dependencies, row)
    if body is None:
        return None
    plan, result = Plan.from_bytes(dependencies.plan(row)), Result.from_bytes(body)
    judgement = judge(plan, result)
    if row.decision is not None:
        judgement = replace(judgement, verdict=Verdict(row.decision.verdict))
    return JudgedResult(plan, result, judgement)
