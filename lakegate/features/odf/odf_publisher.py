"""Publisher at the gate: offsets, copies, watermarks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final, NamedTuple

from lakegate.base.errors import ConditionFailed, InputError, TransactionConflict
from lakegate.base.json_codec import MAX_INTEGER
from lakegate.base.timestamps import instant_of, moment
from lakegate.contract.delivery_policy import MergeStrategy, PublishAs
from lakegate.contract.name_times import time_in
from lakegate.features.odf.slice_turns import DecidedSlices, decided_slices, turns, with_slices
from lakegate.gate import lake_layout
from lakegate.gate.datasets.accepted_deliveries import newest_accepted
from lakegate.gate.delivery.attempt_request import PublishedRows
from lakegate.gate.delivery.delivery_row import Decision, Workload
from lakegate.gate.delivery.delivery_terms import Terms
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import ConcurrentUpdate, Effect, Steps, perform
from lakegate.gate.lake_layout import state_key
from lakegate.gate.ledger.blocks import LedgerSlice
from lakegate.gate.ledger.commit import TRIES_OF_COMMIT, record_at_head
from lakegate.gate.ledger.watermarks import watermark_after
from lakegate.plan.plan import Plan
from lakegate.plan.request import Request
from lakegate.plan.result import Result
from lakegate.plan.slice_order import (
    MergeOrder,
    PublishedSlice,
    SliceOrder,
    SnapshotOrder,
    StateRun,
    WrittenRun,
    WrittenSlice,
)

# ---- Slices of an accepted delivery ----


def offsets_of_slices(plan: Plan, result: Result) -> tuple[int, int] | None:
    """The offsets of the slices of an accepted delivery. Raises InputError where they are no slices of it."""
    slices, ordered, merge = result.slices, plan.policy.publish_as is PublishAs.PARQUET, result.merge
    if bool(plan.policy.merge_key) != (merge is not None):
        raise InputError("rows are merged without a key, or not merged with one")
    if any(low.offset + low.rows != high.offset for low, high in pairwise(slices)):
        raise InputError("the offsets of the slices are not contiguous")
    if bool(slices) != bool(result.system_time):
        raise InputError("there are slices without a system time, or a system time without slices")
    if merge is not None:
        snapshot, rows = merge.snapshot, sum(each.rows for each in slices)
        if plan.policy.merge_strategy.corrects != (snapshot is not None):
            raise InputError("rows are merged by another strategy than that of the contract")
        keys, has_run = rows - merge.without_key, merge.run is not None
        is_proved = (keys > 0) == has_run if snapshot is None else rows == snapshot.events and (has_run or not slices)
        if plan.policy.merge_strategy is MergeStrategy.UPSERT and snapshot is not None:
            is_proved &= not snapshot.retracted
        end = slices[-1].offset + slices[-1].rows if slices else merge.offset
        if end - merge.offset != rows or keys < 0 or not is_proved:
            raise InputError("slices and state are not those of the rows that are new, retracted or corrected")
        return merge.offset, end
    if bool(slices) != (ordered and result.rows > result.rejected_rows):
        raise InputError("there are slices of a delivery that has none, or none of its rows")
    return (slices[0].offset, slices[-1].offset + slices[-1].rows) if slices else None


def merge_states(result: Result, workload: Workload) -> tuple[tuple[StateRun, ...], tuple[StateRun, ...]]:
    """The merge state of the dataset without and with the delivery, by keys of the lake; its own file where it will be."""
    merge = result.merge
    if merge is None:
        return (), ()
    pin = workload.pinned
    before, kept = (
        tuple(replace(run, uri=run.uri.partition("://")[2].partition("/")[2]) for run in runs)
        for runs in (merge.before, merge.kept)
    )
    if not all(each.uri.startswith(f"accepted/{pin.dataset}/") for each in (*before, *kept)):
        raise InputError("the merge state is not that of the dataset")
    if merge.run is None:
        return before, kept
    as_of = merge.snapshot.time if merge.snapshot else ""
    return before, (*kept, StateRun(state_key(pin, workload.id), merge.run.rows, merge.run.digest, as_of))


# ---- The watermark that a person sets ----


KIND = "watermark"
"""Of the record."""


def set_watermark(dependencies: Dependencies, dataset: str, at: datetime) -> Steps[str]:
    """Record and set the watermark of a dataset. Idempotent. Returns the watermark before; empty for none.

    Raises InputError for a dataset without slices, a time before the watermark or after now, and while a delivery is committed.
    """
    wanted = moment(at)
    if at > dependencies.now:
        raise InputError(f"{wanted} is to come: a watermark never moves back, so a mistake could not be corrected")
    for _ in range(TRIES_OF_COMMIT):
        found = turns(dependencies).next_slice(dataset)
        if not found.offset:
            raise InputError(f"{dataset} has no slices yet: `publishAs: parquet` in its contract publishes some")
        if wanted < found.watermark:
            raise InputError(f"the watermark of {dataset} is {found.watermark}: it never moves back")
        if wanted == found.watermark:
            return found.watermark
        if found.writer:
            raise InputError(
                f"a delivery of {dataset} is decided and not committed yet: repeat the command in a minute"
            )
        record = record_at_head(dependencies, KIND, dataset, {"watermark": wanted, "before": found.watermark})
        try:
            yield from perform(Effect.RECORD, turns(dependencies).mark, record, found)
        except ConditionFailed:
            continue
        return found.watermark
    raise TransactionConflict


class SliceTerms(NamedTuple):
    """The way in which accepted rows become slices, by the policy of a plan."""

    event_time: str | None
    """The column with the times of their events."""
    merge_key: tuple[str, ...]
    """The columns of the primary key, if rows are merged by it."""
    strategy: MergeStrategy
    snapshot_time: str | None
    """The place of the time of a snapshot in a name."""


def slice_terms(terms: Terms) -> SliceTerms:
    """Those of the terms of a delivery."""
    policy = terms.policy
    return SliceTerms(policy.event_time, policy.merge_key, policy.merge_strategy, policy.snapshot_time)


def slice_order(turn: DeliveryTurn, dataset: str, terms: SliceTerms) -> SliceOrder:
    """The beginning of the slices. ConcurrentUpdate while a part of the dataset's merge state is being committed."""
    following = turns(turn.gate).next_slice(dataset)
    if terms.merge_key and following.writer:
        raise ConcurrentUpdate(turn.row.id)
    time = system_time(turn.now, following.system_time)
    order = SliceOrder(following.offset, terms.event_time, following.watermark, system_time=time)
    if not terms.merge_key:
        return order
    runs = tuple(replace(run, uri=f"s3://{turn.gate.places.lake}/{run.uri}") for run in following.runs)
    snapshot = _snapshot(turn, dataset, terms, following.offset) if terms.strategy.corrects else None
    return replace(order, merge=MergeOrder(dataset, terms.merge_key, runs, snapshot))


def system_time(now: datetime, before: str) -> str:
    """The system time of the next slice: now in whole milliseconds, and always after that of the slices before."""
    time = now.replace(microsecond=now.microsecond // 1000 * 1000)
    return moment(max(time, instant_of(before) + timedelta(milliseconds=1)) if before else time)


def _snapshot(turn: DeliveryTurn, dataset: str, terms: SliceTerms, end: int) -> SnapshotOrder:
    """The time of a snapshot by its name or its object, of an upsert none, and the slices of its dataset up to an offset."""
    pin, time = turn.pin, None
    if terms.snapshot_time:
        time = time_in(terms.snapshot_time, turn.row.landing_key)
    known = moment(time) if time else "" if terms.snapshot_time else pin.arrived or moment(instant_of(pin.judging_time))
    slices = [
        PublishedSlice(f"s3://{turn.gate.places.lake}/{each.key}", each.offset, each.rows)
        for accepted in (newest_accepted(turn.gate, dataset, MAX_INTEGER) if end else ())
        for each in reversed(accepted.slices)
        if each.end <= end
    ]
    keeps = terms.strategy is MergeStrategy.UPSERT
    return SnapshotOrder("" if keeps else known, tuple(reversed(slices)), keeps)


# ---- Extension point `publishers` ----


class SlicePublisher:
    """See `lakegate.gate.delivery.attempt_request.Publisher`."""

    folder: Final = "slices"

    def order(self, turn: DeliveryTurn, request: Request) -> Request:
        """Offset and watermark are those of now: what is decided are those in the result, if they still hold then."""
        return replace(request, slices=slice_order(turn, turn.pin.dataset, slice_terms(turn.terms)))

    def decided(self, plan: Plan, result: Result, workload: Workload, decision: Decision) -> Decision:
        """With offsets, watermark and merge state, before and after."""
        offsets = offsets_of_slices(plan, result)
        if offsets is None:
            return decision
        marks = (result.watermark, watermark_after(plan, result, workload.pinned.judging_time))
        before, runs = merge_states(result, workload)
        return with_slices(decision, DecidedSlices(offsets, marks, before, runs, result.system_time))

    def is_next(self, turn: DeliveryTurn) -> bool:
        """Whether the slices before are still those of the decision."""
        return _is_next(turn.gate, turn.pin.dataset, turn.required(decided_slices(turn.row)))

    def writer(self, turn: DeliveryTurn) -> str:
        """The delivery that has the turn, if this one is judged, or its rows are to be compared with the merge state."""
        needs_turn = turn.row.run or turn.terms.policy.merge_key
        return turns(turn.gate).next_slice(turn.pin.dataset).writer if needs_turn else ""

    def settled(self, turn: DeliveryTurn) -> Steps[None]:
        """End the turn, unless it is another delivery's, or nobody's."""
        if decided_slices(turn.row) is None:
            return
        with suppress(ConditionFailed):
            yield from perform(Effect.SETTLE, turns(turn.gate).end_turn, turn.row)

    def copies(self, workload: Workload, result: Result) -> Iterator[tuple[WrittenSlice | WrittenRun, str]]:
        """The slices, and the file of the merge state."""
        merge = result.merge
        for each in result.slices:
            yield each, _key(workload, each)
        if merge is not None and merge.run is not None:
            yield merge.run, state_key(workload.pinned, workload.id)

    def listed(self, workload: Workload, result: Result) -> PublishedRows:
        """The published slices, and the watermark from them on."""
        slices = tuple(
            LedgerSlice(
                *(_key(workload, each), each.offset, each.rows, each.event_times, each.logical, each.physical),
                system_time=result.system_time,
            )
            for each in result.slices
        )
        decided = decided_slices(workload)
        return PublishedRows(slices, (decided.watermarks[1] or None) if slices and decided is not None else None)


def _is_next(dependencies: Dependencies, dataset: str, decided: DecidedSlices) -> bool:
    judged_by = decided.offsets[0], decided.watermarks[0], decided.before
    return turns(dependencies).next_slice(dataset)[:3] == judged_by


def _key(workload: Workload, written: WrittenSlice) -> str:
    return lake_layout.destination_key("accepted", workload.pinned, workload.id, written.uri.rpartition("/")[2])


PUBLISHER: Final = SlicePublisher()
