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
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import duckdb

from lakegate.contracts.errors import InputError, LakegateError
from lakegate.contracts.plan.billing import Prices, cost_of_invocation
from lakegate.contracts.plan.result import Result
from lakegate.engine.attempt import Attempt
from lakegate.engine.measure.tables import database
from lakegate.engine.native import Process
from lakegate.engine.slices.state import PLACED
from lakegate.spark_jobs.answer import asked, is_answered, write
from lakegate.spark_jobs.keeping import keep
from lakegate.spark_jobs.store import ANYWHERE, Addresses, versions_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lakegate.contracts.plan.billing import BilledCost
    from lakegate.contracts.plan.plan import Plan
    from lakegate.contracts.plan.request import Request
    from lakegate.contracts.plan.result import Shares
    from lakegate.engine.read.chunk import Source
    from lakegate.engine.split.rejected import Rejected

LOG = logging.getLogger("lakegate.judge")
MAX_REFERRED = 256 << 20
"""Bytes of accepted data, or of the whole state of its line, that a delivery is compared with."""
SPARE_SECONDS = 10.0
"""Before the function's time limit: what is left to write the answer that a delivery does not fit."""


class Context(Protocol):
    """What Lambda passes to a function about an invocation."""

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until the function is stopped."""
        ...


class JudgeError(Exception):
    """What leaves the function: the name of what went wrong, and none of its text."""


class DoesNotFitError(LakegateError):
    """The delivery needs more than the function has."""

    def __init__(self, why: str) -> None:
        super().__init__(f"does not fit: {why}")
        self.why = why


@dataclass(frozen=True, slots=True)
class Bounded(Process):
    """The native engine, within the bounds of the function."""

    def split(self, _source: Source, _rejected: Rejected) -> Shares | None:
        """See `Backend`: nothing is written here."""
        raise DoesNotFitError("rows")


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


def measure(
    request: Request, plan: Plan, remaining: Callable[[], float] = lambda: float("inf"), store: Addresses = ANYWHERE
) -> Result:
    """Measure the delivery of a request against its plan. DoesNotFitError where the function is too small for it."""
    referred = sum(part.size for each in request.references for part in each.parts)
    if max(referred, _whole_state(request)) > MAX_REFERRED:
        raise DoesNotFitError("references")

    def keep_time(_: object) -> None:
        if remaining() < SPARE_SECONDS:
            raise DoesNotFitError("time")

    before = time.process_time()
    try:
        with tempfile.TemporaryDirectory() as folder, database(Path(folder)) as connection:
            backend = Bounded(connection, request, plan, store, keep_time, keep)
            found = Attempt(request, plan, store, backend).result(keep_time)
    except (MemoryError, duckdb.OutOfMemoryException):
        raise DoesNotFitError("memory") from None
    except duckdb.IOException:  # it reads and writes nothing but what it spills
        raise DoesNotFitError("disk") from None
    return replace(found, vcpu_seconds=round(time.process_time() - before, 3))


def _whole_state(request: Request) -> int:
    """Bytes of the state of a line of snapshots, all of which is in memory, however small the delivery is."""
    merge = request.slices.merge if request.slices else None
    return sum(each.rows for each in merge.runs) * PLACED.itemsize if merge and merge.snapshot else 0


def _cost(seconds: float) -> BilledCost | None:
    """Of an invocation that took so long; None outside of Lambda, where the memory is unknown."""
    megabytes = os.environ.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE")
    prices = Prices.read(os.environ.get("LAKEGATE_PRICES", ""))
    return cost_of_invocation(prices, seconds, int(megabytes)) if megabytes else None


def _unfit(request: Request, plan: Plan, why: str) -> Result:
    return Result(request.workload, request.attempt, plan.digest, request.source_version, rows=0, does_not_fit=why)
