"""The history of a line for its report: from the index of finished deliveries and the ledger, no result is read."""

from __future__ import annotations

from datetime import datetime
from fractions import Fraction
from typing import TYPE_CHECKING

from lakegate.contracts.judge.counts import LONGEST_RULE
from lakegate.contracts.judge.verdict import Verdict
from lakegate.contracts.lake.block import deliveries
from lakegate.contracts.lake.lifecycle import instant_of
from lakegate.contracts.plan.metrics import Metric
from lakegate.contracts.plan.plan import Plan
from lakegate.contracts.report.line import LineDelivery, LineHistory, TimePromise, history_of
from lakegate.functions.usecases.history import chosen

if TYPE_CHECKING:
    from lakegate.contracts.lake.block import Block
    from lakegate.functions.ports.history import HistoryEntry
    from lakegate.functions.usecases.dependencies import Dependencies


def line_report(dependencies: Dependencies, chain: str, since: datetime) -> LineHistory:
    """The deliveries of a line that were finished since a time. Two range queries, and one plan: that of the latest delivery.

    Raises Alarm where that plan is missing.
    """
    entries = list(chosen(dependencies, chain, since=since))[::-1]
    blocks = _blocks(dependencies, chain, entries)
    plan = _latest_plan(dependencies, entries, blocks)
    checks = [each for each in plan.checks if each.skip is None] if plan else []
    limits = [each.accept.interval.high for each in checks if each.metric is Metric.YOUNGEST]
    now, promising = dependencies.clock.now(), dependencies.promises.get(chain)
    ended = {each.name: instant_of(promising.end_of(each)) for each in promising.pledges}
    found = history_of(
        chain,
        (since, now),
        [_delivery(each, blocks) for each in entries],
        dict.fromkeys(each.rule[:LONGEST_RULE] for each in checks),
        min((Fraction(each) for each in limits if each is not None), default=None),
    )
    accepted = [each.at for each in found.deliveries if each.verdict is not Verdict.REJECTED]
    found.last_accepted = max([*accepted, *([instant_of(promising.last)] if promising.last else [])], default=None)
    found.promises = tuple(
        TimePromise(each.name, each.seconds, ended[each.name], ended[each.name] < now) for each in promising.pledges
    )
    return found


def _blocks(dependencies: Dependencies, chain: str, entries: list[HistoryEntry]) -> dict[int, Block]:
    """The blocks of the deliveries, by height."""
    if not entries:
        return {}
    lowest = min(each.height for each in entries)
    return {each.height: each for each in deliveries(dependencies.ledger.blocks(chain, lowest - 1, strict=False))}


def _latest_plan(dependencies: Dependencies, entries: list[HistoryEntry], blocks: dict[int, Block]) -> Plan | None:
    """None where no delivery had one: no route covered it."""
    found = next((blocks[each.height] for each in reversed(entries) if blocks[each.height].plan), None)
    return Plan.from_bytes(dependencies.plan_at(found.plan, found.workload)) if found else None


def _delivery(entry: HistoryEntry, blocks: dict[int, Block]) -> LineDelivery:
    span = blocks[entry.height].event_time
    return LineDelivery(
        datetime.fromisoformat(entry.at),
        Verdict(entry.verdict),
        entry.rows,
        entry.rules if entry.indexed else None,
        datetime.fromisoformat(span[1]) if span else None,
    )
