"""The Lambda that sends pending messages, on a schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakegate.functions.edge import INVOCATION, dependencies, log_failures, metrics, sanitize_errors
from lakegate.functions.logs import logger
from lakegate.functions.usecases.notify import notify
from lakegate.functions.usecases.steps import run

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

LOG, METRICS = logger("notify"), metrics("notify")


@LOG.inject_lambda_context(clear_state=True)
@METRICS.log_metrics
def handler(_event: dict[str, Any], context: LambdaContext) -> dict[str, int]:
    """Send what waits in the outbox; what could not be sent waits on."""
    INVOCATION.set(context)
    troubles = sanitize_errors(lambda: run(notify(dependencies()), dependencies().clock), LOG, METRICS)
    return {"unsent": log_failures("Unsent", troubles, LOG, METRICS)}
