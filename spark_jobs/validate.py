"""The job: `validate.py --request URI`, one attempt, one result; or `validate.py --batch URI`, the attempts of a batch.

1. Read the request and the plan it names; the plan's digest must be the one requested.
2. Open the delivery: a file that is not as declared ends the attempt without a scan (`unreadable`).
3. Evaluate its shares in tasks, measure every check with Deequ, find samples of the failed ones (`lakegate.engine.attempt`).
4. Write accepted and rejected records separately, if the contract rejects single rows.
5. Run the contract's own queries, each separately, and last, so that none of them delays other checks.
6. Write `result.json`, last of all and only once.

The exit code is 0 if and only if `result.json` was written, in a batch that of each delivery;
2 where the request, the bytes or the machine cannot be used.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from lakegate.contracts.errors import LakegateError
from lakegate.engine.attempt import SAMPLES, Attempt
from lakegate.spark_jobs.answer import asked, write
from lakegate.spark_jobs.backend import Spark
from lakegate.spark_jobs.batch import judge_batch
from lakegate.spark_jobs.cpu_time import Meter
from lakegate.spark_jobs.store import ANYWHERE, Addresses, versions_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakegate.contracts.plan.plan import Plan
    from lakegate.contracts.plan.request import Request
    from lakegate.contracts.plan.result import Result

UNUSABLE = 2


def validate(
    request: Request,
    plan: Plan,
    watch: Callable[[str], None] = lambda _: None,
    samples: int = SAMPLES,
    store: Addresses = ANYWHERE,
) -> Result:
    """Measure the delivery of a request against its plan; its objects are read by `store`."""
    before, spark = Meter.read(), Spark(plan, request)
    try:
        found = Attempt(request, plan, store, spark, samples).result(watch)
    finally:
        spark.close()
    return replace(found, vcpu_seconds=round(Meter.read().since(before) + spark.worker_seconds, 3))


def run(request_uri: str) -> Result:
    """Measure the request at an address; its result is written once."""
    request, plan = asked(request_uri)
    result = validate(request, plan, store=versions_of(request))
    write(request, result)
    return result


def main(arguments: list[str] | None = None) -> int:
    """The entry point of the job."""
    parser = argparse.ArgumentParser(prog="validate.py", description="Measure deliveries against their plans.")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--request", metavar="URI", help="address of request.json (file: or s3:)")
    what.add_argument("--batch", metavar="URI", help="address of batch.json (file: or s3:)")
    asked_for = parser.parse_args(arguments)
    try:
        if asked_for.batch:
            return UNUSABLE if judge_batch(asked_for.batch, validate) else 0
        run(asked_for.request)
    except LakegateError as error:
        print(f"validate: {error}", file=sys.stderr)  # noqa: T201 - the driver's log is standard error
        return UNUSABLE
    return 0


if __name__ == "__main__":
    sys.exit(main())
