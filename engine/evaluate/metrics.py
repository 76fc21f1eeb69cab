"""How both engines compute the metrics of numbers and of keys from the partial results of shares.

A metric is a row here and in `lakegate.contracts.plan.metrics`. Natively aggregates are added up in this process
(`lakegate.engine.measure.metrics`); in the job Deequ computes them (`lakegate.spark_jobs.checks`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakegate.contracts.plan.metrics import Metric

if TYPE_CHECKING:
    from collections.abc import Callable

MICROSECONDS = 10**6
"""In a second."""


@dataclass(frozen=True, slots=True)
class NumberMetric:
    """A metric of the numbers in some records."""

    kind: str
    """The kind of numbers, as in `lakegate.engine.evaluate.program.Numbers`."""
    aggregate: str | None
    """Their aggregate, a key of `lakegate.engine.measure.aggregates`; None for a quantile, which needs all of them."""
    value: Callable[[float, int], float | None]
    """The metric of an aggregate and of how many numbers there are."""


@dataclass(frozen=True, slots=True)
class KeyMetric:
    """A metric of the keys in some records."""

    count: str
    """The count: of `keys`, of `repeated` keys (in more than one row), of rows with a `shared` key, of the `most_common` keys."""
    is_remainder: bool = False
    """Whether the records without the count fail."""
    of_all_rows: bool = False
    """Whether it is measured over all rows, also those without a key, unless a filter selects rows."""


def _value(found: float, _: int) -> float:
    return float(found)


def _mean(total: float, count: int) -> float:
    return float(total / count)


def _deviation(squares: float, count: int) -> float | None:
    return math.sqrt(squares / (count - 1)) if count > 1 else None


def _seconds(found: float, _: int) -> float:
    return found / MICROSECONDS


NUMBER_METRICS: dict[Metric, NumberMetric] = {
    Metric.MEAN: NumberMetric("float", "total", _mean),
    Metric.SUM: NumberMetric("float", "total", _value),
    Metric.DEVIATION: NumberMetric("float", "squares", _deviation),
    Metric.QUANTILE: NumberMetric("float", None, _value),
    Metric.MEAN_LENGTH: NumberMetric("length", "total", _mean),
    Metric.YOUNGEST: NumberMetric("moment", "youngest", _seconds),
    Metric.OLDEST: NumberMetric("moment", "oldest", _seconds),
    Metric.DELAY: NumberMetric("delay", "greatest", _seconds),
}
KEY_METRICS: dict[Metric, KeyMetric] = {
    Metric.DUPLICATE_ROWS: KeyMetric("shared", of_all_rows=True),
    Metric.DUPLICATE_KEYS: KeyMetric("repeated", of_all_rows=True),
    Metric.DISTINCT_COUNT: KeyMetric("keys", is_remainder=True),
    Metric.DISTINCT_SHARE: KeyMetric("keys", is_remainder=True),
    Metric.MOST_COMMON: KeyMetric("most_common", is_remainder=True),
}
