"""The Lambda that looks after everything, on a schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aws_lambda_powertools.metrics import MetricUnit

from functions.edge import REMAINING, contained, gate, metrics, told
from functions.logs import logger
from functions.usecases.steps import run
from functions.usecases.sweep import sweep

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

LOG, METRICS = logger("sweep"), metrics("sweep")


@LOG.inject_lambda_context(clear_state=True)
@METRICS.log_metrics
def handler(_event: dict[str, Any], context: LambdaContext) -> dict[str, int]:
    """One sweep; what it met with is logged and counted, and kept nothing else from being swept."""
    REMAINING.context = context
    swept = contained(lambda: run(sweep(gate()), gate().clock), LOG, METRICS)
    METRICS.add_metric("LookedAt", MetricUnit.Count, swept.looked_at)
    return {"looked_at": swept.looked_at, "troubles": told("Troubles", swept.troubles, LOG, METRICS)}
