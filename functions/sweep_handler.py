"""The Lambda that continues interrupted work, on a schedule."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools.metrics import MetricUnit

from lakegate.aws.dataset_metrics import are_any_measured, count_ages
from lakegate.aws.lambda_runtime import (
    INVOCATION,
    dependencies,
    log_failures,
    logger,
    metrics,
    remaining,
    report_deliveries,
    sanitize_errors,
)
from lakegate.base.errors import PortError
from lakegate.gate.datasets.datasets_overview import kept_overview
from lakegate.gate.effects import run
from lakegate.gate.sweep import Swept, sweep

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

LOG, METRICS = logger("sweep"), metrics("sweep")


def _swept() -> Swept:
    """One sweep, which is noted as long as it is under way: `lakegate stack pause` waits for its end."""
    within = dependencies()
    until = within.clock.now() + timedelta(seconds=remaining())
    within.agenda.note_sweep(until)
    try:
        return run(sweep(within), within.clock)
    finally:
        with suppress(PortError):
            within.agenda.note_end_of_sweep(until)


@LOG.inject_lambda_context(clear_state=True)
@METRICS.log_metrics
def handler(_event: dict[str, Any], context: LambdaContext) -> dict[str, int]:
    """One sweep; what it met with is logged and counted, and kept nothing else from being swept."""
    INVOCATION.set(context)
    swept = sanitize_errors(_swept, LOG, METRICS)
    report_deliveries(dependencies(), LOG)
    METRICS.add_metric("LookedAt", MetricUnit.Count, swept.looked_at)
    METRICS.add_metric("LongPauses", MetricUnit.Count, len(swept.paused_long))
    ended = Counter(end for _, end in swept.ends)
    for metric in swept.metrics:
        METRICS.add_metric(metric, MetricUnit.Count, ended[metric])
    if are_any_measured():
        with suppress(PortError, ValueError):  # no overview is kept yet, or a newer release has kept it
            count_ages(kept_overview(dependencies()).datasets, dependencies().clock.now())
    return {"looked_at": swept.looked_at, "failures": log_failures("StepFailures", swept.failures, LOG, METRICS)}
