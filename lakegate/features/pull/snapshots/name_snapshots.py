"""Snapshots of branches become deliveries: the newest one of each branch that is looked at, once, however often it is.

The row of a dataset says when its branch is looked at (`lakegate.features.pull.pull_task`). The row of a snapshot, which is named
by UUID and id, says how far its delivery is, as that of an object that a producer names (`lakegate.features.pull.named_objects`).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from operator import attrgetter
from typing import Final

from lakegate.base.errors import NotFound, PortError
from lakegate.base.timestamps import moment
from lakegate.contract.contract_model import GATED_TABLE
from lakegate.contract.delivery_policy import ADDED, Pull
from lakegate.features.pull.named_objects import NamedObject, deliver_named, name_of_row, name_version
from lakegate.features.pull.pull_sources import SourceIdentity, Transfer
from lakegate.features.pull.pull_task import (
    AGAIN,
    LEASE,
    MAX_FAILURES,
    PART,
    RETRIED,
    FinishedPull,
    LandingParts,
    PullOutcome,
    PullState,
    Work,
    is_table,
    newly_planned,
    plan_of,
    planned,
    report_end,
    unplanned,
    with_named,
)
from lakegate.features.pull.pull_task import TASK as PULL_TASK
from lakegate.features.pull.snapshots.gated_tables import GatedTables, SnapshotStep, branch_of, next_step, version_of
from lakegate.features.pull.snapshots.table_owners import owner_of
from lakegate.gate.datasets.dataset_states import DatasetRowStore
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Steps
from lakegate.gate.ports import Address
from lakegate.gate.scheduled_tasks import Discovery, ScheduledTask, Turn, discover, following, run_due, write_row

CURSOR: Final = "gated-tables"
"""The name of the place in the registry where the next turn goes on."""
PLACE: Final = "gated-tables#"
"""The beginning of the name of the place of a dataset: the height up to which its blocks have been followed."""
BRANCH_MISSING: Final = "branch-missing"
DELIVERY_OPEN: Final = "delivery-open"


def named_snapshots(dependencies: Dependencies) -> DatasetRowStore[NamedObject]:
    """Snapshots by the hash of dataset, branch, and UUID and id."""
    return DatasetRowStore(dependencies.table, "snapshot", "snapshot", NamedObject, attrgetter("id"))


def followed_up_to(dependencies: Dependencies, dataset: str) -> int:
    """The height up to which the accepted snapshots of a dataset are main, or have a reason why not."""
    return int(dependencies.agenda.cursor(f"{PLACE}{dataset}") or -1)


def _ended(before: NamedObject, after: NamedObject) -> FinishedPull | None:
    return after.end if after.end != before.end else None


TASK: Final = ScheduledTask(named_snapshots, end=_ended)
"""Its step needs tables and landing, which only the function that keeps tables has."""


def deliver_snapshots(
    dependencies: Dependencies,
    tables: GatedTables,
    transfer: Transfer,
    landing: LandingParts,
    part: int = PART,
) -> Steps[Turn]:
    """Look at the branches that are due, and deliver the snapshots that are named. Ends are FinishedPulls."""
    work, turn = Work(dependencies, transfer, landing, part), Turn()
    task = replace(
        PULL_TASK,
        step=lambda gate, row, now: _looked_at(gate, tables, row, now),
        discovery=Discovery(GATED_TABLE, CURSOR, newly_planned),
    )
    yield from discover(dependencies, turn, task)
    yield from run_due(dependencies, turn, task)
    yield from deliver_named(work, turn, TASK)
    turn.failures += dependencies.taken_out()
    return turn


def _looked_at(gate: Dependencies, tables: GatedTables, row: PullState, now: str) -> Steps[PullState | None]:
    """The row of a dataset after its branch was looked at; None: it has no branch."""
    if not is_table(row):
        return None
    plan = plan_of(gate, row.dataset)
    if plan is None:
        return unplanned(row)
    if plan.plan != row.plan:
        row = planned(row, plan.pull, plan.version, plan.plan, now)
    if not is_table(row) or plan.is_paused:
        return replace(row, next=following(row.schedule, now), failures=0)
    try:
        row, reason = yield from _named(gate, tables, row, plan.pull)
    except RETRIED as failure:
        if row.failures + 1 < MAX_FAILURES:
            return replace(row, next=moment(gate.now + AGAIN), failures=row.failures + 1)
        reason = str(failure) or type(failure).__name__
    except PortError as failure:
        reason = str(failure) or type(failure).__name__
    due = moment(gate.now + AGAIN) if reason == DELIVERY_OPEN else following(row.schedule, now)
    return (yield from _listed(gate, row, replace(row, next=due, leased="", failures=0), reason))


def _listed(gate: Dependencies, row: PullState, after: PullState, reason: str) -> Steps[PullState]:
    """The row with what is wrong with its branch, which is told once, until it is over."""
    before = next((each for each in row.ends if (each.object, each.version) == (row.source, "")), None)
    if not reason:  # what was wrong with the branch is over
        return replace(after, ends=tuple(each for each in after.ends if each is not before))
    if before is not None and before.reason == reason:
        return after
    outcome = PullOutcome.UNCHANGED if reason in {BRANCH_MISSING, DELIVERY_OPEN} else PullOutcome.FAILED
    end = FinishedPull(outcome, gate.moment, reason=reason, object=row.source)
    yield from report_end(gate, row, end, before, row.next)
    return with_named(after, end)


def _named(gate: Dependencies, tables: GatedTables, row: PullState, pull: Pull) -> Steps[tuple[PullState, str]]:
    """Name the newest snapshot of a branch, or those that are staged, unless they are main already.

    Returns the row as it is then, and the code of why one cannot be named; else empty.
    """
    branch = branch_of(row.source)
    state = tables.state(branch)
    if state is None:
        return row, SnapshotStep.TABLE_MISSING
    if branch.branch and not state.heads:
        return row, BRANCH_MISSING
    steps = {head: next_step(state, state.uuid, head, state.main) for head in state.heads}
    if SnapshotStep.SET in steps.values() and owner_of(gate, row.source) != row.dataset:
        return row, SnapshotStep.SOURCE_REFUSED  # published at the same time as the one that has the table
    for version in (version_of(state.uuid, head) for head, step in steps.items() if step is SnapshotStep.SET):
        if pull.rows == ADDED and not _is_known(gate, row, version):
            if _is_open(gate, row):
                return row, DELIVERY_OPEN
            named = replace(row, leased=moment(gate.now + LEASE), seen=SourceIdentity(version=version))
            row = yield from write_row(gate, PULL_TASK, named)  # so that no other one is named before this one is
        yield from name_version(gate, TASK, row.dataset, row.source, version)
    return row, next((each for each in steps.values() if each not in {SnapshotStep.SET, SnapshotStep.DONE}), "")


def _is_known(gate: Dependencies, row: PullState, version: str) -> bool:
    """Whether a snapshot is the one that was named last, or was delivered before: to name it again changes no other."""
    known = named_snapshots(gate).get(name_of_row(row.dataset, row.source, version)).end
    return version == row.seen.version or (known is not None and known.outcome is not PullOutcome.FAILED)


def _is_open(gate: Dependencies, row: PullState) -> bool:
    """Whether the snapshot that was named last may still be accepted, or become main: the next one would have its rows, too."""
    last = named_snapshots(gate).get(name_of_row(row.dataset, row.source, row.seen.version))
    if last.next:
        return True
    if last.key and last.published is None:  # what is judged leaves landing after its block is committed
        with suppress(NotFound):
            gate.objects.head(Address(gate.places.landing, last.key))
            return True
    return followed_up_to(gate, row.dataset) < gate.ledger.head(row.dataset).height
