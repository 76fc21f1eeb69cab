"""The Lambda that receives notifications of landed objects, from SQS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakegate.aws.lambda_events import ObjectSeen
from lakegate.aws.lambda_runtime import (
    INVOCATION,
    batch,
    dependencies,
    do_afterwards,
    hints,
    logger,
    metrics,
)
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.paced_starts import start_waiting
from lakegate.gate.effects import run

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

LOG, METRICS = logger("intake"), metrics("intake")


@LOG.inject_lambda_context(clear_state=True)
@METRICS.log_metrics
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Take in every object that the messages name; then start what waits."""
    INVOCATION.set(context)
    answer = batch(event, take, hints(ObjectSeen), LOG, METRICS)
    do_afterwards(dependencies, start_waiting, LOG, METRICS)
    return answer


def take(seen: ObjectSeen) -> None:
    """Run the use case on one key."""
    run(intake(dependencies(), seen.bucket, seen.key, seen.version, seen.size, seen.at), dependencies().clock)
