"""The Lambda that sends pending messages, on a schedule."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools.metrics import MetricUnit

from lakegate.aws.dataset_metrics import count_delivery
from lakegate.aws.lambda_runtime import INVOCATION, dependencies, log_failures, logger, metrics, sanitize_errors
from lakegate.base.errors import InputError, PortError
from lakegate.features.notifications.notices import trial_notification
from lakegate.gate.effects import run
from lakegate.gate.ports import Message
from lakegate.gate.send_messages import notify

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


LOG, METRICS = logger("notify"), metrics("notify")


@LOG.inject_lambda_context(clear_state=True)
@METRICS.log_metrics
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Send what waits in the outbox; what could not be sent waits on. With `test`, a channel: send it a test instead."""
    INVOCATION.set(context)
    if "test" in event:
        return sanitize_errors(lambda: tested(str(event["test"])), LOG, METRICS)  # type: ignore[no-any-return]
    notified = sanitize_errors(lambda: run(notify(dependencies()), dependencies().clock), LOG, METRICS)
    for message in notified.sent:
        count(message)
    METRICS.add_metric("Notifications", MetricUnit.Count, notified.channels.sent)
    METRICS.add_metric("DeadNotices", MetricUnit.Count, notified.channels.dead)
    log_failures("Undelivered", notified.channels.failures, LOG, METRICS)
    return {"unsent": log_failures("Unsent", notified.failures, LOG, METRICS)}


def tested(channel: str) -> dict[str, Any]:
    """Whether a test arrived at a channel, with the rights and the network of this function; `error` states why it did not."""
    error = ""
    try:
        dependencies().of("channels").deliver(channel, trial_notification(channel, dependencies().now))
    except (InputError, PortError) as refused:
        error = f"{type(refused).__name__}: {refused}"
    METRICS.add_metric("Notifications", MetricUnit.Count, 0 if error else 1)
    return {"delivered": not error, "error": error}


def count(message: Message) -> None:
    """Metrics of one delivery that ended: its outcome, how long it took, and what was billed, where that is known.

    Its dataset has metrics of its own where the stack says so.
    """
    METRICS.add_metric(f"Deliveries{message.kind.capitalize()}", MetricUnit.Count, 1)
    body = json.loads(message.body)
    if (seconds := body.get("seconds")) is not None:
        METRICS.add_metric("DeliverySeconds", MetricUnit.Seconds, seconds)
    if cost := body.get("cost"):
        METRICS.add_metric("VcpuSeconds", MetricUnit.Seconds, cost["vcpu_seconds"])
    if not message.dataset:
        count_delivery(body)
