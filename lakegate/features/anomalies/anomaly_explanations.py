"""Numbers that an anomaly is about, as `lakegate explain` has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from lakegate.cli.contracts.explain_command import OutcomeExplanation

WORDS: Final[Mapping[str, str]] = {
    "anomaly": (
        "A number of an accepted delivery is outside of what the last deliveries had. The verdict stands. Look at the delivery:"
        " `lakegate recall` takes it back, and a rule with a threshold rejects the next one. `anomalies` says what is compared."
    ),
    "rows": "Of an anomaly: the number of rows.",
    "rejected-rows": "Of an anomaly: the share of rows that break a rule of single rows, or are malformed.",
    "gap": "Of an anomaly: the seconds from the landing of the accepted delivery before to that of this one.",
    "nulls": "Of an anomaly: the share of rows that have no value of a field.",
    "failing-rows": "Of an anomaly: the share of rows or values that a check counts as bad.",
    "distinct-values": "Of an anomaly: the distinct values that a check has counted.",
    "age": "Of an anomaly: the age of the youngest row, or the longest delay, that a check has measured; in seconds.",
    "value": "Of an anomaly: a mean, sum, deviation, quantile or length that a check has measured, or the result of a query.",
}


def explanations() -> Iterator[OutcomeExplanation]:
    """Each with its meaning, and what to do."""
    return (OutcomeExplanation(name, words, "docs/operator.md") for name, words in WORDS.items())
