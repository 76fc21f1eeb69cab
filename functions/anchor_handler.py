"""The Lambda that keeps an anchor of the ledger once a day, on a schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aws_lambda_powertools.metrics import MetricUnit

from lakegate.aws.lambda_runtime import INVOCATION, dependencies, logger, metrics, sanitize_errors
from lakegate.features.anchors.anchors import keep_anchor_of_today
from lakegate.gate.effects import run

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

LOG, METRICS = logger("anchor"), metrics("anchor")


@LOG.inject_lambda_context(clear_state=True)
@METRICS.log_metrics
def handler(_event: dict[str, Any], context: LambdaContext) -> dict[str, int]:
    """Write what is missing of today's anchor; `complete` is 1 when nothing is."""
    INVOCATION.set(context)
    kept = sanitize_errors(lambda: run(keep_anchor_of_today(dependencies()), dependencies().clock), LOG, METRICS)
    METRICS.add_metric("AnchorComplete", MetricUnit.Count, int(kept.is_complete))
    METRICS.add_metric("ContradictedChains", MetricUnit.Count, len(kept.contradicted))
    for chain in kept.contradicted:
        LOG.error("contradicted", extra={"chain": chain})
    return {
        "documents": kept.documents,
        "heads": kept.heads,
        "contradicted": len(kept.contradicted),
        "complete": int(kept.is_complete),
    }
