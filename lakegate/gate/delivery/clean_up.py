"""Steps 11 to 13: manifest, report, landing and staging deleted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from lakegate.base.errors import ConditionFailed, PortError
from lakegate.gate import lake_layout
from lakegate.gate.datasets import readers_manifest
from lakegate.gate.datasets.delivery_standing import standing_of
from lakegate.gate.delivery.decide_verdict import report_of
from lakegate.gate.delivery.delivery_row import Workload, archived_bytes
from lakegate.gate.delivery.find_deliveries import Delivery, delivery_of, places_of
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.transition import DeliveryTurn, move
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Effect, Steps, perform
from lakegate.gate.ledger.ledger_store import FinishedDelivery
from lakegate.gate.ports import Address, every_version
from lakegate.plan.billed_cost import BilledCost
from lakegate.report.delivery_report import MAX_DELIVERIES, PastDelivery, render, render_unmeasured
from lakegate.verdict.reasons import is_of_gate
from lakegate.verdict.verdict import Verdict

_WRITTEN: Final = re.compile(f"/{lake_layout.WRITTEN_BY_RUNS}/")


def tidy(turn: DeliveryTurn) -> Steps[Workload]:
    """Bring the manifest up to date, delete the judged version by its id and all other copies, write the report, then close.

    Each of it may be done again.
    """
    if turn.row.due_at is None:
        return turn.row
    if turn.row.state is State.PUBLISHED or _ends_segment(turn):
        yield from readers_manifest.update(turn.gate, turn.pin.dataset, turn.row.height)
    for effect, at in _unneeded(turn):
        yield from perform(effect, turn.gate.delete, at)
    closed, kept = turn.row._replace(due_at=None, request=""), turn.gate.timing.kept
    if kept and turn.row.source.bucket not in turn.gate.undeletable:  # else it would be taken in again
        # the time follows from the row, so that every worker writes the same
        leaves = datetime.fromisoformat(turn.pin.judging_time) + kept
        closed = closed._replace(expires=int(leaves.timestamp()))
    yield from write_report(turn)
    where = turn.gate.in_lake(lake_layout.row_key(turn.row.id))
    yield from perform(Effect.ARCHIVE, turn.gate.objects.put, where, archived_bytes(closed))
    return (yield from move(turn, Effect.CLOSE, closed))


def _ends_segment(turn: DeliveryTurn) -> bool:
    """Whether the block completes a segment of the manifest: rejected deliveries are no part of it, but are read from it on."""
    return bool(turn.row.pin and turn.pin.plan) and (turn.row.height + 1) % turn.gate.places.segment_heights == 0


def _unneeded(turn: DeliveryTurn) -> Iterator[tuple[Effect, Address]]:
    """The judged versions by their ids: the parts, then the object that completed them; then every other copy.

    Copies are staged ones, and rows of a split, slices and typed files, which are committed; of attempts that were given up and
    of rejected deliveries, too.
    """
    for part in turn.landed.parts:
        if turn.owns(part):
            yield Effect.DELETE_SOURCE, part.address
    if (last := turn.row.marker) is not None:
        yield Effect.DELETE_SOURCE, last.address
    for copy in turn.copies:
        yield Effect.DELETE_STAGING, Address(copy.bucket, copy.key)
    if turn.terms.by_run:
        folder = f"{lake_layout.batch_prefix(turn.row.batch)}{turn.row.id}/"
        for share in [*every_version(turn.gate.objects, turn.gate.places.lake, folder)]:
            if share.current and _WRITTEN.search(share.key):
                yield Effect.DELETE_STAGING, Address(share.bucket, share.key)


# ---- The page about a finished delivery ----
# It is written after everything else of the delivery, so that nothing waits for it. What cannot be rendered is replaced by a
# page with verdict and reasons alone. Where AWS refuses, `sweep` tries again until a day after intake; then there is no report.


HTML: Final = "text/html; charset=utf-8"
TRIED_FOR: Final = timedelta(days=1)
"""After intake, a report that could not be written is given up."""


def write_report(turn: DeliveryTurn) -> Steps[None]:
    """Write the report of a finished delivery, once."""
    where = turn.gate.in_lake(lake_layout.report_key(turn.row.id))
    try:
        body = _page(turn).encode()
        yield from perform(Effect.WRITE_REPORT, turn.gate.objects.put, where, body, absent=True, content_type=HTML)
    except ConditionFailed:
        return  # an earlier worker wrote it
    except PortError:
        if turn.now < datetime.fromisoformat(turn.pin.judging_time) + TRIED_FOR:
            raise


def _page(turn: DeliveryTurn) -> str:
    delivery = delivery_of(turn.row)
    try:
        return page_of(turn.gate, delivery)
    except PortError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a page cannot show must not keep a delivery from being closed
        note = ("Not shown", f"the checks: {type(error).__name__}; see lakegate reasons {turn.row.id}")
        decision = turn.decision
        return render_unmeasured(Verdict(decision.verdict), decision.counts, decision.reasons, [note])


def page_of(dependencies: Dependencies, delivery: Delivery) -> str:
    """The report of a delivery that was decided on, or FAILED with a result.

    Raises Alarm or InputError where plan or result are missing or no longer what was decided on, PortError.
    """
    assert delivery.row is not None
    turn = DeliveryTurn(dependencies, delivery.row)
    pin, row = turn.pin, turn.row
    latest = dependencies.history.entries(pin.dataset, limit=MAX_DELIVERIES) if pin.plan else ()
    facts = list(_facts(turn, delivery, latest))
    past = [PastDelivery(entry.at, Verdict(entry.verdict), len(entry.rules)) for entry in reversed(latest)]
    report = report_of(turn, of_parts=True)
    if report is None:
        contract = [("Contract", f"{pin.contract} {pin.version}")] if pin.contract else []
        facts = [("Files", delivery.key), *contract, *facts]
        decision = turn.decision
        return render_unmeasured(Verdict(decision.verdict), decision.counts, decision.reasons, facts, past)
    reasons = row.decision.reasons if row.decision else ()
    return render(report, facts, past, [reason for reason in reasons if is_of_gate(reason)])


def _facts(turn: DeliveryTurn, delivery: Delivery, latest: Sequence[FinishedDelivery]) -> Iterator[tuple[str, str]]:
    row, began = turn.row, datetime.fromisoformat(turn.pin.judging_time)
    yield "Workload", row.id
    yield "Taken in", _time(began)
    ended = next((entry.at for entry in latest if entry.workload == row.id), None)
    at = delivery.at if delivery.block else datetime.fromisoformat(ended) if ended else None
    if at is not None:
        yield "Completed", f"{_time(at)}, after {max((at - began).total_seconds(), 0):.1f} s"
    if row.cost is not None:
        yield "Cost", _cost(row.cost)
    yield from (("Anomaly", anomaly.text) for anomaly in row.anomalies)
    yield from _replacements(turn, latest)
    yield "The data is at", ", ".join(places_of(turn.gate, delivery))


def _replacements(turn: DeliveryTurn, latest: Sequence[FinishedDelivery]) -> Iterator[tuple[str, str]]:
    """The deliveries in whose place it came, and the one in its place now, as far as the latest ones of its dataset say."""
    by_height = {entry.height: entry for entry in latest}
    own = by_height.get(turn.row.height)
    for height in own.supersedes if own is not None and own.workload == turn.row.id else ():
        before = by_height.get(height)
        yield (
            "Replaces",
            _other(before.workload, before.at) if before else f"the delivery at height {height} of the ledger",
        )
    if any(turn.row.height in entry.supersedes for entry in latest):
        there = standing_of(turn.gate, turn.pin.dataset, turn.row.height).superseded_by
        if there is not None:
            yield "Replaced by", _other(there.workload, there.system_time)


def _other(workload: str, at: str) -> str:
    return f"{workload} of {_time(datetime.fromisoformat(at))}"


def _cost(cost: BilledCost) -> str:
    used = f"{cost.vcpu_seconds:,.1f} vCPU-seconds, {cost.gb_seconds:,.1f} GB-seconds"
    return f"{cost.money:.6f} {cost.currency} ({used}, prices of {cost.dated})"


def _time(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
