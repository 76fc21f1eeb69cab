"""Workloads that do not move, each with the reason; and the contracts that deliveries need."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from lakegate.cli.account import in_utc
from lakegate.cli.probes.causes import CAUSES
from lakegate.cli.probes.examination import unreadable
from lakegate.cli.probes.people import asked, is_asked, paused
from lakegate.cli.probes.routed import is_part, route_of
from lakegate.contracts.door.ignored import is_ignored
from lakegate.contracts.lake.failures import OF_VALIDATORS
from lakegate.contracts.lake.states import END_STATES, State
from lakegate.contracts.words import listed
from lakegate.functions.ports.errors import NotFound, UnreadableItem
from lakegate.functions.ports.jobs import names_invocation
from lakegate.functions.usecases.deliveries import failed_and_staged
from lakegate.functions.usecases.delivery import readable_row, row_of
from lakegate.functions.usecases.source import data_of
from lakegate.functions.usecases.steps import Alarm
from lakegate.functions.workload import FailureCause, workload_id

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.cli.probes.causes import CauseFinding
    from lakegate.cli.probes.examination import ExaminedStack
    from lakegate.functions.workload import Workload

LATE: Final = timedelta(minutes=11)
"""Two sweeps and a minute: by then a stack in order has done what was due."""
WAITING: Final = timedelta(minutes=10)
ROWS: Final = 50
"""Open workloads, and landed versions, that one examination looks at."""
SHORT: Final = 12
QUEUING: Final = frozenset({"SUBMITTED", "PENDING", "SCHEDULED", "QUEUED"})
ENDED: Final = frozenset({"SUCCESS", "FAILED", "CANCELLED"})
BY_FAILURE: Final = {
    FailureCause.UNDECIDED: "rule-unmeasured",
    FailureCause.ACCESS_DENIED: "object-denied",
    FailureCause.ARCHIVED: "object-archived",
    **dict.fromkeys(OF_VALIDATORS, "validator-failed"),
}
"""Causes that need no look at a job run."""
BY_STATUS: Final = ("contract-draft", "contract-sunset", "contract-retired")
"""Reasons of the door by the status of version or line, each a cause of its own."""
DETAILS: Final = (
    (
        "job-python",
        re.compile(r"environment/bin/python.{0,80}(?:No such file|not found)|Cannot run program .{0,80}python"),
    ),
    ("job-memory", re.compile(r"OutOfMemory|exit ?code:? ?137|out of memory|Killed by.{0,20}memory", re.IGNORECASE)),
    ("quota", re.compile(r"quota|maximum capacity|MaxCapacity|limit exceeded|insufficient capacity", re.IGNORECASE)),
    ("kms", re.compile(r"KMS|kms:")),
    ("right", re.compile(r"AccessDenied|Access Denied|not authorized|Status Code: 403")),
    (
        "code",
        re.compile(r"/code/\S+.{0,200}(?:does not exist|NoSuchKey|Not ?Found)|NoSuchKey.{0,200}/code/", re.DOTALL),
    ),
)
"""What the description of a failed run contains, by cause, the first that fits. Its text is never shown."""


def contracts(examined: ExaminedStack) -> Iterator[CauseFinding]:
    """There is a contract to judge by, and the items of each agree."""
    damaged, registry = examined.dependencies.registry.damaged(), examined.dependencies.registry.snapshot()
    if not damaged and not registry.versions and not registry.routes:
        yield CAUSES["contract-missing"].found()
    for contract, items in damaged.items():
        yield CAUSES["registry-differs"].found(contract=contract, items=listed(items))


def plans(examined: ExaminedStack) -> Iterator[CauseFinding]:
    """The plan of every route is in the lake bucket, and is the one that was published."""
    for route in examined.dependencies.registry.snapshot().routes:
        try:
            examined.dependencies.plan_at(route.plan, "")
        except Alarm:
            yield CAUSES["plan-missing"].found(plan=route.plan[:SHORT], contract=f"{route.contract} {route.version}")


def stuck(examined: ExaminedStack) -> Iterator[CauseFinding]:
    """Open workloads whose next step is overdue, and landed versions that failed or were not taken in."""
    if examined.delivery is not None:
        return
    before = examined.ask.now() - LATE
    for identity in examined.dependencies.agenda.due(before, ROWS):
        row = readable_row(examined.dependencies, identity)
        if row is not None:
            yield from of_row(examined, row)
    page = examined.dependencies.objects.versions(examined.dependencies.places.landing, "", None, ROWS)
    for version in page.versions:
        identity = workload_id(version.bucket, version.key, version.version)
        try:
            row = row_of(examined.dependencies, identity)
        except UnreadableItem as refused:
            yield unreadable(refused)
            continue
        ignored = is_ignored(version.key, version.size, tuple(examined.settings().ignored.split(",")))
        if row is None and version.modified < before and not ignored and not _is_unrouted(examined, version.key):
            yield from untaken(examined, identity, version.key, version.modified)
        elif row is not None and row.state is State.FAILED:
            yield from of_row(examined, row)
    for failed in failed_and_staged(examined.dependencies):
        if failed.row is not None:
            yield from of_row(examined, failed.row)


def one(examined: ExaminedStack) -> Iterator[CauseFinding]:
    """The delivery that the operator names."""
    found = examined.delivery
    if found is None:
        return
    if found.row is not None:
        yield from of_row(examined, found.row)
    elif found.at is not None:
        yield from untaken(examined, found.id, found.key, found.at)


def untaken(examined: ExaminedStack, identity: str, key: str, landed: datetime) -> Iterator[CauseFinding]:
    """Why a landed version has no workload yet: keys that no route covers may be ignored."""
    if _is_unrouted(examined, key):
        yield CAUSES["route-missing"].found(identity, key=key, short=identity[:SHORT])
    else:
        minutes = _minutes(examined.ask.now() - landed)
        cause = "part-waits" if is_part(examined, key) else "not-taken-in"
        yield CAUSES[cause].found(identity, key=key, minutes=minutes)


def _is_unrouted(examined: ExaminedStack, key: str) -> bool:
    """Whether the stack ignores this key, because no route covers it."""
    return examined.settings().unrouted == "ignore" and route_of(examined, key) is None


def of_row(examined: ExaminedStack, row: Workload) -> Iterator[CauseFinding]:
    """Why a workload does not move, or has no verdict; nothing for one that moves."""
    if row.state is State.FAILED:
        yield from _failed(examined, row)
    elif row.state is State.QUARANTINED:
        yield from _refused(examined, row)
    elif row.state is State.HELD:
        yield from paused(examined, row.held, row.id)
    elif is_asked(examined, row):
        yield asked(row)
    elif row.state is State.VALIDATING:
        yield from _running(examined, row)
    elif row.state not in END_STATES:
        yield from _open(examined, row)


def _refused(examined: ExaminedStack, row: Workload) -> Iterator[CauseFinding]:
    """Refused by no rule of its contract."""
    reasons = row.decision.reasons if row.decision else ()
    if "unrouted" in reasons:
        routes = examined.dependencies.registry.snapshot().versions
        cause = "route-missing" if routes else "contract-missing"
        yield CAUSES[cause].found(row.id, key=(row.landed or row.source).key, short=row.id[:SHORT])
    for cause in [each for each in BY_STATUS if each in reasons]:
        line = row.pin.chain if row.pin else "unknown"
        yield CAUSES[cause].found(row.id, contract=_contract(row), line=line, short=row.id[:SHORT])


def _failed(examined: ExaminedStack, row: Workload) -> Iterator[CauseFinding]:
    last = row.failed[-1] if row.failed else None
    if last is not None and last.cause in BY_FAILURE:
        found = {"contract": _contract(row), "short": row.id[:SHORT], "why": last.cause.value}
        yield CAUSES[BY_FAILURE[last.cause]].found(row.id, **found)
        return
    run = (last.run if last else "") or row.run
    yield from _by_run(examined, row, run, last.cause.value if last else "no result")


def _by_run(examined: ExaminedStack, row: Workload, run: str, why: str) -> Iterator[CauseFinding]:
    """What EMR Serverless knows of the last run; a run that it does not know any more has no details."""
    found = _run(examined, run) or {}
    kind = next((name for name, pattern in DETAILS if pattern.search(found.get("stateDetails", ""))), "")
    short, application = row.id[:SHORT], examined.settings().application
    if kind == "quota":
        yield CAUSES["throttled"].found(row.id, who="the job", code="capacity or quota of EMR Serverless")
    elif kind == "kms":
        yield CAUSES["kms-refused"].found(row.id, who="the job", code="its run reports a KMS error")
    elif kind == "right":
        yield CAUSES["right-missing"].found(
            row.id, who="the job", action="do that", place="its run reports AccessDenied"
        )
    elif kind == "code":
        settings = examined.settings()
        bucket = settings.entry_point.split("/")[2]
        yield CAUSES["code-missing"].found(row.id, place=settings.entry_point, bucket=bucket)
    elif kind:
        yield CAUSES[kind].found(row.id, run=run, short=short)
    else:
        yield CAUSES["run-failed"].found(row.id, why=why, run=run, application=application, short=short)


def _running(examined: ExaminedStack, row: Workload) -> Iterator[CauseFinding]:
    found, now = _run(examined, row.run), examined.ask.now()
    state, since = (found["state"], now - found["createdAt"]) if found else ("unknown", timedelta())
    late = row.due_at is not None and row.due_at < now - LATE
    if state in QUEUING and since > WAITING:
        yield CAUSES["run-waiting"].found(row.id, run=row.run, minutes=_minutes(since), state=state)
    elif (state in ENDED or found is None) and late:
        yield CAUSES["end-unseen"].found(row.id, run=row.run, state=state)
    elif state not in QUEUING | ENDED and row.deadline is not None and row.deadline < now:
        yield CAUSES["run-hung"].found(row.id, run=row.run, state=state)


def _open(examined: ExaminedStack, row: Workload) -> Iterator[CauseFinding]:
    if row.pin is not None and row.pin.plan:
        try:
            examined.dependencies.plan(row)
        except Alarm:
            yield CAUSES["plan-missing"].found(row.id, plan=row.pin.plan[:SHORT], contract=_contract(row))
            return
    if row.state is not State.RECEIVED and data_of(examined.dependencies, row) is None:
        yield CAUSES["source-lost"].found(row.id)
        return
    if row.batch and row.not_before is not None and row.not_before > examined.ask.now():
        yield CAUSES["batch-open"].found(row.id, until=in_utc(row.not_before), short=row.id[:SHORT])
    if row.due_at is not None and row.due_at < examined.ask.now() - LATE:
        minutes = _minutes(examined.ask.now() - row.due_at)
        yield CAUSES["overdue"].found(row.id, state=row.state, minutes=minutes)


def _run(examined: ExaminedStack, run: str) -> dict[str, Any] | None:
    if not run or names_invocation(run):
        return None
    try:
        found: dict[str, Any] = examined.ask(
            "emr-serverless", "get_job_run", applicationId=examined.settings().application, jobRunId=run
        )["jobRun"]
    except NotFound:
        return None
    return found


def _contract(row: Workload) -> str:
    return f"{row.pin.contract} {row.pin.version}" if row.pin else "unknown"


def _minutes(span: timedelta) -> int:
    return round(span.total_seconds() / 60)
