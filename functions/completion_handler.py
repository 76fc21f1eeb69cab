"""The Lambda that receives state changes of job runs, and ends of the judge function's invocations, from SQS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakegate.aws.lambda_events import InvocationEnded, JobMoved
from lakegate.aws.lambda_runtime import (
    INVOCATION,
    batch,
    count_once,
    dependencies,
    do_afterwards,
    hints,
    logger,
    metrics,
)
from lakegate.gate.delivery.advance import completion, invocation_ended
from lakegate.gate.delivery.paced_starts import start_waiting
from lakegate.gate.effects import run

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

LOG, METRICS = logger("completion"), metrics("completion")


@LOG.inject_lambda_context(clear_state=True)
@METRICS.log_metrics
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Continue every workload whose run the messages name; then start what waits."""
    INVOCATION.set(context)
    answer = batch(event, carry_on, hints(JobMoved | InvocationEnded), LOG, METRICS)
    do_afterwards(dependencies, start_waiting, LOG, METRICS)
    return answer


def carry_on(hint: JobMoved | InvocationEnded) -> None:
    """Run the use case on one job run, or on one invocation."""
    if isinstance(hint, JobMoved):
        steps = completion(dependencies(), hint.job_run)
    else:
        steps = invocation_ended(dependencies(), hint.workload, hint.attempt, failed=hint.failed)
    ended = run(steps, dependencies().clock)
    if ended is not None:  # a sweep counts it where no event came, and an alarm looks there
        count_once(ended, "sweep")
