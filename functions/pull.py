"""The Lambda that fetches what contracts say is pulled, on a schedule; the only one that reaches out for data."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools.metrics import MetricUnit

from lakegate.contracts.lake.pulls import PullOutcome
from lakegate.functions.bootstrap import pull_adapters
from lakegate.functions.edge import (
    INVOCATION,
    dependencies,
    log_failures,
    metrics,
    remaining,
    sanitize_errors,
)
from lakegate.functions.logs import logger
from lakegate.functions.settings import read
from lakegate.functions.usecases.pulling import tick
from lakegate.functions.usecases.steps import run

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

    from lakegate.functions.usecases.pull_landing import Pulled

LOG, METRICS = logger("pull"), metrics("pull")


@LOG.inject_lambda_context(clear_state=True)
@METRICS.log_metrics
def handler(_event: dict[str, Any], context: LambdaContext) -> dict[str, int]:
    """Pull what is due; what a tick cannot finish another one does."""
    INVOCATION.set(context)
    pulled = sanitize_errors(_tick, LOG, METRICS)
    counts = {each.value.lower(): 0 for each in PullOutcome}
    for name, end in pulled.ends:
        counts[end.outcome.value.lower()] += 1
        LOG.info("pulled", extra={"line": name, "outcome": end.outcome.value, "reason": end.reason})
    for name, count in counts.items():
        METRICS.add_metric(f"Pulls{name.capitalize()}", MetricUnit.Count, count)
    return counts | {"failures": log_failures("StepFailures", pulled.failures, LOG, METRICS)}


def _tick() -> Pulled:
    gate = dependencies()
    transfer, landing = pull_adapters(read(os.environ), remaining)
    return run(tick(gate, transfer, landing), gate.clock)
