"""A run that judges a batch: each delivery separately, by the native engine in the driver's process, one after the other.

Each result is written as soon as it is there, so that a delivery which ends the process costs no other one its result. What
the native engine cannot hold, and what has to be split by rows, is measured by Spark in the same run. A delivery that has a
result is passed over: a run that is started again repeats nothing.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from lakegate.contracts.errors import LakegateError
from lakegate.contracts.plan.batch import BatchRequest
from lakegate.spark_jobs.answer import asked, is_answered, read, write
from lakegate.spark_jobs.judge_function import DoesNotFitError, measure

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakegate.contracts.plan.plan import Plan
    from lakegate.contracts.plan.request import Request
    from lakegate.contracts.plan.result import Result

    Measure = Callable[[Request, Plan], Result]


def judge_batch(batch_uri: str, by_spark: Measure) -> int:
    """Write a result for each request of a batch. Returns the number of those that have none."""
    batch = BatchRequest.from_bytes(read(batch_uri))
    plans: dict[str, Plan] = {}
    return sum(not _is_judged(each, plans, by_spark) for each in batch.requests)


def _is_judged(request_uri: str, plans: dict[str, Plan], by_spark: Measure) -> bool:
    try:
        request, plan = asked(request_uri, plans)
        if not is_answered(request):
            write(request, _measured(request, plan, by_spark))
    except Exception as error:  # noqa: BLE001 - whatever one delivery does to the engine, the others are judged
        # The message of a foreign error may repeat a value of the data.
        text = str(error) if isinstance(error, LakegateError) else type(error).__name__
        print(f"validate: {request_uri}: {text}", file=sys.stderr)  # noqa: T201 - the driver's log is standard error
        return False
    return True


def _measured(request: Request, plan: Plan, by_spark: Measure) -> Result:
    try:
        return measure(request, plan)
    except DoesNotFitError:
        return by_spark(request, plan)
