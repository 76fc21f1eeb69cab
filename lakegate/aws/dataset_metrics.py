"""Metrics of single datasets, for those that the stack's parameter `DatasetMetrics` names: each is paid for."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Any, Final

from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.metrics.provider.cloudwatch_emf.cloudwatch import AmazonCloudWatchEMFProvider

from lakegate.aws.lambda_runtime import NAMESPACE, STACK, fingerprint
from lakegate.aws.settings import PREFIX
from lakegate.base.timestamps import instant_of
from lakegate.contract.contract_model import parts_of
from lakegate.gate.lake_layout import UNROUTED
from lakegate.gate.registry.contract_owners import are_named
from lakegate.report.overview_page import DatasetSummary

NAMED: Final = f"{PREFIX}DATASET_METRICS"
"""Ids of contracts, or the beginning of ids and a star, separated by commas; empty: no dataset has metrics of its own."""
MOST_DATASETS: Final = 500
"""Values of the dimension that one environment of a function sends; further datasets are counted together."""
OTHERS: Final = "others"
LONGEST: Final = 250
"""Characters of a value: CloudWatch takes 1,024 of ASCII, and agents 250."""


class DatasetMetric(StrEnum):
    """Metrics of a dataset, with the dimensions `stack` and `dataset`."""

    ROWS = "DatasetRows"
    """Of a delivery that was measured."""
    REJECTED = "DatasetRejectedShare"
    """Of these rows, in percent."""
    MINUTES = "DatasetMinutesToVerdict"
    """From intake to the commit of a delivery."""
    AGE = "DatasetMinutesSinceAccepted"
    """At each sweep, since the newest accepted delivery."""


class _SentDatasets:
    """The datasets that this environment has sent metrics of."""

    def __init__(self) -> None:
        self._values: set[str] = set()

    def dimension(self, dataset: str) -> str:
        """The value of a dataset: its name in ASCII, of bounded length."""
        text = dataset.encode("ascii", "backslashreplace").decode()
        value = text if len(text) <= LONGEST else fingerprint(dataset)
        if value not in self._values and len(self._values) >= MOST_DATASETS:
            return OTHERS
        self._values.add(value)
        return value


@cache
def _sent() -> _SentDatasets:
    return _SentDatasets()


def count_delivery(body: Mapping[str, Any]) -> None:
    """Send the metrics of a delivery that has a verdict, by the body of its event."""
    dataset, rows = body.get("line"), body.get("rows")
    if not dataset or not body.get("verdict") or not _is_measured(dataset):
        return
    found = _metrics_of(dataset)
    if rows is not None:
        found.add_metric(DatasetMetric.ROWS, MetricUnit.Count, rows)
    if rows:
        found.add_metric(DatasetMetric.REJECTED, MetricUnit.Percent, 100 * (body.get("rejected_rows") or 0) / rows)
    if (seconds := body.get("seconds")) is not None:
        found.add_metric(DatasetMetric.MINUTES, MetricUnit.NoUnit, seconds / 60)
    found.flush_metrics()


def are_any_measured() -> bool:
    """Whether a dataset may have metrics of its own."""
    return bool(os.environ.get(NAMED))


def count_ages(datasets: Iterable[DatasetSummary], now: datetime) -> None:
    """Send for each dataset the time since it was accepted the last time; not of retired ones, and where nothing was."""
    for each in datasets:
        if each.last_accepted and each.status != "retired" and _is_measured(each.dataset):
            found = _metrics_of(each.dataset)
            minutes = max((now - instant_of(each.last_accepted)).total_seconds() / 60, 0.0)
            found.add_metric(DatasetMetric.AGE, MetricUnit.NoUnit, minutes)
            found.flush_metrics()


def _is_measured(dataset: str) -> bool:
    named = [each for each in os.environ.get(NAMED, "").split(",") if each]
    return bool(named) and not dataset.startswith(f"{UNROUTED}/") and are_named(named, parts_of(dataset)[0])


def _metrics_of(dataset: str) -> AmazonCloudWatchEMFProvider:
    dimensions = {"stack": os.environ.get(STACK, NAMESPACE), "dataset": _sent().dimension(dataset)}
    return AmazonCloudWatchEMFProvider(namespace=NAMESPACE, default_dimensions=dimensions)
