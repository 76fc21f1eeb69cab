"""Stuck deliveries, pauses, people who are asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from typing import Any, Final

from lakegate.admission.ignored_keys import is_ignored
from lakegate.admission.multi_file_delivery import COMPLETED_BY, name_of
from lakegate.base.errors import InputError, NotFound, UnreadableItem
from lakegate.base.text import join_words
from lakegate.features.doctor.examination import CAUSES, CauseFinding, ExaminedStack, unreadable
from lakegate.gate.datasets.dataset_names import chains
from lakegate.gate.datasets.readers_manifest import read_manifest
from lakegate.gate.delivery.delivery_row import OF_VALIDATORS, FailureCause, Workload, workload_id
from lakegate.gate.delivery.find_deliveries import failed_and_staged, readable_row, recent
from lakegate.gate.delivery.find_landed_data import data_of
from lakegate.gate.delivery.protocol import END_STATES, State
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.dependencies import Dependencies, Timing
from lakegate.gate.effects import Alarm
from lakegate.gate.lake_layout import manifest_key
from lakegate.gate.ledger.blocks import contract_chain
from lakegate.gate.ports import every_version, names_invocation
from lakegate.gate.registry.registry_rows import Route
from lakegate.gate.registry.routes import candidates, covering
from lakegate.library.described_deliveries import SHORT_ID, in_utc

# ---- Paused datasets, and deliveries that wait for a person ----


NEAR_THE_END: Final = timedelta(days=1)
"""Of the time for a response."""
DUE: Final = 200
"""Workloads with a next step within a day, among which those that wait for a decision are looked for."""


def pauses(examined: ExaminedStack) -> Iterator[CauseFinding]:
    """Datasets whose deliveries wait because somebody paused them."""
    for dataset in examined.dependencies.pauses.listed():
        yield from paused(examined, dataset)


def paused(examined: ExaminedStack, dataset: str, workload: str = "") -> Iterator[CauseFinding]:
    """The pause of a dataset, while it lasts."""
    pause = examined.dependencies.pauses.pause_of(dataset)
    if pause is not None and pause.resumed is None:
        reason = f" ({pause.reason})" if pause.reason else ""
        since = f"{pause.since:%Y-%m-%d %H:%M} UTC"
        cause = CAUSES["line-paused-long" if pause.is_long(examined.ask.now()) else "line-paused"]
        yield cause.found(workload, line=dataset, since=since, by=pause.by, reason=reason, held=f"{pause.held:,}")


def answers(examined: ExaminedStack) -> Iterator[CauseFinding]:
    """Deliveries that are rejected within a day if nobody answers."""
    if examined.delivery is None:
        for identity in examined.dependencies.agenda.due(examined.ask.now() + NEAR_THE_END, DUE):
            row = readable_row(examined.dependencies, identity)
            if row is not None and is_asked(examined, row):
                yield asked(row)


def is_asked(examined: ExaminedStack, row: Workload) -> bool:
    """Whether somebody can still answer."""
    return row.state is State.AWAITING and row.deadline is not None and examined.ask.now() < row.deadline


def asked(row: Workload) -> CauseFinding:
    """The cause that a delivery waits, and until when."""
    return CAUSES["answer-awaited"].found(row.id, until=in_utc(row.deadline), short=row.id[:SHORT_ID])


# ---- Routes and parts of a landing key ----


def is_part(examined: ExaminedStack, key: str) -> bool:
    """Whether the key waits for the rest of its delivery, as its contract has it; what completes one waits for nothing."""
    route = route_of(examined, key)
    try:
        unit = examined.dependencies.terms_at(route.plan, "").delivery if route else None
    except Alarm:
        return False  # the probe of plans reports it
    return unit in COMPLETED_BY and name_of(key) not in COMPLETED_BY.values()


def route_of(examined: ExaminedStack, key: str) -> Route | None:
    """The route that covers a key now; None: there is none."""
    return covering(key, examined.dependencies.registry.routes(examined.dependencies.places.landing, candidates(key)))


# ---- Workloads that do not move, and contracts ----


LATE: Final = timedelta(minutes=11)
"""Two sweeps and a minute: by then a stack in order has done what was due."""
WAITING: Final = timedelta(minutes=10)
LONGEST_BACKOFF: Final = Timing().longest_backoff
"""The longest wait between attempts; beyond it a delivery waits for the start of a run."""
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
"""Reasons of the door by the status of version or dataset, each a cause of its own."""

DETAILS: Final = (
    ("job-settings", re.compile(r"spark\.dynamicAllocation\.\w+: \d+ must be between")),
    (
        "job-python",
        re.compile(
            re.compile(
                r"no Python 3\.11 in this image|environment/bin/python.{0,80}(?:No such file|not found)"
                r"|Cannot run program .{0,80}python"
            ),
        ),
    ),
    ("job-memory", re.compile(r"OutOfMemory|exit ?code:? ?137|out of memory|Killed by.{0,20}memory", re.IGNORECASE)),
    ("job-disk", re.compile(r"No space left on device|disk quota exceeded", re.IGNORECASE)),
    ("quota", re.compile(r"quota|maximum ?capacity|MaxCapacity|limit exceeded|insufficient capacity", re.IGNORECASE)),
    ("kms", re.compile(r"KMS|kms:")),
    ("right", re.compile(r"AccessDenied|Access Denied|not authorized|Status Code: 403")),
    (
        "code",
        re.compile(r"/code/\S+.{0,200}(?:does not exist|NoSuchKey|Not ?Found)|NoSuchKey.{0,200}/code/", re.DOTALL),
    ),
)
"""Parts of the description of a failed run, by cause, the first that fits."""
BEGINNINGS: Final = re.compile(
    r"Maximum value of spark\.dynamicAllocation\.initialExecutors: \d{1,10} must be between "
    r"spark\.dynamicAllocation\.minExecutors? \d{1,10} and spark\.dynamicAllocation\.maxExecutors \d{1,10}"
    r"|Job failed, please check complete logs in configured logging destination\. ExitCode: -?\d{1,3}",
    re.ASCII,
)
"""Text that EMR Serverless itself writes before anything of a program: only that is shown. The rest may be text of the data."""


def contracts(examined: ExaminedStack) -> Iterator[CauseFinding]:
    """There is a contract to judge by, and the items of each agree."""
    damaged, registry = examined.dependencies.registry.damaged(), examined.dependencies.registry.snapshot()
    if not damaged and not registry.versions and not registry.routes:
        yield CAUSES["contract-missing"].found()
    for contract, items in damaged.items():
        yield CAUSES["registry-differs"].found(contract=contract, items=join_words(items))


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
    places = examined.dependencies.places
    landed = every_version(examined.dependencies.objects, places.landing, places.landing_prefix)
    for version in filter(examined.dependencies.may_deliver, islice(landed, ROWS)):
        identity = workload_id(version.bucket, version.key, version.version)
        try:
            row = examined.dependencies.workloads.find(identity)
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
    """The reason why a landed version has no workload yet: keys that no route covers may be ignored."""
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
    """The reason why a workload does not move, or has no verdict; nothing for one that moves."""
    if row.state is State.FAILED:
        yield from _probe_failure(examined, row)
    elif row.state is State.QUARANTINED:
        reasons = row.decision.reasons if row.decision else ()
        if "unrouted" in reasons:
            routes = examined.dependencies.registry.snapshot().versions
            cause = "route-missing" if routes else "contract-missing"
            yield CAUSES[cause].found(row.id, key=row.landing_key, short=row.id[:SHORT])
        for cause in [entry for entry in BY_STATUS if entry in reasons]:
            dataset = row.pin.dataset if row.pin else "unknown"
            yield CAUSES[cause].found(row.id, contract=_contract(row), line=dataset, short=row.id[:SHORT])
    elif row.state is State.HELD:
        yield from paused(examined, row.held, row.id)
    elif is_asked(examined, row):
        yield asked(row)
    elif row.state is State.VALIDATING:
        yield from _running(examined, row)
    elif row.state not in END_STATES:
        yield from _open(examined, row)


def _probe_failure(examined: ExaminedStack, row: Workload) -> Iterator[CauseFinding]:
    last = row.failed[-1] if row.failed else None
    if last is not None and last.cause in BY_FAILURE:
        found = {"contract": _contract(row), "short": row.id[:SHORT], "why": last.cause.value}
        yield CAUSES[BY_FAILURE[last.cause]].found(row.id, **found)
        return
    run = (last.run if last else "") or row.run
    why = last.cause.value if last else "no result"
    state_details = (_run(examined, run) or {}).get("stateDetails", "")
    kind = next((name for name, pattern in DETAILS if pattern.search(state_details)), "")
    short, application = row.id[:SHORT], examined.settings().application
    fixed = BEGINNINGS.search(state_details)
    details = fixed[0] if fixed else ""
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
        yield CAUSES[kind].found(row.id, run=run, short=short, details=details)
    else:
        reported = {"why": why, "details": f" ({details})" if details else ""}
        yield CAUSES["run-failed"].found(row.id, run=run, application=application, short=short, **reported)


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
    if row.state is not State.RECEIVED and data_of(DeliveryTurn(examined.dependencies, row)) is None:
        yield CAUSES["source-lost"].found(row.id)
        return
    if row.batch and row.not_before is not None and row.not_before > examined.ask.now():
        yield CAUSES["batch-open"].found(row.id, until=in_utc(row.not_before), short=row.id[:SHORT])
    elif row.not_before is not None and row.not_before > examined.ask.now() + LONGEST_BACKOFF:
        yield CAUSES["start-waits"].found(row.id, until=in_utc(row.not_before))
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


# ---- Items and manifests that cannot be read ----


STORED_ROWS: Final = 50
"""Of each kind."""
LINES: Final = 100
"""Datasets whose own items are read; those of others are seen where they are due."""
AT_ONCE: Final = 8


def items(examined: ExaminedStack) -> Iterator[CauseFinding]:
    """Items by which the functions act, and the manifests of datasets, can be read; what cannot be read is collected."""
    there, now = examined.dependencies, examined.ask.now()
    there.registry.proposals()
    there.outbox.pending(STORED_ROWS)
    for _ in there.registry.pages():
        pass
    batches = {delivery.row.batch for delivery in recent(there, STORED_ROWS) if delivery.row is not None} - {""}
    datasets = chains(there)[:LINES]
    contracts = sorted({version.contract for version in there.registry.snapshot().versions})[:LINES]
    turns = there.rows("turns")
    reads: list[Callable[[], object]] = [
        *(partial(there.batches.get, batch) for batch in batches),
        *_of_feature(there, "notices", now),
        *(partial(there.datasets.get, entry) for entry in (*there.datasets.due(now, STORED_ROWS), *datasets)),
        *(partial(there.pauses.pause_of, entry) for entry in (*there.pauses.listed(), *datasets)),
        *(partial(there.deadlines.get, entry) for entry in (*there.deadlines.due(now, STORED_ROWS), *datasets)),
        *_of_feature(there, "pulls", now, datasets),
        *_of_feature(there, "revalidations", now, datasets),
        *(partial(turns.next_slice, entry) for entry in datasets if turns),
        *(partial(there.ledger.key, entry) for entry in datasets),
        *(partial(there.ledger.head, contract_chain(contract)) for contract in contracts),
    ]
    with ThreadPoolExecutor(AT_ONCE) as readers:
        tuple(readers.map(partial(_read, there), reads))
        untrue = tuple(readers.map(partial(_is_unreadable, there), datasets))
    for dataset in (entry for entry, is_untrue in zip(datasets, untrue, strict=True) if is_untrue):
        yield CAUSES["manifest-untrue"].found(name=manifest_key(dataset), bucket=there.places.lake)
    for chain in _headless(there, (*datasets, *map(contract_chain, contracts))):
        yield CAUSES["head-lost"].found(chain=chain, table=examined.stack.output("LedgerTable"))


def watch(examined: ExaminedStack) -> Iterator[CauseFinding]:
    """Accepted objects are compared with their contracts by schedule; a local stack is for trials."""
    is_watched = examined.embedded or examined.there("DriftFunction")
    if not is_watched and examined.dependencies.registry.snapshot().versions:
        yield CAUSES["accepted-unwatched"].found()


def _of_feature(
    dependencies: Dependencies, kind: str, now: datetime, datasets: Sequence[str] = ()
) -> Iterator[Callable[[], object]]:
    """Reads of the rows that are due, and of those of datasets; none where the feature that has them is absent."""
    if rows := dependencies.rows(kind):
        yield from (partial(rows.get, text) for text in (*rows.due(now, STORED_ROWS), *datasets))


def _read(dependencies: Dependencies, read: Callable[[], object]) -> None:
    try:
        read()
    except NotFound:
        return
    except UnreadableItem as refused:
        dependencies.left_out.append(refused)


def _headless(dependencies: Dependencies, chains: Sequence[str]) -> Iterator[str]:
    """Those of the chains that have a block above the head, also after a second look: no block was committed meanwhile."""
    heads = dict(zip(chains, dependencies.ledger.heads(chains), strict=True))
    above = dependencies.ledger.digests([(chain, head.height + 1) for chain, head in heads.items()])
    for chain in (head for head, digest in zip(heads, above, strict=True) if digest):
        with suppress(UnreadableItem):  # which is reported as such
            if dependencies.ledger.head(chain) == heads[chain]:
                yield chain


def _is_unreadable(dependencies: Dependencies, dataset: str) -> bool:
    """Whether the dataset has a manifest that no reader can use."""
    try:
        read_manifest(dependencies, manifest_key(dataset), dataset)
    except NotFound:
        return False
    except InputError:
        return True
    return False
