"""The Lambda that compares contracts with what is really in `accepted/`, on a schedule; in the bundle of the judge function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aws_lambda_powertools.metrics import MetricUnit

from lakegate.aws.lambda_runtime import INVOCATION, dependencies, log_failures, logger, metrics, sanitize_errors
from lakegate.features.drift.schema_drift import DriftCheck, check_datasets
from lakegate.gate.effects import run

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


LOG, METRICS = logger("drift"), metrics("drift")


@LOG.inject_lambda_context(clear_state=True)
@METRICS.log_metrics
def handler(_event: dict[str, Any], context: LambdaContext) -> dict[str, int]:
    """Compare the datasets that are next; drift is counted and put into the outbox."""
    INVOCATION.set(context)
    found = sanitize_errors(_check, LOG, METRICS)
    METRICS.add_metric("ComparedLines", MetricUnit.Count, found.compared)
    METRICS.add_metric("DriftedLines", MetricUnit.Count, len(found.drifted))
    failures = log_failures("StepFailures", found.failures, LOG, METRICS)
    return {"compared": found.compared, "drifted": len(found.drifted), "failures": failures}


def _check() -> DriftCheck:
    gate = dependencies()
    return run(check_datasets(gate), gate.clock)
