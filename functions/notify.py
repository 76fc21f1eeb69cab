"""The Lambda that sends pending messages, on a schedule."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools.metrics import MetricUnit

from lakegate.functions.edge import INVOCATION, dependencies, log_failures, metrics, sanitize_errors
from lakegate.functions.logs import logger
from lakegate.functions.usecases.notify import notify
from lakegate.functions.usecases.steps import run

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

    from lakegate.functions.workload import Message

LOG, METRICS = logger("notify"), metrics("notify")


@LOG.inject_lambda_context(clear_state=True)
@METRICS.log_metrics
def handler(_event: dict[str, Any], context: LambdaContext) -> dict[str, int]:
    """Send what waits in the outbox; what could not be sent waits on."""
    INVOCATION.set(context)
    notified = sanitize_errors(lambda: run(notify(dependencies()), dependencies().clock), LOG, METRICS)
    for message in notified.sent:
        count(message)
    return {"unsent": log_failures("Unsent", notified.troubles, LOG, METRICS)}


def count(message: Message) -> None:
    """Metrics of one delivery that ended: its outcome, how long it took, and what was billed, where that is known."""
    METRICS.add_metric(f"Deliveries{message.kind.capitalize()}", MetricUnit.Count, 1)
    body = json.loads(message.body)
    if (seconds := body.get("seconds")) is not None:  # a message of an older release has none
        METRICS.add_metric("DeliverySeconds", MetricUnit.Seconds, seconds)
    if cost := body.get("cost"):
        METRICS.add_metric("VcpuSeconds", MetricUnit.Seconds, cost["vcpu_seconds"])
