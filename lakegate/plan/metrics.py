"""The metrics of checks: what an engine measures, and what its number means.

`METRICS` is the table of their properties; plans, verdicts and texts read it. `lakegate.engine.evaluate.predicate_sql` adds how
the engines compute those of numbers and keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Metric(Enum):
    """Metrics that an engine measures for checks."""

    ROW_COUNT = "row_count"
    FAILING_ROWS = "failing_rows"
    """Rows for which the tier's predicate does not hold."""
    DUPLICATE_ROWS = "duplicate_rows"
    """Rows that share their key with another row; rows with a null in the key are ignored."""
    DUPLICATE_KEYS = "duplicate_keys"
    """Complete keys that occur more than once, each counted once."""
    DISTINCT_COUNT = "distinct_count"
    """Distinct complete keys."""
    DISTINCT_SHARE = "distinct_share"
    """The share of distinct values among the non-null values."""
    MOST_COMMON = "most_common"
    """The number of most common values that meet the tier's predicate; more than one if several are equally common."""
    MEAN = "mean"
    SUM = "sum"
    DEVIATION = "deviation"
    """Sample standard deviation (n - 1), as in Great Expectations and DCM."""
    ANSWER = "answer"
    """The number that the check's query returns."""
    UNMATCHED_ROWS = "unmatched_rows"
    """Rows whose key does not exist in the data it refers to; rows with a null in the key are ignored."""
    QUANTILE = "quantile"
    """The value below which a share of the values lies, interpolated between two values (0.5 is the median)."""
    MEAN_LENGTH = "mean_length"
    """The average length of texts, in code points."""
    YOUNGEST = "youngest"
    """Seconds from the latest timestamp to the judging time; negative if it is in the future."""
    OLDEST = "oldest"
    """Seconds from the earliest timestamp to the judging time."""
    DELAY = "delay"
    """The longest duration from the first field's timestamp to the second's, in seconds."""
    COLUMN_COUNT = "column_count"
    """Columns of the file."""
    COLUMNS = "columns"
    """Columns that violate the check's requirement of the header."""
    EXTERNAL = "external"
    """Answers of another service that say that the rule is broken (`lakegate.plan.external_rule`)."""

    @property
    def spec(self) -> MetricSpec:
        """The properties of the metric."""
        return METRICS[self]

    @property
    def floating(self) -> bool:
        """Whether the number is a floating-point aggregate."""
        return self.spec.number is Number.FLOATING

    @property
    def is_duration(self) -> bool:
        """Whether the number counts seconds."""
        return self.spec.number is Number.SECONDS

    @property
    def is_query(self) -> bool:
        """Whether it is measured by a separate query instead of the shared scan."""
        return self.spec.source is MetricSource.QUERY

    @property
    def is_key_based(self) -> bool:
        """Whether keys are compared with each other."""
        return self.spec.source is MetricSource.KEYS

    @property
    def of_header(self) -> bool:
        """Whether the header alone gives the metric."""
        return self.spec.source is MetricSource.HEADER

    @property
    def is_external(self) -> bool:
        """Whether another service measures it, and no engine."""
        return self.spec.source is MetricSource.VALIDATOR

    @property
    def of_rows(self) -> bool:
        """Whether the metric is a number of bad rows."""
        return self.spec.counts_bad_rows


class MetricSource(Enum):
    """The source from which a metric is measured."""

    RECORDS = "records"
    KEYS = "keys"
    QUERY = "query"
    HEADER = "header"
    VALIDATOR = "validator"


class Number(Enum):
    """The number of a measurement that is compared with the interval."""

    FAILING = "failing"
    """Failing rows, columns or keys, converted into the check's unit."""
    TOTAL = "total"
    REMAINING = "remaining"
    """The total without the failing ones."""
    FLOATING = "floating"
    SECONDS = "seconds"
    ANSWER = "answer"
    """The exact result of a query."""


class Over(Enum):
    """The records that a metric is measured over."""

    ROWS = "rows"
    VALUES = "values"
    """Those with values of the check's fields."""
    TEXTS = "texts"
    """Those with texts, whether or not these are values of the field's type."""


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """The properties of a metric."""

    number: Number
    source: MetricSource = MetricSource.RECORDS
    over: Over = Over.VALUES
    counts_bad_rows: bool = False
    unit: str = "value"
    """The unit of the number in documents; bad rows and durations have units of their own."""
    noun: tuple[str, str] | None = None
    """Follows the number in a sentence, of one and of several; of metrics that are defined without values."""
    text: tuple[str, str] | None = None
    """The sentences of a count, of one that fails and of several, with its numbers (`_counts` of measured_numbers.py)."""


METRICS: dict[Metric, MetricSpec] = {
    Metric.ROW_COUNT: MetricSpec(Number.TOTAL, over=Over.ROWS, unit="rows", noun=("row", "rows")),
    Metric.FAILING_ROWS: MetricSpec(Number.FAILING, over=Over.ROWS, counts_bad_rows=True),
    Metric.DUPLICATE_ROWS: MetricSpec(Number.FAILING, MetricSource.KEYS, counts_bad_rows=True),
    Metric.DUPLICATE_KEYS: MetricSpec(
        Number.FAILING,
        MetricSource.KEYS,
        unit="values",
        text=("{failing:,} value in more than one row", "{failing:,} values in more than one row"),
    ),
    Metric.DISTINCT_COUNT: MetricSpec(
        Number.REMAINING, MetricSource.KEYS, unit="values", noun=("distinct value", "distinct values")
    ),
    Metric.DISTINCT_SHARE: MetricSpec(
        Number.FAILING, MetricSource.KEYS, counts_bad_rows=True, text=("{good} distinct", "{good} distinct")
    ),
    Metric.MOST_COMMON: MetricSpec(
        Number.REMAINING, MetricSource.KEYS, unit="values", noun=("such value", "such values")
    ),
    Metric.MEAN: MetricSpec(Number.FLOATING),
    Metric.SUM: MetricSpec(Number.FLOATING),
    Metric.DEVIATION: MetricSpec(Number.FLOATING),
    Metric.ANSWER: MetricSpec(Number.ANSWER, MetricSource.QUERY),
    Metric.UNMATCHED_ROWS: MetricSpec(
        Number.FAILING,
        MetricSource.QUERY,
        counts_bad_rows=True,
        text=(
            "{failing:,} of {counted_keys} is found nowhere ({bad})",
            "{failing:,} of {counted_keys} are found nowhere ({bad})",
        ),
    ),
    Metric.QUANTILE: MetricSpec(Number.FLOATING),
    Metric.MEAN_LENGTH: MetricSpec(Number.FLOATING, over=Over.TEXTS, unit="characters"),
    Metric.YOUNGEST: MetricSpec(Number.SECONDS),
    Metric.OLDEST: MetricSpec(Number.SECONDS),
    Metric.DELAY: MetricSpec(Number.SECONDS),
    Metric.COLUMN_COUNT: MetricSpec(Number.TOTAL, MetricSource.HEADER, unit="columns", noun=("column", "columns")),
    Metric.COLUMNS: MetricSpec(
        Number.FAILING, MetricSource.HEADER, unit="columns", noun=("column otherwise", "columns otherwise")
    ),
    Metric.EXTERNAL: MetricSpec(
        Number.FAILING,
        MetricSource.VALIDATOR,
        unit="answers",
        text=(
            "{failing:,} of {of:,} answers of the validator says that it is broken",
            "{failing:,} of {of:,} answers of the validator say that it is broken",
        ),
    ),
}
