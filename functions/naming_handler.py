"""The Lambda that receives messages which name objects in buckets of producers, from SQS."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from lakegate.aws.clients import client
from lakegate.aws.lambda_runtime import INVOCATION, VerifiedCaller, batch, dependencies, logger, metrics
from lakegate.aws.settings import read
from lakegate.features.pull.naming_messages import ObjectsNamed, named_in
from lakegate.features.pull.naming_queues import NamingQueues
from lakegate.gate.effects import run

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

LOG, METRICS = logger("naming"), metrics("naming")


@cache
def queues() -> NamingQueues:
    """The queues of this stack, made at the first message."""
    settings = read(os.environ)
    return NamingQueues(settings.stack, settings.account, client("sqs"))


@LOG.inject_lambda_context(clear_state=True)
@METRICS.log_metrics
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Let every object that the messages name be delivered."""
    INVOCATION.set(context)
    return batch(event, name, named_in, LOG, METRICS)


def name(named: ObjectsNamed) -> None:
    """Run the use case on one message."""
    own = replace(dependencies(), identity=VerifiedCaller(named.sender))
    run(queues().name(own, named), own.clock)
