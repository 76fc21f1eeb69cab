"""The Lambda that is told of job runs that moved, by SQS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from functions.edge import REMAINING, batch, gate, metrics
from functions.events import JobMoved
from functions.logs import logger
from functions.usecases.completion import completion
from functions.usecases.steps import run

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

LOG, METRICS = logger("completion"), metrics("completion")


@LOG.inject_lambda_context(clear_state=True)
@METRICS.log_metrics
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Carry on every workload whose run the messages name."""
    REMAINING.context = context
    return batch(event, carry_on, JobMoved, LOG, METRICS)


def carry_on(moved: JobMoved) -> None:
    """Run the use case on one job run."""
    run(completion(gate(), moved.job_run), gate().clock)
