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

from lakegate.base.errors import LakegateError
from lakegate.job.judge_function import evaluate_batch
from lakegate.spark.spark_job import run, validate

UNUSABLE = 2


def main(arguments: list[str] | None = None) -> int:
    """The entry point of the job."""
    parser = argparse.ArgumentParser(prog="validate.py", description="Measure deliveries against their plans.")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--request", metavar="URI", help="address of request.json (file: or s3:)")
    what.add_argument("--batch", metavar="URI", help="address of batch.json (file: or s3:)")
    asked_for = parser.parse_args(arguments)
    try:
        if asked_for.batch:
            return UNUSABLE if evaluate_batch(asked_for.batch, validate) else 0
        run(asked_for.request)
    except LakegateError as error:
        print(f"validate: {error}", file=sys.stderr)  # noqa: T201 - the driver's log is standard error
        return UNUSABLE
    return 0


if __name__ == "__main__":
    sys.exit(main())
