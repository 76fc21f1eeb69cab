"""Small deliveries without Spark, within memory and time: one in the judge function, a Lambda, or a batch in a job run.

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

import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from lakegate.base.errors import InputError, LakegateError
from lakegate.engine.attempt import Attempt, row_writer
from lakegate.engine.measure.duckdb_tables import database
from lakegate.engine.native_backend import Process
from lakegate.engine.read.data_source import Source
from lakegate.engine.rejected_rows import Rejected
from lakegate.job.job_storage import (
    ANYWHERE,
    Addresses,
    has_result,
    keep,
    read_document,
    read_request,
    versions_of,
    write,
)
from lakegate.plan.billed_cost import BilledCost, Prices, cost_of_invocation
from lakegate.plan.plan import Plan
from lakegate.plan.request import BatchRequest, Request
from lakegate.plan.result import Result, Shares

if TYPE_CHECKING:
    Measure = Callable[[Request, Plan], Result]

MAX_REFERRED = 256 << 20
"""Bytes of accepted data, or of the whole state of its line, that a delivery is compared with."""
SPARE_SECONDS = 10.0
"""Before the function's time limit: what is left to write the result that a delivery does not fit."""


class JudgeError(Exception):
    """The error that leaves the function: the name of the fault, and none of its text."""


class DoesNotFitError(LakegateError):
    """The delivery needs more than the function has."""

    def __init__(self, why: str) -> None:
        super().__init__(f"does not fit: {why}")
        self.why = why


@dataclass(frozen=True, slots=True)
class Bounded(Process):
    """The native engine, within the bounds of the function."""

    def split(self, _source: Source, _rejected: Rejected) -> Shares | None:
        """Nothing is written here."""
        raise DoesNotFitError("rows")


def measure(
    request: Request, plan: Plan, remaining: Callable[[], float] = lambda: float("inf"), store: Addresses = ANYWHERE
) -> Result:
    """Measure the delivery of a request against its plan. DoesNotFitError where the function is too small for it."""
    referred = sum(part.size for reference in request.references for part in reference.parts)
    writer = row_writer(request)
    if max(referred, writer.memory(request) if writer else 0) > MAX_REFERRED:
        raise DoesNotFitError("references")

    def keep_time(_: object) -> None:
        if remaining() < SPARE_SECONDS:
            raise DoesNotFitError("time")

    before = time.process_time()
    try:
        with tempfile.TemporaryDirectory() as folder, database(Path(folder)) as connection:
            backend = Bounded(connection, request, plan, store, keep_time, keep)
            result = Attempt(request, plan, store, backend).result(keep_time)
    except (MemoryError, duckdb.OutOfMemoryException):
        raise DoesNotFitError("memory") from None
    except duckdb.IOException:  # it reads and writes nothing but what it spills
        raise DoesNotFitError("disk") from None
    return replace(result, vcpu_seconds=round(time.process_time() - before, 3))


def evaluate_request(request_uri: str, remaining: Callable[[], float]) -> str:
    """Write the result of a request: `measured`, `does-not-fit`, or `before` where it was there already.

    `remaining`: seconds until the function is stopped.
    """
    began = time.perf_counter()
    request, plan = read_request(request_uri)
    if has_result(request):
        return "before"
    try:
        result = measure(request, plan, remaining, versions_of(request))
    except DoesNotFitError as unfit:
        result = Result(
            request.workload, request.attempt, plan.digest, request.source_version, rows=0, does_not_fit=unfit.why
        )
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


def evaluate_batch(batch_uri: str, by_spark: Measure) -> int:
    """Write a result for each request of a batch. Returns the number of those that have none.

    Each result is written as soon as it is there, so that a delivery which ends the process costs no other one its result.
    What the native engine cannot hold, and what has to be split by rows, is measured by Spark in the same run. A delivery
    that has a result is passed over: a run that is started again repeats nothing.
    """
    batch = BatchRequest.from_bytes(read_document(batch_uri))
    plans: dict[str, Plan] = {}
    return sum(not _is_evaluated(request, plans, by_spark) for request in batch.requests)


def _is_evaluated(request_uri: str, plans: dict[str, Plan], by_spark: Measure) -> bool:
    try:
        request, plan = read_request(request_uri, plans)
        if not has_result(request):
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
