"""Index of finished deliveries by verdict and rule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, Final, NamedTuple

from lakegate.base.timestamps import instant_of
from lakegate.gate.datasets.accepted_deliveries import not_current_at
from lakegate.gate.ledger.blocks import Block, deliveries
from lakegate.gate.registry.next_dataset import next_dataset
from lakegate.gate.registry.version_in_use import labels_of_dataset
from lakegate.plan.metrics import Metric
from lakegate.plan.plan import Plan
from lakegate.report.dataset_report import DatasetHistory, DeadlineStatus, ReportedDelivery, history_of
from lakegate.verdict.verdict import LONGEST_RULE, Verdict

if TYPE_CHECKING:
    from lakegate.gate.dependencies import Dependencies
    from lakegate.gate.ledger.ledger_store import FinishedDelivery

# ---- A page of the history ----


PAGE: Final = 500
"""Entries of one query; fewer where a page has fewer."""
SKEW: Final = timedelta(minutes=15)
"""By how much the clocks of two workers may differ: heights grow with time only as exactly as that."""


class Page(NamedTuple):
    """One page of a history, the newest delivery first."""

    entries: tuple[FinishedDelivery, ...]
    below: int | None
    """The height below which the next page begins; None: there is none."""


def history(  # noqa: PLR0913 - a history is chosen by these
    dependencies: Dependencies,
    dataset: str,
    *,
    rule: str = "",
    verdict: str = "",
    since: datetime | None = None,
    below: int | None = None,
    limit: int = 20,
) -> Page:
    """A page of the finished deliveries of a dataset, of at most `limit`."""
    found: list[FinishedDelivery] = []
    for each in chosen(dependencies, dataset, rule=rule, verdict=verdict, since=since, below=below, page=limit + 1):
        found.append(each)
        if len(found) > limit:
            return Page(tuple(found[:limit]), found[limit - 1].height)
    return Page(tuple(found), None)


def chosen(  # noqa: PLR0913 - likewise
    dependencies: Dependencies,
    dataset: str,
    *,
    rule: str = "",
    verdict: str = "",
    since: datetime | None = None,
    below: int | None = None,
    page: int = PAGE,
) -> Iterator[FinishedDelivery]:
    """The finished deliveries of a dataset, the newest first; read page by page, as far as they are taken."""
    by_verdict = "" if rule else verdict
    while True:
        size = min(page, PAGE)
        entries = dependencies.history.entries(dataset, rule=rule, verdict=by_verdict, below=below, limit=size)
        for entry in entries:
            at = datetime.fromisoformat(entry.at)
            if since is not None and at < since - SKEW:
                return
            if (since is None or at >= since) and verdict in {"", entry.verdict}:
                yield entry
        if len(entries) < size:
            return
        below = entries[-1].height


# ---- The history for a report ----


def report_dataset(dependencies: Dependencies, dataset: str, since: datetime) -> DatasetHistory:
    """The deliveries of a dataset that were finished since a time; accepted ones that are not current are only counted.

    Two range queries, the head of the manifest, and one plan: that of the latest delivery.

    Raises Alarm where that plan is missing.
    """
    state = not_current_at(dependencies, dataset)
    finished = list(chosen(dependencies, dataset, since=since))
    entries = [each for each in finished if each.height not in state][::-1]
    blocks = _blocks(dependencies, dataset, entries)
    plan = _latest_plan(dependencies, entries, blocks)
    checks = [check for check in plan.checks if check.skip is None] if plan else []
    limits = [check.accept.interval.high for check in checks if check.metric is Metric.YOUNGEST]
    now, current = dependencies.now, dependencies.deadlines.get(dataset)
    ended = {deadline.name: instant_of(current.end_of(deadline)) for deadline in current.deadlines}
    found = history_of(
        dataset,
        (since, now),
        [_delivery(entry, blocks) for entry in entries],
        dict.fromkeys(check.rule[:LONGEST_RULE] for check in checks),
        min((Fraction(limit) for limit in limits if limit is not None), default=None),
    )
    found.not_current = tuple((Verdict(each.verdict), why) for each in finished if (why := state.why(each.height)))
    accepted = [delivery.at for delivery in found.deliveries if delivery.verdict is not Verdict.REJECTED]
    found.last_accepted = max([*accepted, *([instant_of(current.last)] if current.last else [])], default=None)
    found.deadlines = tuple(
        DeadlineStatus(deadline.name, deadline.seconds, ended[deadline.name], ended[deadline.name] < now)
        for deadline in current.deadlines
    )
    labels, following = labels_of_dataset(dependencies, dataset), next_dataset(dependencies, dataset)
    found.name, found.owner = labels.get("name", ""), labels.get("owner", "")
    found.replaced_by = following.in_words() if following else ""
    return found


def _blocks(dependencies: Dependencies, dataset: str, entries: list[FinishedDelivery]) -> dict[int, Block]:
    """The blocks of the deliveries, by height."""
    if not entries:
        return {}
    lowest = min(entry.height for entry in entries)
    return {
        delivery.height: delivery
        for delivery in deliveries(dependencies.ledger.blocks(dataset, lowest - 1, strict=False))
    }


def _latest_plan(dependencies: Dependencies, entries: list[FinishedDelivery], blocks: dict[int, Block]) -> Plan | None:
    """None where no delivery had one: no route covered it."""
    found = next((blocks[entry.height] for entry in reversed(entries) if blocks[entry.height].plan), None)
    return Plan.from_bytes(dependencies.plan_at(found.plan, found.workload)) if found else None


def _delivery(entry: FinishedDelivery, blocks: dict[int, Block]) -> ReportedDelivery:
    span = blocks[entry.height].event_time
    return ReportedDelivery(
        datetime.fromisoformat(entry.at),
        Verdict(entry.verdict),
        entry.rows,
        entry.rules if entry.indexed else None,
        datetime.fromisoformat(span[1]) if span else None,
        entry.anomalies,
    )


# ---- What enforcement would have refused ----


@dataclass(slots=True)
class Refusals:
    """Refusals of a group of deliveries."""

    deliveries: int = 0
    """Observed ones; of a rule those that break it."""
    refused: int = 0
    """Whole deliveries that would be in quarantine."""
    refused_rows: int = 0
    """Rows that would be in quarantine; of a rule its failing rows."""


@dataclass(slots=True)
class ObserveReport:
    """A dataset under observation, over some time."""

    total: Refusals = field(default_factory=Refusals)
    rows: int = 0
    """Of all observed deliveries."""
    enforced: int = 0
    """Deliveries that were judged under `mode: enforce`, or that were never measured: they are not part of the report."""
    rules: dict[str, Refusals] = field(default_factory=dict)
    """By rule, those that failed; the most deliveries first."""
    producers: dict[str, Refusals] = field(default_factory=dict)
    """By folder of the landing bucket: text of the producers'. The most refused deliveries first."""


def observe_report(dependencies: Dependencies, dataset: str, since: datetime) -> ObserveReport:
    """Refusals by `mode: enforce` since a time, from the index: no delivery is read or evaluated again."""
    report = ObserveReport()
    for each in chosen(dependencies, dataset, since=since):
        _add(report, each)
    report.rules = dict(sorted(report.rules.items(), key=lambda one: (-one[1].deliveries, one[0])))
    report.producers = dict(sorted(report.producers.items(), key=lambda one: (-one[1].refused, one[0])))
    return report


def _add(report: ObserveReport, entry: FinishedDelivery) -> None:
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
