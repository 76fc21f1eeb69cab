"""Small deliveries that share a job run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from lakegate.base.errors import ConditionFailed, NotFound, UnreadableItem
from lakegate.base.json_codec import sha256_of
from lakegate.gate import lake_layout
from lakegate.gate.delivery.attempt_request import write_request
from lakegate.gate.delivery.delivery_row import FailureCause
from lakegate.gate.delivery.delivery_terms import BatchLimits
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.delivery_store import Batch, Member
from lakegate.gate.effects import Effect, Steps, perform

if TYPE_CHECKING:
    from lakegate.gate.dependencies import Dependencies

# ---- Groups of deliveries, and their copies ----


def staging_key(turn: DeliveryTurn) -> str:
    """The key of the staged copy: in the folder of its group, which the runs of batches may read.

    A delivery that is replayed stays in its folder, so that its copy is found if it was deleted in landing since.
    """
    group = lake_layout.staged_group(turn.staged.key) if turn.row.staged else group_of(turn)
    return lake_layout.staging_key(turn.row.id, turn.terms.suffix, group=group)


def group_of(turn: DeliveryTurn) -> str:
    """The dataset and plan of deliveries that may share a run; empty: this one has a run of its own.

    So is one of several objects, one that becomes slices (of a group only the first could have the next offset), and one with
    rules that others measure, who are asked before its own run.
    """
    limits, job = limits_of(turn), turn.gate.places.job
    pin, size, terms = turn.row.pin, turn.row.source.size, turn.terms
    if pin is None or not pin.plan or turn.row.parts is not None or terms.as_slices:
        return ""
    if terms.has_companion:
        return ""
    invoked = bool(job.judge) and size < job.small
    if limits.files == 1 or size >= (limits.bytes or 0) or invoked:
        return ""
    return sha256_of(f"{pin.dataset}\0{pin.plan}")[:32]


def limits_of(turn: DeliveryTurn) -> BatchLimits:
    """The limits of a batch of these deliveries: by the contract, else by the stack."""
    own, others = turn.terms.batch, turn.gate.places.job.batch
    return BatchLimits(*(other if mine is None else mine for mine, other in zip(own, others, strict=True)))


# ---- Batches ----
# An attempt in a batch is an attempt like any other, with its own request and result. Only the job run is shared. Batches of a
# group follow one another: the id of the next is derived from the one before, so that workers who find a batch closed agree on
# the next. When the run of a batch ends without the results of all members, those without one join two batches of half the
# size.


SECOND = timedelta(seconds=1)
SUCCEEDED = frozenset({FailureCause.BATCH_FAILED, FailureCause.NOT_STARTED})
"""Causes after which members of a batch are judged in another one."""


def join(turn: DeliveryTurn, cause: FailureCause | None) -> Steps[Batch | None]:
    """The batch of the next attempt, of which it is a member now, its request written. None: it is judged alone.

    `cause`: why the current attempt came to nothing.
    """
    member = Member(turn.row.id, turn.row.attempt + 1, turn.staged.size)
    before = _readable(turn) if turn.row.batch and cause in SUCCEEDED else None
    if before is not None:
        assert cause is not None
        identity, members = _successor(before, turn.row.id, cause)
        fresh = partial(_smaller, turn.gate, before, identity, members)
        return (yield from _enter(turn, member, _found(turn.gate, identity, fresh)))
    group = group_of(turn)
    if not group or group != lake_layout.staged_group(turn.staged.key) or turn.row.attempt != turn.row.first:
        return None
    return (yield from _current(turn, member, group))


def _current(turn: DeliveryTurn, member: Member, group: str) -> Steps[Batch]:
    """The open batch of a group, with the member. The stored id is only a hint: a closed batch leads to the next."""
    name, limits = f"batch#{group}", limits_of(turn)
    closes_at = turn.now + SECOND * (limits.seconds or 0)
    identity = turn.gate.agenda.cursor(name) or _derived(group, "batches")
    while True:
        fresh = partial(Batch, identity, limits.files or 1, limits.bytes or 1, closes_at)
        try:
            found = _found(turn.gate, identity, fresh)
        except UnreadableItem as refused:  # nobody can join it: the next one is opened
            turn.gate.left_out.append(refused)
            batch = None
        else:
            batch = yield from _enter(turn, member, found)
        if batch is not None:
            return batch
        identity = _derived(identity, "next")
        yield from perform(Effect.KEEP_CURSOR, turn.gate.agenda.keep, name, identity)


def _successor(before: Batch, workload: str, cause: FailureCause | None) -> tuple[str, tuple[Member, ...]]:
    """The batch that follows for one member of a batch without a result: all of it where its run never began, else a half."""
    if cause is FailureCause.NOT_STARTED:
        return _derived(before.id, "again"), before.members
    middle = (len(before.members) + 1) // 2
    if workload in {member.workload for member in before.members[:middle]}:
        return _derived(before.id, "first half"), before.members[:middle]
    return _derived(before.id, "second half"), before.members[middle:]


def _smaller(dependencies: Dependencies, before: Batch, identity: str, members: Iterable[Member]) -> Batch:
    """A batch for those members of another that have no result. It is full with the last of them, whatever their size."""
    files = sum(not _has_result(dependencies, before.id, member) for member in members)
    total = sum(member.size for member in before.members)
    return Batch(identity, max(files, 1), total + 1, dependencies.now + dependencies.timing.lease)


def _has_result(dependencies: Dependencies, batch: str, member: Member) -> bool:
    prefix = lake_layout.attempt_prefix(member.workload, member.attempt, batch)
    try:
        dependencies.objects.head(dependencies.in_lake(f"{prefix}/result.json"))
    except NotFound:
        return False
    return True


def _derived(identity: str, what: str) -> str:
    return sha256_of(f"{identity}:{what}")


def _found(dependencies: Dependencies, identity: str, fresh: Callable[[], Batch]) -> Batch:
    try:
        return dependencies.batches.get(identity)
    except NotFound:
        return fresh()


def _enter(turn: DeliveryTurn, member: Member, batch: Batch) -> Steps[Batch | None]:
    """The batch with the member; None where it is closed or full without it.

    The request is written before: the worker that closes the batch starts its run.
    """
    if member in batch.members:
        return batch
    if batch.request or batch.is_full:
        return None
    yield from write_request(turn, member.attempt, batch.id)
    with suppress(ConditionFailed):  # it has it already, or has been closed or filled since
        yield from perform(Effect.JOIN_BATCH, turn.gate.batches.join, batch, member)
    batch = turn.gate.batches.get(batch.id)
    return batch if member in batch.members else None


def is_to_start(turn: DeliveryTurn) -> bool:
    """Whether the batch of a workload waits for nothing any more."""
    batch = turn.gate.batches.get(turn.row.batch)
    return bool(batch.request) or batch.is_full or turn.now >= batch.closes_at


def _readable(turn: DeliveryTurn) -> Batch | None:
    """The batch of a workload; None where its item cannot be read, which is reported: nothing is known of the other members."""
    try:
        return turn.gate.batches.get(turn.row.batch)
    except UnreadableItem as refused:
        turn.gate.left_out.append(refused)
        return None


def cause_of_member(turn: DeliveryTurn, cause: FailureCause) -> FailureCause:
    """The reason why a member has no result: where others had one from the same run, nobody knows whose fault it was."""
    if not turn.row.batch or cause is FailureCause.NOT_STARTED:
        return cause
    batch = _readable(turn)
    return cause if batch is None or len(batch.members) == 1 else FailureCause.BATCH_FAILED


def share_of(turn: DeliveryTurn) -> float | None:
    """The share of a workload in what its run was billed, by bytes; equal shares where there are none; None: not known."""
    if not turn.row.batch:
        return 1.0
    batch = _readable(turn)
    if batch is None:
        return None
    members = batch.members
    total = sum(member.size for member in members)
    own = sum(member.size for member in members if member.workload == turn.row.id)
    return own / total if total else 1 / len(members)
