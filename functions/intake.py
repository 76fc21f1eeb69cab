"""The Lambda that is told of landed objects, by SQS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from functions.edge import REMAINING, batch, gate, metrics
from functions.events import ObjectSeen
from functions.logs import logger
from functions.usecases.intake import intake
from functions.usecases.steps import run

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

LOG, METRICS = logger("intake"), metrics("intake")


@LOG.inject_lambda_context(clear_state=True)
@METRICS.log_metrics
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Take in every object that the messages name."""
    REMAINING.context = context
    return batch(event, take, ObjectSeen, LOG, METRICS)


def take(seen: ObjectSeen) -> None:
    """Run the use case on one key."""
    run(intake(gate(), seen.bucket, seen.key), gate().clock)
