"""Due measurements: row, plan, request, start, findings recorded."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

from lakegate.base.errors import (
    ConditionFailed,
    IdempotencyMismatch,
    InputError,
    LakegateError,
    NotFound,
    Throttled,
    TransactionConflict,
)
from lakegate.base.json_codec import EXTENSIONS, MAX_INTEGER, Exact, NotEmpty, Permitted
from lakegate.base.text import join_words
from lakegate.base.timestamps import Moment, instant_of, moment
from lakegate.contract.contract_model import DATASET_KEY, REVALIDATED, full_dataset_name, parts_of
from lakegate.contract.semantic_versions import major
from lakegate.features.revalidation.rule_limit import MAX_STALE
from lakegate.gate import lake_layout
from lakegate.gate.datasets import readers_manifest
from lakegate.gate.datasets.accepted_deliveries import standing_mark
from lakegate.gate.datasets.dataset_states import DatasetRowStore
from lakegate.gate.datasets.lifecycle import report
from lakegate.gate.delivery.attempt_request import AcceptedObject, accepted_objects, plan_uri, referred_data
from lakegate.gate.delivery.delivery_row import Referred, job_token
from lakegate.gate.delivery.pin_contract import referred_datasets
from lakegate.gate.delivery.submit_run import RunParameters, dataset_policy, executors, invoke_judge, start_job_run
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Effect, Steps, perform
from lakegate.gate.event_bodies import EventSubscriber
from lakegate.gate.ledger.blocks import Record, event_id
from lakegate.gate.ledger.commit import TRIES_OF_COMMIT, record_at_head
from lakegate.gate.ledger.record_contents import BrokenScheduledRule, StaleRule
from lakegate.gate.ports import Address, JobState, names_invocation
from lakegate.gate.scheduled_tasks import (
    Discovery,
    LabelledDataset,
    ScheduledTask,
    current,
    following,
    is_retired,
    write_row,
)
from lakegate.gate.table import ConditionName
from lakegate.library.described_deliveries import in_utc
from lakegate.plan.plan import Plan
from lakegate.plan.request import Request, StagedPart
from lakegate.plan.result import Result
from lakegate.verdict.check_status import Status
from lakegate.verdict.verdict import LONGEST_RULE, BrokenRule, broken_rules, judge

if TYPE_CHECKING:
    from lakegate.library.described_deliveries import DatasetSection

    Content = Callable[[list[dict[str, Any]]], dict[str, Any]]
    """The content of a record, by the rules that do not hold before it."""

# ---- The latest measurement, in words and for machines ----


def measured_datasets(dependencies: Dependencies, datasets: Iterable[str]) -> tuple[RevalidationState, ...]:
    """The rows of the datasets that are, or were, measured by schedule."""
    rows = map(revalidations(dependencies).get, sorted(datasets))
    return tuple(row for row in rows if row.plan or row.ends)


def status_of_datasets(dependencies: Dependencies, datasets: Iterable[str]) -> Iterator[DatasetSection]:
    """Results of rules with a schedule for each dataset, for `lakegate status` and `lakegate history`."""
    for dataset in measured_datasets(dependencies, datasets):
        yield "rules with a schedule", as_document(dataset), in_words(dataset)


def in_words(row: RevalidationState) -> str:
    """One line of text."""
    return "; ".join(_parts(row))


def _parts(row: RevalidationState) -> Iterator[str]:
    if row.ends:
        yield f"{_time(row.ends[0].at)}: {_end(row.ends[0])}"
    if row.run is not None:
        yield f"is being measured since {_time(row.run.at)}"
    elif row.next:
        yield f"next at {_time(row.next)}"
    else:
        yield "not measured any more"


def _end(end: EndedRun) -> str:
    failed = f"FAILED ({end.reason})" if end.reason else end.end.value
    if not end.stale:
        return failed
    return f"{failed}, does not hold: {join_words(end.stale)}"


def _time(at: str) -> str:
    return in_utc(instant_of(at))


def as_document(row: RevalidationState) -> dict[str, object]:
    """The row for machines."""
    return {
        "line": row.dataset,
        "contract_version": row.version or None,
        "schedules": [{"schedule": schedule.text, "next": schedule.next or None} for schedule in row.schedules],
        "measuring": {"since": row.run.at, "height": row.run.height, "attempt": row.run.attempt} if row.run else None,
        "ends": [
            {
                "outcome": end.end.value,
                "at": end.at,
                "height": end.height,
                "reason": end.reason or None,
                "stale": list(end.stale),
            }
            for end in row.ends
        ],
    }


# ---- The state of a measurement, as pure functions ----
# What such a run found is a record of the dataset's chain; what does not hold follows from the records, and is not stored here.


KIND: Final = "revalidation"
"""Of the record, of the message, and of what subscribers ask for."""
EVERY: Final = timedelta(days=1)
"""Between two looks at a dataset whose rules do not hold."""
MAX_ENDS: Final = 20
"""Ends that a dataset remembers."""


class RevalidationEnd(StrEnum):
    """The end of a run."""

    HELD = "HELD"
    """No rule failed; some may warn."""
    BROKEN = "BROKEN"
    FAILED = "FAILED"
    """Nothing was measured."""

    @property
    def metric(self) -> str:
        """The metric of a sweep that counts it."""
        return f"Revalidations{self.capitalize()}"


@dataclass(frozen=True, slots=True)
class EndedRun:
    """The end of a run."""

    end: RevalidationEnd
    at: str
    height: int
    reason: str = ""
    """A code, of what failed."""
    stale: tuple[str, ...] = ()
    """The rules that do not hold since then, as the record of the run lists them; of the latest end alone."""


@dataclass(frozen=True, slots=True)
class DueSchedule:
    """A schedule of the dataset's rules, and when it is due; empty: never again."""

    text: str
    next: str


@dataclass(frozen=True, slots=True)
class ScheduledRun:
    """A measurement that has begun; one attempt of it at a time."""

    id: str
    """Names the folder of its requests and results."""
    schedules: tuple[str, ...]
    """Schedules that were due."""
    plan: str
    """Digest of the plan with their checks alone."""
    height: int
    """Up to which accepted data is measured; by another attempt it may be a higher one."""
    at: str
    """The judging time."""
    attempt: int = 1
    run: str = ""
    """Of the job or of the judge function; empty: not started yet."""
    deadline: str = ""
    """From when on no result is waited for, once it is started."""


@dataclass(frozen=True, slots=True)
class RevalidationState:
    """The row of a dataset. Times are as `moment` writes them."""

    dataset: str = field(metadata=DATASET_KEY)
    plan: str = ""
    """Digest of the dataset's plan that the schedules are of; empty: nothing is measured by schedule."""
    version: str = ""
    """Of the contract."""
    schedules: tuple[DueSchedule, ...] = ()
    run: ScheduledRun | None = None
    look: str = ""
    """The time to look at the run again; without a run whether rules that do not hold still have a schedule; empty: never."""
    ends: tuple[EndedRun, ...] = ()
    """The latest first."""
    revision: int = 0
    extensions: str = field(default="{}", metadata=EXTENSIONS)
    """As `lakegate.base.json_codec.EXTENSIONS`."""

    @property
    def due(self) -> str:
        """The time when a sweep has to look at it; empty: never."""
        return self.look if self.run is not None else min(filter(None, (self.look, self.next)), default="")

    @property
    def next(self) -> str:
        """The next time of a schedule; empty: never."""
        return min((schedule.next for schedule in self.schedules if schedule.next), default="")

    def due_schedules(self, at: str) -> tuple[str, ...]:
        """The schedules whose time has come."""
        return tuple(schedule.text for schedule in self.schedules if "" < schedule.next <= at)


def planned(
    dataset: RevalidationState, schedules: Iterable[str], version: str, plan: str, now: str
) -> RevalidationState:
    """The dataset under another plan: a schedule that it had before is due as before."""
    known = {schedule.text: schedule.next for schedule in dataset.schedules}
    due = tuple(
        DueSchedule(schedule, known.get(schedule) or following(schedule, now)) for schedule in sorted(set(schedules))
    )
    return replace(dataset, plan=plan, version=version, schedules=due)


def unplanned(dataset: RevalidationState) -> RevalidationState:
    """The dataset when nothing is measured by schedule any more; how runs ended stays."""
    return replace(dataset, plan="", version="", schedules=(), look="")


def ended(dataset: RevalidationState, end: EndedRun) -> RevalidationState:
    """The dataset after a run has ended: due again by its schedules."""
    assert dataset.run is not None
    after = postponed(dataset, dataset.run.schedules, end.at)
    earlier = (replace(each, stale=()) for each in dataset.ends[: MAX_ENDS - 1])
    return _watched(replace(after, ends=(end, *earlier)), end.at)


def postponed(dataset: RevalidationState, schedules: Collection[str], now: str) -> RevalidationState:
    """The dataset when some schedules are done for this time."""
    due = tuple(
        DueSchedule(schedule.text, following(schedule.text, now)) if schedule.text in schedules else schedule
        for schedule in dataset.schedules
    )
    return _watched(replace(dataset, schedules=due, run=None), now)


def _watched(dataset: RevalidationState, now: str) -> RevalidationState:
    """The dataset without a run: looked at once a day while rules do not hold, because their schedules can be dropped."""
    is_stale = bool(dataset.ends and dataset.ends[0].stale)
    return replace(dataset, look=moment(instant_of(now) + EVERY) if is_stale else "")


def stale_rules(mark: Record | None) -> list[dict[str, Any]]:
    """The rules that do not hold for accepted data by the record that marks it, each with the time since when."""
    return [dict(each) for each in mark.content["stale"]] if mark else []


def stale_after(
    before: Iterable[dict[str, Any]],
    scheduled: Collection[str],
    measured: Collection[str],
    broken: Iterable[str],
    at: str,
) -> list[dict[str, Any]]:
    """The rules that do not hold after a run: those that failed, and earlier ones that have a schedule and were not measured.

    A rule that failed before does not hold since then.
    """
    since = {each["rule"]: each["since"] for each in before}
    kept = {rule for rule in since if rule in scheduled and rule not in measured}
    found = [{"rule": rule, "since": since.get(rule, at)} for rule in kept.union(broken)]
    return sorted(found, key=lambda each: (each["since"], each["rule"]))[:MAX_STALE]


def mark_of(record: Record) -> dict[str, Any] | None:
    """The mark of a record in the readers' manifest; None: every rule held when it was measured last."""
    stale = record.content["stale"]
    if not stale:
        return None
    reason = "rules that are measured by schedule do not hold for all accepted data"
    return {
        "since": stale[0]["since"],
        "reason": reason,
        "height": record.height,
        "rules": [dict(each) for each in stale],
    }


def content_of(
    version: str, run: ScheduledRun, rules: int, broken: Iterable[BrokenRule], stale: list[dict[str, Any]]
) -> dict[str, Any]:
    """The content of the record of a run."""
    return {
        "contract_version": version,
        "run": run.id,
        "plan": run.plan,
        "height": run.height,
        "schedules": list(run.schedules),
        "rules": rules,
        "broken": list(map(asdict, broken)),
        "stale": stale,
    }


# ---- Datasets with rules that have a schedule ----


def revalidations(dependencies: Dependencies) -> DatasetRowStore[RevalidationState]:
    """Measurements by dataset."""
    return DatasetRowStore(dependencies.table, "revalidation", "revalidation", RevalidationState)


# ---- The end of a run: record, manifest and message ----


class Findings(NamedTuple):
    """The measurements of a run."""

    rules: frozenset[str]
    """Those that were skipped are not among them: nothing is known about them."""
    broken: tuple[BrokenRule, ...]
    failed: frozenset[str]
    """Rules, of all that are broken."""


def findings_of(plan: Plan, result: Result) -> Findings | str:
    """The rules of a plan that accepted data breaks; a code where not every check was measured.

    Only the checks of the plan count: accepted data keeps what its deliveries were accepted with.
    """
    if result.does_not_fit:
        return "does-not-fit"
    if result.unreadable is not None:
        return "unreadable"
    own = {check.id for check in plan.checks}
    outcomes = tuple(
        outcome for outcome in judge(plan, result).outcomes if outcome.id in own and outcome.kind != "file"
    )
    if any(outcome.status is Status.ERROR for outcome in outcomes):
        return "not-measured"
    measured = frozenset(outcome.rule[:LONGEST_RULE] for outcome in outcomes if outcome.status is not Status.SKIP)
    if not measured:
        return "not-measured"
    failed = frozenset(outcome.rule[:LONGEST_RULE] for outcome in outcomes if outcome.status is Status.FAIL)
    return Findings(measured, broken_rules(outcomes), failed)


def publish(
    dependencies: Dependencies, row: RevalidationState, run: ScheduledRun, plan: Plan, found: Findings
) -> Steps[EndedRun]:
    """Record a run, mark the manifest and report it: in this order, each once. `plan`: of the dataset, with all its schedules."""
    scheduled = {each.check.rule[:LONGEST_RULE] for each in plan.scheduled}

    def content(before: list[dict[str, Any]]) -> dict[str, Any]:
        stale = stale_after(before, scheduled, found.rules, found.failed, run.at)
        return content_of(row.version, run, len(found.rules), found.broken, stale)

    recorded = yield from _record(dependencies, row.dataset, event_id(KIND, run.id), content)
    yield from readers_manifest.update(dependencies, row.dataset)
    is_broken = any(each["status"] == Status.FAIL.value for each in recorded["broken"])
    now = dependencies.moment
    stale = tuple(each["rule"] for each in recorded["stale"])
    end = EndedRun(RevalidationEnd.BROKEN if is_broken else RevalidationEnd.HELD, now, recorded["height"], stale=stale)
    about = {name: recorded[name] for name in ("rules", "broken", "stale")}
    yield from _report(dependencies, row, run, end, about)
    return end


def report_failed(
    dependencies: Dependencies, row: RevalidationState, run: ScheduledRun, end: EndedRun
) -> Steps[EndedRun]:
    """Report a run that measured nothing: what the manifest states stays. Returns the end with that."""
    stale = stale_rules(standing_mark(dependencies, row.dataset, MAX_INTEGER))
    yield from _report(dependencies, row, run, end, {"rules": 0, "broken": [], "stale": stale})
    return replace(end, stale=tuple(each["rule"] for each in stale))


def lift(dependencies: Dependencies, row: RevalidationState) -> Steps[None]:
    """Record that no rule of a dataset has a schedule any more, where one did not hold: nothing would measure it again.

    The manifest follows also where an earlier try recorded it, and came no further.
    """
    last = standing_mark(dependencies, row.dataset, MAX_INTEGER)
    if last is None:
        return
    if stale_rules(last):
        before = {name: last.content[name] for name in ("contract_version", "run", "plan", "height")}
        content = {**before, "schedules": [], "rules": 0, "broken": [], "stale": []}
        yield from _record(dependencies, row.dataset, event_id(KIND, "lifted", last.event), lambda _: content)
    yield from readers_manifest.update(dependencies, row.dataset)


def _record(dependencies: Dependencies, dataset: str, event: str, content: Content) -> Steps[dict[str, Any]]:
    """Append a record unless there is one of this event. Returns the content that is recorded.

    What did not hold before is what the chain says at the height below the record.
    """
    for _ in range(TRIES_OF_COMMIT):
        head = dependencies.ledger.head(dataset)
        before = stale_rules(standing_mark(dependencies, dataset, head.height))
        record = record_at_head(dependencies, KIND, dataset, content(before), event, head=head)
        try:
            yield from perform(Effect.RECORD, dependencies.ledger.append, record)
        except ConditionFailed as failed:  # others extend the chain, or an earlier try of this worker arrived
            if ConditionName.EVENT not in failed.reasons:
                continue
            newest = dependencies.ledger.newest(dataset)
            record = next(each for each in newest if isinstance(each, Record) and each.event == event)
        return dict(record.content)
    raise TransactionConflict


@dataclass(frozen=True, slots=True)
class RevalidationEvent:
    """The body of an event about accepted data that was measured by schedule."""

    dataset: NotEmpty = field(metadata=DATASET_KEY)
    contract_version: NotEmpty
    outcome: Annotated[str, Permitted(("BROKEN", "FAILED", "HELD"))]
    reason: str | None
    """A code, of a run that measured nothing; else null."""
    at: Moment
    """The time when the run ended."""
    next: Moment | None
    """The next run of these schedules; null: there is none."""
    schedules: tuple[NotEmpty, ...]
    height: Exact
    """Up to which accepted data was measured."""
    rules: Exact
    """The number of rules that were measured."""
    broken: tuple[BrokenScheduledRule, ...]
    """The worst first."""
    stale: tuple[StaleRule, ...]
    """The rules that do not hold, also those of other schedules."""
    subscribers: tuple[EventSubscriber, ...]


def _report(
    dependencies: Dependencies, row: RevalidationState, run: ScheduledRun, end: EndedRun, about: dict[str, Any]
) -> Steps[None]:
    due = min(filter(None, (following(schedule, end.at) for schedule in run.schedules)), default="")
    own = {"contract_version": row.version, "outcome": end.end, "next": due}
    yield from report(dependencies, KIND, row.dataset, run.id, RevalidationEvent, end, run, **own, **about)


# ---- An attempt ----


class OtherFormat(LakegateError):  # noqa: N818 - the name is what is wrong
    """Some of the accepted data has another format or dialect than the current version of the contract says."""


class AcceptedData(NamedTuple):
    """Data of a dataset that consumers read."""

    height: int
    found: tuple[AcceptedObject, ...]


def accepted_data(dependencies: Dependencies, dataset: str) -> AcceptedData:
    """All of a dataset, as it is now."""
    return accepted_up_to(dependencies, dataset, dependencies.ledger.head(dataset).height)


def accepted_up_to(dependencies: Dependencies, dataset: str, height: int) -> AcceptedData:
    """All of a dataset up to a height, without what was erased since."""
    return AcceptedData(height, accepted_objects(dependencies, Referred(dataset, height)))


def _refuse_other_formats(dependencies: Dependencies, dataset: str, run: ScheduledRun, data: AcceptedData) -> None:
    """One plan reads all objects. Raises OtherFormat where some were accepted in another format or dialect."""
    own = dialect_of(dependencies, run.plan, dataset)
    accepted = (each.plan for each in data.found)
    if any(dialect_of(dependencies, fromkey, dataset) != own for fromkey in dict.fromkeys(accepted)):
        raise OtherFormat


def dialect_of(dependencies: Dependencies, plan: str, dataset: str) -> Mapping[str, object]:
    """The form of what a plan accepted."""
    return dependencies.terms_at(plan, dataset).dialect


def request_of(dependencies: Dependencies, row: RevalidationState, run: ScheduledRun, data: AcceptedData) -> Request:
    """The request of an attempt: what was accepted up to its height and is not erased, read by version."""
    lake, plan = dependencies.places.lake, Plan.from_bytes(dependencies.plan_at(run.plan, run.id))
    parts = tuple(
        StagedPart(f"s3://{lake}/{each.key}", each.size, version=each.version)
        for each in (one.object for one in data.found)
    )
    queries = (check.query for check in plan.checks if check.query is not None)
    datasets = sorted({relation.full_name for query in queries for relation in query.relations if relation.full_name})
    referred = referred_datasets(dependencies, parts_of(row.dataset)[0], row.version, datasets)
    return Request(
        workload=run.id,
        attempt=run.attempt,
        plan_uri=plan_uri(dependencies, run.plan),
        plan_digest=run.plan,
        source_version=source_of(run),
        parts=parts,
        judged_at=run.at,
        output_uri=f"s3://{lake}/{lake_layout.attempt_prefix(run.id, run.attempt)}",
        references=tuple(referred_data(dependencies, each) for each in referred),
    )


def source_of(run: ScheduledRun) -> str:
    """The identity of what an attempt reads: repeated in its result."""
    return hashlib.sha256(json.dumps([run.id, run.attempt, run.height, run.at]).encode()).hexdigest()


def start(dependencies: Dependencies, row: RevalidationState, run: ScheduledRun, data: AcceptedData) -> Steps[str]:
    """Write the request of an attempt over some data and start it: by the judge function where that may be enough.

    Returns the run's id.

    Repeated, it starts the same job run, or invokes the judge function once more: one result is written. Raises NotFound where
    there is no such function, or nothing to measure, and OtherFormat.
    """
    lake, job = dependencies.places.lake, dependencies.places.job
    _refuse_other_formats(dependencies, row.dataset, run, data)
    request = request_of(dependencies, row, run, data)
    if not request.parts:  # all of it was erased since
        raise NotFound("no-data")
    where = Address(lake, f"{lake_layout.attempt_prefix(run.id, run.attempt)}/request.json")
    yield from perform(Effect.WRITE_REQUEST, dependencies.objects.put, where, request.to_bytes())
    if is_small(dependencies, request):
        asked = invoke_judge(job, request)
    else:
        parameters = RunParameters(
            run.id,
            job_token(run.id, run.attempt),
            ["--request", f"{request.output_uri}/request.json"],
            dataset_policy(job, lake, request, row.dataset),
            executors(job, request),
        )
        asked = start_job_run(job, row.dataset.partition("/")[0], row.dataset, parameters)
    started: str = yield from perform(Effect.START_JOB, dependencies.jobs.start, asked)
    return started


def is_small(dependencies: Dependencies, request: Request) -> bool:
    """Whether an attempt is given to the judge function: the first one, where the whole dataset is a small delivery."""
    job = dependencies.places.job
    return bool(job.judge) and request.attempt == 1 and sum(part.size for part in request.parts) < job.small


def write_plan(dependencies: Dependencies, plan: Plan) -> Steps[str]:
    """Keep the plan of a run by its digest, which is returned."""
    where = Address(dependencies.places.lake, f"plans/{plan.digest}.json")
    yield from perform(Effect.WRITE_PLAN, dependencies.objects.put, where, plan.to_bytes())
    return plan.digest


# ---- Steps of `sweep` ----
# The row of a dataset says where this is; each write of it has the revision as its condition, so that of two sweeps one goes on.
#
# 1. write what is going to be measured: checks, height, judging time;
# 2. start the run, and write its id; look again every few minutes;
# 3. with its result: record it in the ledger, mark the readers' manifest, report it, and write that the run has ended. The
#    event of its end does so at once (`run_ended`); without it the next sweep finds the result.
#
# Each effect may be repeated, and what was done is found again: the record by its event, the mark by the records, the message
# by its id. A run that is lost is started again, as another attempt over what is accepted then; after the last one its end is
# reported, without a record: nothing is known about the data.


CURSOR: Final = "revalidations"
"""The name of the place in the registry where the next sweep goes on."""
ATTEMPTS: Final = 3
"""Of one run."""
AGAIN: Final = timedelta(minutes=1)
"""Until a run is looked at again, and between attempts: less than the time between two sweeps, so that the next one looks."""
QUEUE_TIMEOUT: Final = timedelta(minutes=360)
"""The time for which EMR Serverless lets a job run wait (`QueueTimeoutMinutes` in template.yaml)."""
OVER: Final = frozenset({JobState.SUCCESS, JobState.FAILED, JobState.CANCELLED})


def _step(dependencies: Dependencies, row: RevalidationState, now: str) -> Steps[RevalidationState]:
    if row.run is None:
        return (yield from _begun(dependencies, row, now))
    return (yield from _continued(dependencies, row, row.run))


def _found(dependencies: Dependencies, found: LabelledDataset) -> RevalidationState | None:
    row = revalidations(dependencies).get(found.dataset)
    if row.run is not None or row.plan == found.plan or is_retired(dependencies, found.dataset):
        return None
    return _planned(dependencies, row, found)


def _planned(dependencies: Dependencies, row: RevalidationState, found: LabelledDataset) -> RevalidationState:
    schedules = (each.schedule for each in _plan(dependencies, row, found.plan).scheduled)
    return planned(row, schedules, found.version.version, found.plan, dependencies.moment)


def _begun(dependencies: Dependencies, row: RevalidationState, now: str) -> Steps[RevalidationState]:
    """Write what is measured, and start it."""
    found = current(dependencies, row.dataset, REVALIDATED)
    if found is None:
        if not is_retired(dependencies, row.dataset):
            yield from lift(dependencies, row)
        return unplanned(row)
    _, dataset = found
    if dataset.plan != row.plan:
        row = yield from write_row(dependencies, TASK, _planned(dependencies, row, dataset))
    due, data = row.due_schedules(now), accepted_data(dependencies, row.dataset)
    if not due or not data.found:
        return postponed(row, due, now)
    plan = _plan(dependencies, row, row.plan).of_schedules(due)
    yield from write_plan(dependencies, plan)
    secret = data.found[0].workload  # who knows the id of a run may read its result
    identity = hashlib.sha256(f"{row.dataset}:{row.revision}:{now}:{secret}".encode()).hexdigest()
    run = ScheduledRun(identity, due, plan.digest, data.height, now)
    row = yield from write_row(dependencies, TASK, replace(row, run=run, look=now))
    return (yield from _started(dependencies, row, run, data))


def _started(
    dependencies: Dependencies, row: RevalidationState, run: ScheduledRun, data: AcceptedData
) -> Steps[RevalidationState]:
    try:
        identity = yield from start(dependencies, row, run, data)
    except OtherFormat:
        return (yield from _failed(dependencies, row, run, "other-format"))
    except (NotFound, IdempotencyMismatch):  # no such function, no data, or another release has started it
        return (yield from _again(dependencies, row, run, "not-started"))
    except Throttled:  # EMR Serverless takes no start now: a later sweep tries again, and no attempt counts
        return _looked_at_again(dependencies, row, run)
    deadline = moment(dependencies.now + _longest(dependencies, identity))
    return _looked_at_again(dependencies, row, replace(run, run=identity, deadline=deadline))


def _looked_at_again(dependencies: Dependencies, row: RevalidationState, run: ScheduledRun) -> RevalidationState:
    """The row with a run, or with another attempt of it, that a later sweep looks at."""
    return replace(row, run=run, look=moment(dependencies.now + AGAIN))


def _longest(dependencies: Dependencies, run: str) -> timedelta:
    """The time for a run to wait and run: never less than EMR Serverless lets it, or it would be started again for ever."""
    timing = dependencies.timing
    if names_invocation(run):
        return timing.invocation
    return QUEUE_TIMEOUT + timedelta(minutes=dependencies.places.job.timeout_minutes) + timing.grace


def _continued(dependencies: Dependencies, row: RevalidationState, run: ScheduledRun) -> Steps[RevalidationState]:
    """Start what is not started; else look whether there is a result."""
    if not run.run:
        return (yield from _started(dependencies, row, run, accepted_up_to(dependencies, row.dataset, run.height)))
    found = _come_to(dependencies, run)
    if found is None:
        return _looked_at_again(dependencies, row, run)
    return (yield from _over(dependencies, row, run, found))


def run_ended(dependencies: Dependencies, run: str, lost: int) -> Steps[str | None]:
    """Carry on the dataset of a run that ended, as the next sweep would; `lost`: its attempt whose invocation failed.

    Returns the metric of a measurement that ended by it. The run of another feature's, or of nobody's, is left alone.
    """
    row = revalidations(dependencies).get(_dataset_of_run(dependencies, run))
    own = row.run
    if own is None or own.id != run or not own.run:  # where its id is not stored yet, a sweep is about to do so
        return None
    if lost == own.attempt and names_invocation(own.run):
        own = replace(own, deadline=dependencies.moment)
    found = _come_to(dependencies, own)
    if found is None:
        return None
    try:
        after = yield from _over(dependencies, row, own, found)
        yield from write_row(dependencies, TASK, after)
    except ConditionFailed:  # a sweep goes on with it
        return None
    return _metric(row, after)


def _dataset_of_run(dependencies: Dependencies, run: str) -> str:
    """The dataset that a run measures, by the request of its first attempt; empty: there is none that this release reads."""
    where = Address(dependencies.places.lake, f"{lake_layout.attempt_prefix(run, 1)}/request.json")
    try:
        digest = Request.from_bytes(dependencies.objects.read(where)).plan_digest
    except (NotFound, InputError):
        return ""
    plan = Plan.from_bytes(dependencies.plan_at(digest, run))
    return full_dataset_name(plan.contract, plan.dataset, major(plan.contract_version))


def _come_to(dependencies: Dependencies, run: ScheduledRun) -> Findings | str | None:
    """The findings of an attempt that was started; a code where there will be none; None while they are waited for."""
    found = _result(dependencies, run)
    if found is None and _is_over(dependencies, run):
        return _result(dependencies, run) or "lost"
    return found


def _over(
    dependencies: Dependencies, row: RevalidationState, run: ScheduledRun, found: Findings | str
) -> Steps[RevalidationState]:
    """Record what an attempt found, or prepare another one."""
    if isinstance(found, str):
        yield from perform(Effect.CANCEL_JOB, dependencies.jobs.cancel, run.run)
        return (yield from _again(dependencies, row, run, found))
    return ended(row, (yield from publish(dependencies, row, run, _plan(dependencies, row, row.plan), found)))


def _result(dependencies: Dependencies, run: ScheduledRun) -> Findings | str | None:
    """The result of an attempt; a code where it did not measure its checks; None where there is no result."""
    where = Address(dependencies.places.lake, f"{lake_layout.attempt_prefix(run.id, run.attempt)}/result.json")
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
    return findings_of(Plan.from_bytes(dependencies.plan_at(run.plan, run.id)), result)


def _is_over(dependencies: Dependencies, run: ScheduledRun) -> bool:
    """Whether no result is to be expected."""
    if dependencies.moment >= run.deadline:
        return True
    try:
        return dependencies.jobs.describe(run.run).state in OVER
    except NotFound:
        return True


def _again(
    dependencies: Dependencies, row: RevalidationState, run: ScheduledRun, reason: str
) -> Steps[RevalidationState]:
    """Another attempt over what is accepted then; after the last one the run has failed."""
    if run.attempt == ATTEMPTS:
        return (yield from _failed(dependencies, row, run, reason))
    data, now = accepted_data(dependencies, row.dataset), dependencies.now
    if not data.found:
        return postponed(row, run.schedules, moment(now))
    after = ScheduledRun(run.id, run.schedules, run.plan, data.height, moment(now), run.attempt + 1)
    return _looked_at_again(dependencies, row, after)


def _failed(
    dependencies: Dependencies, row: RevalidationState, run: ScheduledRun, reason: str
) -> Steps[RevalidationState]:
    end = EndedRun(RevalidationEnd.FAILED, dependencies.moment, run.height, reason)
    end = yield from report_failed(dependencies, row, run, end)
    return ended(row, end)


def _plan(dependencies: Dependencies, row: RevalidationState, digest: str) -> Plan:
    return Plan.from_bytes(dependencies.plan_at(digest, row.dataset))


def _metric(before: RevalidationState, after: RevalidationState) -> str | None:
    """The metric of a run that ended."""
    return after.ends[0].end.metric if after.ends != before.ends else None


TASK: Final = ScheduledTask(
    revalidations,
    _step,
    _metric,
    Discovery(REVALIDATED, CURSOR, _found),
    tuple(each.metric for each in RevalidationEnd),
)
