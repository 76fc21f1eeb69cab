"""The judge function: one attempt of a small delivery in a Lambda, by the native engine and without a JVM.

An event is `{"workload", "attempt", "request"}`, the last one the address of request.json. The function reads the same
request and writes the same result.json as the job (`validate.py`), once; a second invocation of an attempt finds it there.

What it cannot hold is answered with `does_not_fit`: Spark follows, without a cost in attempts.

* `time`: it would be stopped by its time limit;
* `memory`, `disk`: DuckDB or Arrow need more than there is;
* `references`: the accepted data that rules refer to, or the state of a line of snapshots, is larger than a small file by far;
* `rows`: good and bad records are to be written apart, which only Spark does.

Any other error leaves the function by its name only: Lambda logs and forwards what leaves it, and a message may repeat
a value of the data.
"""

from __future__ import annotations

import json
import logging
import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from lakegate.errors import InputError
from lakegate.job.job_storage import asked, is_answered, versions_of, write
from lakegate.job.judge_function import DoesNotFitError, JudgeError, measure
from lakegate.plan.billed_cost import Prices, cost_of_invocation
from lakegate.plan.result import Result

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lakegate.plan.billed_cost import BilledCost
    from lakegate.plan.plan import Plan
    from lakegate.plan.request import Request

LOG = logging.getLogger("lakegate.judge")


class Context(Protocol):
    """What Lambda passes to a function about an invocation."""

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until the function is stopped."""
        ...


def handler(event: Mapping[str, object], context: Context) -> dict[str, object]:
    """Answer an attempt; what is returned goes to the log and to the queue, and holds no text of contract or producer."""
    about = {"workload": event["workload"], "attempt": event["attempt"]}
    try:
        found = answer(str(event["request"]), lambda: context.get_remaining_time_in_millis() / 1000)
    except Exception as error:  # noqa: BLE001 - the runtime would log it whole, with values of the data
        LOG.error(json.dumps({**about, "error": type(error).__name__}))  # noqa: TRY400 - likewise
        raise JudgeError(type(error).__name__) from None
    LOG.info(json.dumps({**about, "answer": found}))
    return {**about, "answer": found}


def answer(request_uri: str, remaining: Callable[[], float]) -> str:
    """Write the result of a request: `measured`, `does-not-fit`, or `before` where it was there already.

    `remaining`: seconds until the function is stopped.
    """
    began = time.perf_counter()
    request, plan = asked(request_uri)
    if is_answered(request):
        return "before"
    try:
        result = measure(request, plan, remaining, versions_of(request))
    except DoesNotFitError as unfit:
        result = _unfit(request, plan, unfit.why)
    try:
        write(request, replace(result, cost=_cost(time.perf_counter() - began)))
    except InputError:
        return "before"
    return "does-not-fit" if result.does_not_fit else "measured"


def _cost(seconds: float) -> BilledCost | None:
    """Of an invocation that took so long; None outside of Lambda, where the memory is unknown."""
    megabytes = os.environ.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE")
    prices = Prices.read(os.environ.get("LAKEGATE_PRICES", ""))
    return cost_of_invocation(prices, seconds, int(megabytes)) if megabytes else None


def _unfit(request: Request, plan: Plan, why: str) -> Result:
    return Result(request.workload, request.attempt, plan.digest, request.source_version, rows=0, does_not_fit=why)
