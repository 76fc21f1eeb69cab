"""The Lambda that tells what happened, on a schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from functions.edge import REMAINING, contained, gate, metrics, told
from functions.logs import logger
from functions.usecases.notify import notify
from functions.usecases.steps import run

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

LOG, METRICS = logger("notify"), metrics("notify")


@LOG.inject_lambda_context(clear_state=True)
@METRICS.log_metrics
def handler(_event: dict[str, Any], context: LambdaContext) -> dict[str, int]:
    """Send what waits in the outbox; what could not be sent waits on."""
    REMAINING.context = context
    troubles = contained(lambda: run(notify(gate()), gate().clock), LOG, METRICS)
    return {"unsent": told("Unsent", troubles, LOG, METRICS)}
