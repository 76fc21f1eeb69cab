"""The decision on a `result.json`. Imported with the first result: intake starts without judgement and JSON Schema."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import TYPE_CHECKING

from lakegate.contracts.errors import InputError, LakegateError
from lakegate.contracts.judge.judgement import counts_of, judge, reason_texts
from lakegate.contracts.plan.plan import Plan
from lakegate.contracts.plan.result import Result
from lakegate.functions.ports.jobs import names_invocation
from lakegate.functions.workload import Decision

if TYPE_CHECKING:
    from lakegate.functions.workload import Workload

_plan = lru_cache(maxsize=16)(Plan.from_bytes)
"""Plans are content-addressed: a Lambda that judges many deliveries of a dataset reads its plan once."""


class DoesNotFit(LakegateError):  # noqa: N818 - the name is what the judge function answered
    """The judge function cannot hold the delivery."""


def decision_on(plan: bytes, result: bytes, workload: Workload) -> Decision:
    """The decision on the current attempt. Raises InputError for a document that is no result, or another attempt's.

    Raises DoesNotFit for the judge function's answer that has no verdict; of a job that is no result.
    """
    compiled, measured = _plan(plan), Result.from_bytes(result)
    if not is_of_attempt(measured, workload):
        raise InputError("the result belongs to another attempt")
    if measured.does_not_fit:
        raise DoesNotFit if names_invocation(workload.run) else InputError("a job run fits every delivery")
    judgement = judge(compiled, measured)
    return Decision(
        judgement.verdict,
        reason_texts(judgement.reasons),
        hashlib.sha256(result).hexdigest(),
        counts=counts_of(compiled, judgement),
    )


def is_of_attempt(result: Result, workload: Workload) -> bool:
    """Whether a result belongs to the current attempt: same workload, attempt, plan and source version."""
    pin = workload.pin
    assert pin is not None
    asked = (workload.id, workload.attempt, pin.plan, workload.source.version)
    return asked == (result.workload, result.attempt, result.plan_digest, result.source_version)
