"""Steps 11 to 13: manifest, report, landing and staging deleted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from lakegate.base.errors import AccessDenied, ConditionFailed, PortError
from lakegate.gate import lake_layout
from lakegate.gate.datasets import readers_manifest
from lakegate.gate.delivery.delivery_row import TERMINAL, Decision, Workload, archived_bytes
from lakegate.gate.delivery.find_deliveries import Delivery, delivery_of, result_of
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.publish_data import completing
from lakegate.gate.delivery.transition import DeliveryTurn, move
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Effect, Steps, perform
from lakegate.gate.ledger.ledger_store import FinishedDelivery
from lakegate.gate.ledger.stored_objects import versions_of
from lakegate.gate.ports import Address
from lakegate.plan.billed_cost import BilledCost
from lakegate.report.delivery_report import PastDelivery

# ---- The HTML report ----
# It is written after everything else of the delivery, so that nothing waits for it. What cannot be rendered is replaced by a
# page with verdict and reasons alone. Where AWS refuses, `sweep` tries again until a day after intake; then there is no report.


HTML: Final = "text/html; charset=utf-8"
TRIED_FOR: Final = timedelta(days=1)
"""After intake, a report that could not be written is given up."""


def write(turn: DeliveryTurn) -> Steps[None]:
    """Write the report of a finished delivery, once."""
    where = Address(turn.gate.places.lake, lake_layout.report_key(turn.row.id))
    try:
        body = _page(turn).encode()
        yield from perform(Effect.WRITE_REPORT, turn.gate.objects.put, where, body, absent=True, content_type=HTML)
    except ConditionFailed:
        return  # an earlier worker wrote it
    except PortError:
        if turn.now < datetime.fromisoformat(turn.pin.judging_time) + TRIED_FOR:
            raise


def page_of(dependencies: Dependencies, delivery: Delivery) -> str:
    """The report of a delivery that was decided on, or FAILED with a result.

    Raises Alarm or InputError where plan or result are missing or no longer what was decided on, PortError.
    """
    from lakegate.report.delivery_report import render  # noqa: PLC0415 - likewise
    from lakegate.verdict.reasons import is_of_gate  # noqa: PLC0415 - intake starts without judgement

    row = delivery.row
    assert row is not None
    turn = DeliveryTurn(dependencies, row)
    entries = _entries(turn)
    facts = list(_facts(dependencies, delivery, entries))
    past = _past(entries)
    reasons = row.decision.reasons if row.decision else ()
    result = result_of(turn)
    if result is None:
        return _unmeasured(turn.decision, [("Files", delivery.key), *_contract(row), *facts], past)
    from lakegate.gate.delivery.decide_verdict import reported  # noqa: PLC0415 - likewise

    files = tuple(each.key for each in turn.landed.parts) if row.parts else (delivery.key,)
    report = reported(turn.plan, result, row, files)
    return render(report, facts, past, [each for each in reasons if is_of_gate(each)])


def _page(turn: DeliveryTurn) -> str:
    try:
        return page_of(turn.gate, delivery_of(turn.row))
    except PortError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a page cannot show must not keep a delivery from being closed
        note = ("Not shown", f"the checks: {type(error).__name__}; see lakegate reasons {turn.row.id}")
        return _unmeasured(turn.decision, [note])


def _unmeasured(decision: Decision, facts: Sequence[tuple[str, str]], past: Sequence[PastDelivery] = ()) -> str:
    """A page of the decision alone."""
    from lakegate.report.delivery_report import render_unmeasured  # noqa: PLC0415 - as above
    from lakegate.verdict.verdict import Verdict  # noqa: PLC0415 - as above

    rows = decision.counts.rows_in_words if decision.counts else "its rows were not read"
    return render_unmeasured(Verdict(decision.verdict), rows, decision.reasons, facts, past)


def _entries(turn: DeliveryTurn) -> tuple[FinishedDelivery, ...]:
    """The latest deliveries of its line, the newest first; none where no route covered it."""
    from lakegate.report.delivery_report import MAX_DELIVERIES  # noqa: PLC0415 - as above

    if not turn.pin.plan:
        return ()
    return turn.gate.history.entries(turn.pin.chain, limit=MAX_DELIVERIES)


def _past(entries: tuple[FinishedDelivery, ...]) -> list[PastDelivery]:
    from lakegate.report.delivery_report import PastDelivery  # noqa: PLC0415 - as above
    from lakegate.verdict.verdict import Verdict  # noqa: PLC0415 - as above

    return [PastDelivery(each.at, Verdict(each.verdict), len(each.rules)) for each in reversed(entries)]


def _contract(row: Workload) -> Iterator[tuple[str, str]]:
    if row.pin is not None and row.pin.contract:  # no route covers the key, else
        yield "Contract", f"{row.pin.contract} {row.pin.version}"


def _facts(
    dependencies: Dependencies, delivery: Delivery, entries: tuple[FinishedDelivery, ...]
) -> Iterator[tuple[str, str]]:
    row = delivery.row
    assert row is not None
    began = datetime.fromisoformat(row.pinned.judging_time)
    yield "Workload", row.id
    yield "Taken in", _time(began)
    ended = next((each.at for each in entries if each.workload == row.id), None)
    at = delivery.at if delivery.block else datetime.fromisoformat(ended) if ended else None
    if at is not None:
        yield "Completed", f"{_time(at)}, after {max((at - began).total_seconds(), 0):.1f} s"
    if row.cost is not None:
        yield "Cost", _cost(row.cost)
    yield "The data is at", _place(dependencies, delivery, row)


def _place(dependencies: Dependencies, delivery: Delivery, row: Workload) -> str:
    """The objects of its block, else their folder; landing for what is not finished."""
    lake = dependencies.places.lake
    if delivery.block is not None:
        return ", ".join(f"s3://{lake}/{each.key}" for each in delivery.block.objects)
    if row.state not in TERMINAL or row.pin is None:
        return f"s3://{row.source.bucket}/{row.source.key}"
    share = "accepted" if row.state is State.PUBLISHED else "quarantine"
    return f"s3://{lake}/{lake_layout.destination_key(share, row.pin, row.id, '')}"


def _cost(cost: BilledCost) -> str:
    used = f"{cost.vcpu_seconds:,.1f} vCPU-seconds, {cost.gb_seconds:,.1f} GB-seconds"
    return f"{cost.money:.6f} {cost.currency} ({used}, prices of {cost.dated})"


def _time(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


# ---- Steps 11 and 12: idempotent ----


_SHARE = re.compile("/(?:rows|slices)/")


def tidy(turn: DeliveryTurn) -> Steps[Workload]:
    """Bring the manifest up to date, delete the judged version by its id and all other copies, write the report, then close."""
    if turn.row.due_at is None:
        return turn.row
    if turn.row.state is State.PUBLISHED or _ends_segment(turn):
        yield from readers_manifest.update(turn.gate, turn.pin.chain, turn.row.height)
    yield from delete_source(turn)
    for each in turn.copies:
        staged = Address(each.bucket, each.key)
        yield from delete_object(turn.gate, Effect.DELETE_STAGING, staged)
    for share in _shares(turn):
        yield from delete_object(turn.gate, Effect.DELETE_STAGING, share)
    yield from write(turn)
    closed = turn.row._replace(due_at=None, request="")
    row = Address(turn.gate.places.lake, lake_layout.row_key(turn.row.id))
    yield from perform(Effect.ARCHIVE, turn.gate.objects.put, row, archived_bytes(closed))
    closed = closed._replace(expires=_expires(turn))
    return (yield from move(turn, Effect.CLOSE, closed))


def _expires(turn: DeliveryTurn) -> int:
    """When the row leaves the table; 0: never, as long as what landed could not be deleted, because it would be taken in again.

    The time follows from the row, so that every worker writes the same.
    """
    kept = turn.gate.timing.kept
    if not kept or turn.row.source.bucket in turn.gate.undeletable:
        return 0
    return int((datetime.fromisoformat(turn.pin.judging_time) + kept).timestamp())


def _ends_segment(turn: DeliveryTurn) -> bool:
    """Whether the block completes a segment of the manifest: rejected deliveries are no part of it, but are read from it on."""
    return bool(turn.row.pin and turn.pin.plan) and (turn.row.height + 1) % turn.gate.places.segment_heights == 0


def _shares(turn: DeliveryTurn) -> tuple[Address, ...]:
    """Rows of a split and slices, whose copies are committed; of attempts that were given up and of rejected deliveries, too."""
    terms = turn.terms
    if not terms.by_rows and not terms.as_slices:
        return ()
    stored = versions_of(turn.gate, f"{lake_layout.batch_prefix(turn.row.batch)}{turn.row.id}/")
    return tuple(Address(each.bucket, each.key) for each in stored if each.current and _SHARE.search(each.key))


def delete_source(turn: DeliveryTurn) -> Steps[None]:
    """Delete the judged versions by their ids: the parts, then the object that completed them."""
    for part in [part for part in turn.landed.parts if turn.owns(part)]:
        yield from delete_object(turn.gate, Effect.DELETE_SOURCE, part.address)
    if (last := completing(turn.row)) is not None:
        yield from delete_object(turn.gate, Effect.DELETE_SOURCE, last.address)


def delete_object(dependencies: Dependencies, effect: Effect, at: Address) -> Steps[None]:
    """Delete what is not needed any more. Where that is denied it stays, and its delivery goes on: the verdict stands."""
    try:
        yield from perform(effect, dependencies.objects.delete, at)
    except AccessDenied:
        dependencies.undeletable.add(at.bucket)
