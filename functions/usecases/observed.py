"""What enforcement would have refused of the deliveries of a line that is only observed (`mode: observe`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lakegate.contracts.judge.verdict import Verdict
from lakegate.functions.usecases.history import chosen

if TYPE_CHECKING:
    from datetime import datetime

    from lakegate.functions.ports.history import HistoryEntry
    from lakegate.functions.usecases.dependencies import Dependencies


@dataclass(slots=True)
class Refusals:
    """What would have been refused of a group of deliveries."""

    deliveries: int = 0
    """Observed ones; of a rule those that break it."""
    refused: int = 0
    """Whole deliveries that would be in quarantine."""
    refused_rows: int = 0
    """Rows that would be in quarantine; of a rule its failing rows."""


@dataclass(slots=True)
class ObserveReport:
    """A line under observation, over some time."""

    total: Refusals = field(default_factory=Refusals)
    rows: int = 0
    """Of all observed deliveries."""
    enforced: int = 0
    """Deliveries that were judged under `mode: enforce`, or that were never measured: they are not part of the report."""
    rules: dict[str, Refusals] = field(default_factory=dict)
    """By rule, those that failed; the most deliveries first."""
    producers: dict[str, Refusals] = field(default_factory=dict)
    """By folder of the landing bucket: text of the producers'. The most refused deliveries first."""


def observe_report(dependencies: Dependencies, chain: str, since: datetime) -> ObserveReport:
    """What `mode: enforce` would have refused since a time, from the index: no delivery is read or judged again."""
    report = ObserveReport()
    for each in chosen(dependencies, chain, since=since):
        _add(report, each)
    report.rules = dict(sorted(report.rules.items(), key=lambda one: (-one[1].deliveries, one[0])))
    report.producers = dict(sorted(report.producers.items(), key=lambda one: (-one[1].refused, one[0])))
    return report


def _add(report: ObserveReport, entry: HistoryEntry) -> None:
    found = entry.enforced
    if found is None:
        report.enforced += 1
        return
    is_refused = found.verdict == Verdict.REJECTED
    report.rows += entry.rows or 0
    for group in (report.total, report.producers.setdefault(entry.producer, Refusals())):
        group.deliveries += 1
        group.refused += is_refused
        group.refused_rows += found.refused_rows
    for rule in entry.rules:
        if rule.status == "fail":
            of_rule = report.rules.setdefault(rule.rule, Refusals())
            of_rule.deliveries += 1
            of_rule.refused += is_refused
            of_rule.refused_rows += rule.rows or 0
