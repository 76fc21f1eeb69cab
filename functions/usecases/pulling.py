"""A tick of the scheduler: sources of lines that are due are fetched into landing, where a delivery begins as any other.

The row of a line says where its pull is. A tick leases the row, and writes what it is going to do before it does it:

1. open the source; unchanged, that was all;
2. write identity and key of what is fetched: all that follows is of this identity and goes to this key;
3. what is small is put as one object, anything else in parts, each of which stays if the tick ends;
4. make the object, unless there is one at the key, and write how the pull ended.

A tick that comes later first looks whether the object is there. It goes on behind the last part only if the source says that it
is still the same; else it ends the upload and begins again, under another key.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

from lakegate.contracts.errors import LakegateError
from lakegate.contracts.lake.lifecycle import moment
from lakegate.contracts.lake.pulls import (
    PullEnd,
    PullOutcome,
    SourceFetch,
    SourceIdentity,
    ended,
    fetching,
    has_lasted,
    key_of,
    leased,
    planned,
    postponed,
    released,
    unplanned,
)
from lakegate.functions.ports.errors import ConditionFailed, PortError, Throttled, Unanswered
from lakegate.functions.ports.transfers import SourceChanged
from lakegate.functions.usecases.pull_landing import (
    ENOUGH,
    MAX_BYTES,
    PART,
    Pulled,
    TimeIsUp,
    Work,
    arrived,
    complete,
    landed,
    moment_of,
    to_landing,
    write,
)
from lakegate.functions.usecases.pull_plans import discover_pulls, message_of, plan_of
from lakegate.functions.usecases.steps import Defect, Effect, perform

if TYPE_CHECKING:
    from lakegate.contracts.lake.pulls import PullingLine
    from lakegate.functions.ports.transfers import LandingParts, OpenedSource, Transfer
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.pull_plans import PullPlan
    from lakegate.functions.usecases.steps import Steps

DUE_PER_TICK: Final = 10_000
"""Lines of one tick: more than its time is enough for. Further ones are left to the next."""
LEASE: Final = timedelta(minutes=20)
"""Longer than a function can run, so that a lease outlives its tick."""
MAX_SECONDS: Final = 6 * 3600
"""From the beginning of a fetch to its end, over all ticks."""
MAX_FAILURES: Final = 3
"""Attempts that failed; then the pull ends as FAILED."""
AGAIN: Final = timedelta(minutes=5)
"""Until the next attempt."""


RETRIED: Final = (Unanswered, Throttled, SourceChanged)
"""Failures that are followed by another attempt."""


def tick(dependencies: Dependencies, transfer: Transfer, landing: LandingParts, part: int = PART) -> Steps[Pulled]:
    """Schedule what contracts say is pulled, and pull what is due."""
    pulled = Pulled()
    work = Work(dependencies, transfer, landing, part, pulled)
    pulled.failures += yield from discover_pulls(dependencies)
    for line in dependencies.pulls.due(dependencies.clock.now(), DUE_PER_TICK):
        if dependencies.remaining() < ENOUGH:
            break
        try:
            yield from _pull(work, line)
        except ConditionFailed:  # another tick has it
            continue
        except LakegateError as failure:
            pulled.failures.append(failure)
        except Exception as error:  # noqa: BLE001 - one line stops none of the others
            pulled.failures.append(Defect(line, error))
    pulled.failures += dependencies.taken_out()
    return pulled


def _pull(work: Work, name: str) -> Steps[None]:
    """One line: read again by key, because the index lags; leased, so that two ticks do not do one thing twice."""
    row, now = work.dependencies.pulls.get(name), work.dependencies.clock.now()
    if not row.is_due(moment(now)):
        return
    row = yield from write(work, leased(row, moment(now + LEASE)))
    try:
        yield from _leased(work, row)
    except ConditionFailed:
        raise
    except LakegateError:
        # of the line itself, such as a plan that does not have its digest: the next tick looks again
        with suppress(PortError):  # else the lease ends by its time
            current = _now(work, row)
            yield from write(work, released(current, current.next))
        raise


def _leased(work: Work, row: PullingLine) -> Steps[None]:
    """What is to be done about a line that this tick has."""
    name, now = row.line, work.dependencies.clock.now()
    plan = plan_of(work.dependencies, name)
    if plan is None:
        yield from _abort(work, row)
        yield from write(work, unplanned(row))
        return
    if plan.plan != row.plan:
        if plan.pull.source != row.source:
            yield from _abort(work, row)
        row = yield from write(work, planned(row, plan.pull, plan.version, plan.plan, moment(now)))
    if row.fetch is not None and not row.fetch.key.startswith(plan.prefix or ""):  # the route is another one now
        yield from _abort(work, row)
        row = yield from write(work, fetching(row, None))
    if plan.is_paused and row.fetch is None:
        yield from write(work, postponed(row, moment(now)))
    else:
        yield from _attempt(work, row, plan)


def _attempt(work: Work, row: PullingLine, plan: PullPlan) -> Steps[None]:
    """SourceFetch, and write how that ended: the row is read again, because the fetch has written it."""
    try:
        end, seen = yield from _fetched(work, row, plan)
    except TimeIsUp:
        yield from write(work, released(_now(work, row), moment_of(work)))
    except ConditionFailed:
        raise
    except PortError as failure:
        yield from _failed(work, _now(work, row), failure)
    else:
        yield from _end(work, _now(work, row), end, seen)


def _failed(work: Work, row: PullingLine, failure: PortError) -> Steps[None]:
    """Another attempt where that is right; else the pull has failed, unless its object is there all the same."""
    begins = isinstance(failure, SourceChanged)
    if isinstance(failure, RETRIED) and row.failures + 1 < MAX_FAILURES:
        if begins:
            yield from _abort(work, row)
        due = moment(work.dependencies.clock.now() + AGAIN)
        yield from write(work, released(row, due, failed=True, keep=not begins))
        return
    yield from _abort(work, row)
    there = None if row.fetch is None else landed(work, row.fetch)
    if row.fetch is not None and there is not None:
        yield from _end(
            work, row, PullEnd(PullOutcome.FETCHED, moment_of(work), row.fetch.key, there), row.fetch.source
        )
    else:
        reason = str(failure) or type(failure).__name__
        yield from _end(work, row, PullEnd(PullOutcome.FAILED, moment_of(work), reason=reason), None)


def _end(work: Work, row: PullingLine, end: PullEnd, seen: SourceIdentity | None) -> Steps[None]:
    """Write how a pull ended; a message goes before if it has failed, or is the first one that has not."""
    if message := message_of(work.dependencies, row, end):
        yield from perform(Effect.REPORT_PULL, partial(work.dependencies.outbox.add, message))
    yield from write(work, ended(row, end, seen))
    work.pulled.ends.append((row.line, end))


def _fetched(work: Work, row: PullingLine, plan: PullPlan) -> Steps[tuple[PullEnd, SourceIdentity | None]]:
    """The end of a pull, unless it is interrupted."""
    if plan.prefix is None:
        raise PortError("no-route")
    fetch, there = row.fetch, None if row.fetch is None else landed(work, row.fetch)
    if fetch is not None and there is not None:
        return PullEnd(PullOutcome.FETCHED, moment_of(work), fetch.key, there), fetch.source
    if fetch is not None and has_lasted(fetch, work.dependencies.clock.now()) > MAX_SECONDS:
        raise PortError("too-slow")
    sizes = () if fetch is None else arrived(work, fetch)
    if fetch is not None and sizes and sum(sizes) == fetch.size:
        yield from complete(work, fetch)
        return PullEnd(PullOutcome.FETCHED, moment_of(work), fetch.key, fetch.size), fetch.source
    if fetch is not None and not (fetch.resumable and set(sizes) == {work.part}):  # there is nothing to go on with
        yield from _abort(work, row)
        sizes = ()
    begun = fetch.source if fetch is not None and sizes else None
    with work.transfer.open(plan.contract, plan.pull, row.seen, begun, sum(sizes)) as opened:
        if opened is None:
            return PullEnd(PullOutcome.UNCHANGED, moment_of(work)), None
        limit = min(MAX_BYTES, plan.max_bytes or MAX_BYTES)
        if (opened.size or 0) > limit:
            raise PortError("too-large")
        if begun is None:
            fetch = _begun(work, row, plan.prefix, opened)
            row = yield from write(work, fetching(row, fetch))
        assert fetch is not None
        size = yield from to_landing(work, row, opened, sizes, limit)
    return PullEnd(PullOutcome.FETCHED, moment_of(work), fetch.key, size), fetch.source


def _begun(work: Work, row: PullingLine, prefix: str, opened: OpenedSource) -> SourceFetch:
    """What is fetched from its beginning: the same content goes to the same key, another one to another key."""
    before, identity = row.fetch, opened.identity
    if before is not None and identity.is_as(before.source):
        return replace(before, source=identity, size=opened.size, resumable=opened.resumable, upload="")
    key = key_of(prefix, row, identity)
    return SourceFetch(row.next, moment_of(work), key, identity, opened.size, opened.resumable)


def _abort(work: Work, row: PullingLine) -> Steps[None]:
    if row.fetch is not None and row.fetch.upload:
        yield from perform(Effect.END_UPLOAD, partial(work.landing.abort, row.fetch.key, row.fetch.upload))


def _now(work: Work, row: PullingLine) -> PullingLine:
    """The row as the attempt left it. Raises ConditionFailed if somebody else has taken it."""
    found = work.dependencies.pulls.get(row.line)
    if found.leased != row.leased:
        raise ConditionFailed("pull")
    return found
