"""Rules with a schedule of their own, measured over everything accepted of a line; called by `sweep`.

The row of a line says where this is; each write of it has the revision as its condition, so that of two sweeps one goes on.

1. write what is going to be measured: checks, height, judging time;
2. start the run, and write its id; look again every few minutes;
3. with its result: record it in the ledger, mark the readers' manifest, report it, and write that the run has ended.

Each effect may be repeated, and what was done is found again: the record by its event, the mark by the records, the message
by its id. A run that is lost is started again, as another attempt over what is accepted then; after the last one its end is
reported, without a record: nothing is known about the data.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.lifecycle import moment
from lakegate.contracts.lake.revalidations import (
    EndedRun,
    RevalidationEnd,
    ScheduledRun,
    ended,
    planned,
    postponed,
    running,
    unplanned,
)
from lakegate.contracts.model.labels import REVALIDATED
from lakegate.contracts.plan.plan import Plan
from lakegate.contracts.plan.result import Result
from lakegate.functions.ports.errors import ConditionFailed, IdempotencyMismatch, NotFound
from lakegate.functions.ports.jobs import JobState, names_invocation
from lakegate.functions.ports.objects import Address
from lakegate.functions.usecases import layout
from lakegate.functions.usecases.labelled import current, discover, is_retired
from lakegate.functions.usecases.revalidation_record import Findings, findings_of, lift, publish, report_failed
from lakegate.functions.usecases.revalidation_run import (
    OtherFormat,
    accepted_data,
    accepted_up_to,
    source_of,
    start,
    write_plan,
)
from lakegate.functions.usecases.steps import Effect, perform

if TYPE_CHECKING:
    from lakegate.contracts.errors import LakegateError
    from lakegate.contracts.lake.revalidations import RevalidatedLine
    from lakegate.functions.ports.registry import Publication
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.revalidation_run import AcceptedData
    from lakegate.functions.usecases.steps import Steps

CURSOR: Final = "revalidations"
"""The name of the place in the registry where the next sweep goes on."""
ATTEMPTS: Final = 3
"""Of one run."""
AGAIN: Final = timedelta(minutes=1)
"""Until a run is looked at again, and between attempts: less than the time between two sweeps, so that the next one looks."""
OVER: Final = frozenset({JobState.SUCCESS, JobState.FAILED, JobState.CANCELLED})


def discover_schedules(dependencies: Dependencies) -> Steps[list[LakegateError]]:
    """Schedule the lines whose contracts have rules with a schedule. Returns errors of single lines."""
    return (yield from discover(dependencies, REVALIDATED, CURSOR, _schedule))


def revalidate(dependencies: Dependencies, line: str) -> Steps[EndedRun | None]:
    """What is to be done about a line that is due: read again by key, because the index lags. Returns the run that ended."""
    row = dependencies.revalidations.get(line)
    if not row.is_due(moment(dependencies.clock.now())):
        return None
    try:
        after = yield from _begun(dependencies, row) if row.run is None else _continued(dependencies, row, row.run)
    except ConditionFailed:  # another sweep goes on
        return None
    return after.ends[0] if after.ends != row.ends else None


def _schedule(dependencies: Dependencies, line: str, version: Publication, digest: str) -> Steps[None]:
    row = dependencies.revalidations.get(line)
    if row.run is None and row.plan != digest and not is_retired(dependencies, line):
        with suppress(ConditionFailed):
            yield from _planned(dependencies, row, version, digest)


def _planned(
    dependencies: Dependencies, row: RevalidatedLine, version: Publication, digest: str
) -> Steps[RevalidatedLine]:
    plan = _plan(dependencies, row, digest)
    schedules = (each.schedule for each in plan.scheduled)
    return (yield from _write(dependencies, planned(row, schedules, version.version, digest, _now(dependencies))))


def _begun(dependencies: Dependencies, row: RevalidatedLine) -> Steps[RevalidatedLine]:
    """Write what is measured, and start it."""
    found = current(dependencies, row.line, REVALIDATED)
    if found is None:
        if not is_retired(dependencies, row.line):
            yield from lift(dependencies, row)
        return (yield from _write(dependencies, unplanned(row)))
    if found[2] != row.plan:
        row = yield from _planned(dependencies, row, *found[1:])
    now = moment(dependencies.clock.now())
    due, data = row.due_schedules(now), accepted_data(dependencies, row.line)
    if not due or not data.found:
        return (yield from _write(dependencies, postponed(row, due, now)))
    plan = _plan(dependencies, row, row.plan).of_schedules(due)
    yield from write_plan(dependencies, plan)
    secret = data.found[0][0].workload  # who knows the id of a run may read its result
    identity = hashlib.sha256(f"{row.line}:{row.revision}:{now}:{secret}".encode()).hexdigest()
    run = ScheduledRun(identity, due, plan.digest, data.height, now)
    return (yield from _started(dependencies, (yield from _write(dependencies, running(row, run, now))), run, data))


def _started(
    dependencies: Dependencies, row: RevalidatedLine, run: ScheduledRun, data: AcceptedData
) -> Steps[RevalidatedLine]:
    try:
        identity = yield from start(dependencies, row, run, data)
    except OtherFormat:
        return (yield from _failed(dependencies, row, run, "other-format"))
    except (NotFound, IdempotencyMismatch):  # no such function, no data, or another release has started it
        return (yield from _again(dependencies, row, run, "not-started"))
    now, timing = dependencies.clock.now(), dependencies.timing
    deadline = now + (timing.invocation if names_invocation(identity) else timing.longest_run)
    begun = replace(run, run=identity, deadline=moment(deadline))
    return (yield from _write(dependencies, running(row, begun, moment(now + AGAIN))))


def _continued(dependencies: Dependencies, row: RevalidatedLine, run: ScheduledRun) -> Steps[RevalidatedLine]:
    """Start what is not started; else look whether there is a result."""
    if not run.run:
        return (yield from _started(dependencies, row, run, accepted_up_to(dependencies, row.line, run.height)))
    found = _result(dependencies, run)
    if found is None and _is_over(dependencies, run):
        found = _result(dependencies, run) or "lost"
    if found is None:
        return (yield from _write(dependencies, running(row, run, moment(dependencies.clock.now() + AGAIN))))
    if isinstance(found, str):
        yield from perform(Effect.CANCEL_JOB, partial(dependencies.jobs.cancel, run.run))
        return (yield from _again(dependencies, row, run, found))
    end = yield from publish(dependencies, row, run, _plan(dependencies, row, row.plan), found)
    return (yield from _write(dependencies, ended(row, end)))


def _result(dependencies: Dependencies, run: ScheduledRun) -> Findings | str | None:
    """What an attempt found; a code where it did not measure its checks; None where there is no result."""
    where = Address(dependencies.places.lake, f"{layout.attempt_prefix(run.id, run.attempt)}/result.json")
    try:
        body = dependencies.objects.read(where)
    except NotFound:
        return None
    try:
        result = Result.from_bytes(body)
    except InputError:
        return "wrong-result"
    own = (run.id, run.attempt, run.plan, source_of(run))
    if own != (result.workload, result.attempt, result.plan_digest, result.source_version):
        return "wrong-result"
    return findings_of(Plan.from_validated(dependencies.plan_at(run.plan, run.id)), result)


def _is_over(dependencies: Dependencies, run: ScheduledRun) -> bool:
    """Whether no result is to be expected."""
    if _now(dependencies) >= run.deadline:
        return True
    try:
        return dependencies.jobs.describe(run.run).state in OVER
    except NotFound:
        return True


def _again(dependencies: Dependencies, row: RevalidatedLine, run: ScheduledRun, reason: str) -> Steps[RevalidatedLine]:
    """Another attempt over what is accepted then; after the last one the run has failed."""
    if run.attempt == ATTEMPTS:
        return (yield from _failed(dependencies, row, run, reason))
    data, now = accepted_data(dependencies, row.line), dependencies.clock.now()
    if not data.found:
        return (yield from _write(dependencies, postponed(row, run.schedules, moment(now))))
    following = ScheduledRun(run.id, run.schedules, run.plan, data.height, moment(now), run.attempt + 1)
    return (yield from _write(dependencies, running(row, following, moment(now + AGAIN))))


def _failed(dependencies: Dependencies, row: RevalidatedLine, run: ScheduledRun, reason: str) -> Steps[RevalidatedLine]:
    end = EndedRun(RevalidationEnd.FAILED, _now(dependencies), run.height, reason)
    end = yield from report_failed(dependencies, row, run, end)
    return (yield from _write(dependencies, ended(row, end)))


def _plan(dependencies: Dependencies, row: RevalidatedLine, digest: str) -> Plan:
    return Plan.from_validated(dependencies.plan_at(digest, row.line))


def _write(dependencies: Dependencies, row: RevalidatedLine) -> Steps[RevalidatedLine]:
    """Raises ConditionFailed where another sweep was first, unless an earlier try of this worker arrived."""
    try:
        yield from perform(Effect.WRITE_REVALIDATION, partial(dependencies.revalidations.write, row))
    except ConditionFailed:
        if dependencies.revalidations.get(row.line) != row:
            raise
    return row


def _now(dependencies: Dependencies) -> str:
    return moment(dependencies.clock.now())
