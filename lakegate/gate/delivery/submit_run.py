"""Steps 5 and 6: a run started, with settings, tags and narrow rights."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from lakegate.base.errors import ConditionFailed, IdempotencyMismatch, NotFound, Throttled, UnreadableItem
from lakegate.gate import lake_layout
from lakegate.gate.delivery.attempt_request import plan_uri, write_request
from lakegate.gate.delivery.decide_verdict import Lost, companion_of, result_of
from lakegate.gate.delivery.delivery_row import OF_VALIDATORS, FailedAttempt, FailureCause, Workload, job_token
from lakegate.gate.delivery.protocol import Outcome, State
from lakegate.gate.delivery.small_file_batches import cause_of_member, is_to_start, join
from lakegate.gate.delivery.stage_data import claim_parts
from lakegate.gate.delivery.transition import DeliveryTurn, Observation, OutcomeChanged, move
from lakegate.gate.delivery_store import Batch
from lakegate.gate.effects import ConcurrentUpdate, Effect, Steps, perform
from lakegate.gate.event_bodies import message
from lakegate.gate.ports import Address, invocation, is_invocation
from lakegate.plan.request import BatchRequest, Request

if TYPE_CHECKING:
    from lakegate.gate.dependencies import Dependencies, JobSettings, Timing

# ---- The session policy of a job run ----
# EMR Serverless gives a run the intersection of its role and this policy
# (https://docs.aws.amazon.com/emr/latest/EMR-Serverless-UserGuide/jobs-cli-execution.html), so that whatever a file makes the
# job do concerns the objects of its own run. Listing is not limited by prefix: a HEAD of an absent object has none, and S3
# answers 403.


COMFORTABLE: Final = 1500
"""Characters up to which a policy names exactly what is read: STS packs session policies, to an unknown length."""
LONGEST_POLICY: Final = 2048
"""Characters, of Latin-1 (https://docs.aws.amazon.com/emr-serverless/latest/APIReference/API_JobRunExecutionIamPolicy.html)."""
VERSIONS: Final = ["s3:GetObject", "s3:GetObjectVersion"]
_ADDRESS: Final = re.compile(r"s3://([^\s,#]+)/[^\s,#/]+")
"""Of a file, in the entry point and in the parameters of spark-submit: its folder is what is read."""
_NOT_PLAIN: Final = re.compile(r"[^A-Za-z0-9._/=@+-]")


class BatchScope(NamedTuple):
    """Objects that the run of a batch reads and writes."""

    plan_uri: str
    datasets: tuple[str, ...]
    """Whose accepted data it is compared with."""
    staged: str
    """The folder of the staged copies of its group, below the lake bucket."""
    output: str
    """Its own folder."""


def run_policy(job: JobSettings, lake: str, request: Request) -> str:
    """The policy as JSON. References to more datasets or plans than fit are all accepted data and all plans."""
    plans = {request.plan_uri, *(part.plan_uri for dataset in request.references for part in dataset.parts)}
    parts = sorted({_part(part.uri, len(request.parts)) for part in request.parts})
    own = [*parts, f"{_place(request.output_uri)}/*"]
    merged = [request.slices.merge.dataset] if request.slices and request.slices.merge else []
    referred = [reference.dataset for reference in request.references if reference.parts]
    exact = [*map(_place, sorted(plans)), *_accepted(lake, [*merged, *referred])]
    return _within_limit(job, lake, own, exact)


def batch_policy(job: JobSettings, lake: str, batch: BatchScope) -> str:
    """The policy of a run that judges a batch: its length does not depend on the number of members.

    They have one plan, their staged copies are in one folder, and all that is written is in the folder of the batch. What they
    are compared with was accepted by several plans.
    """
    own = [f"{lake}/{batch.staged}*", f"{lake}/{batch.output}*"]
    plans = [f"{lake}/plans/*"] if batch.datasets else [_place(batch.plan_uri)]
    return _within_limit(job, lake, own, [*plans, *_accepted(lake, batch.datasets)])


def dataset_policy(job: JobSettings, lake: str, request: Request, dataset: str) -> str:
    """The policy of a run that measures what was accepted of a dataset; it reads versions of objects."""
    datasets = dict.fromkeys((dataset, *(reference.dataset for reference in request.references if reference.parts)))
    plans = {request.plan_uri, *(part.plan_uri for reference in request.references for part in reference.parts)}
    exact = [*map(_place, sorted(plans)), *_accepted(lake, datasets)]
    return _within_limit(job, lake, [f"{_place(request.output_uri)}/*"], exact, VERSIONS)


def _accepted(lake: str, datasets: Iterable[str]) -> list[str]:
    return [f"{_plain(f'{lake}/accepted/{dataset}/')}*" for dataset in datasets]


def _within_limit(
    job: JobSettings, lake: str, own: list[str], read: list[str], reading: str | list[str] = "s3:GetObject"
) -> str:
    exact = _policy(job, lake, own, read, reading)
    return (
        exact
        if len(exact) <= COMFORTABLE
        else _policy(job, lake, own, [f"{lake}/plans/*", f"{lake}/accepted/*"], reading)
    )


def _policy(job: JobSettings, lake: str, own: list[str], read: list[str], reading: str | list[str]) -> str:
    """`own`: what is judged, and last the folder that is written to."""
    partition, output = job.role.split(":")[1], own[-1]
    code = sorted({f"{_plain(each)}/*" for each in _ADDRESS.findall(f"{job.entry_point} {job.parameters}")})
    places = [*code, *read, *own]
    statements = [
        _allow(reading, [f"arn:{partition}:s3:::{place}" for place in places]),
        _allow(
            ["s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"],
            f"arn:{partition}:s3:::{output}",
        ),
        _allow("s3:ListBucket", f"arn:{partition}:s3:::{lake}"),
        _allow(["kms:Decrypt", "kms:GenerateDataKey"], "*"),
    ]
    return json.dumps({"Version": "2012-10-17", "Statement": statements}, separators=(",", ":"))


def _allow(action: str | list[str], resource: str | list[str]) -> dict[str, object]:
    return {"Effect": "Allow", "Action": action, "Resource": resource}


def _place(uri: str) -> str:
    return _plain(uri.removeprefix("s3://"))


def _part(uri: str, of: int) -> str:
    """One staged copy; of several, their folder, which has nothing else."""
    return _place(uri) if of == 1 else f"{_place(uri.rpartition('/')[0])}/*"


def _plain(text: str) -> str:
    """A character that means something in a policy, or that the API refuses, is any one character."""
    return _NOT_PLAIN.sub("?", text)


# ---- The request of an attempt, and the back-off ----


EXECUTORS = "{executors}"
"""In the parameters of spark-submit: the number of executors of the run."""
DISK = "{disk}"
"""Likewise: GB of the disk of each of its executors."""
LEAST_DISK, MOST_DISK = 20, 200
"""GB of a worker; the least is in its price ("Using different application configurations", EMR Serverless guide)."""
DISK_OF_A_GIBIBYTE = 4
"""GB. Keys that are kept, and keys that are sorted, have the size of the data at most; compressed data grows when it is read."""
BYTES_OF_AN_EXECUTOR = 1 << 30
"""Two cores evaluate so much in less than half a minute (docs/performance.md); another executor is billed for a whole one."""


def start_request(turn: DeliveryTurn, request: Request) -> dict[str, object]:
    """The whole request that starts an attempt: Invoke for a small delivery of which no attempt failed, else StartJobRun.

    It is stored with the attempt, so a retry, or another release, invokes or starts the same.
    """
    job, size = turn.gate.places.job, sum(part.size for part in request.parts)
    earlier = {attempt.cause for attempt in turn.row.failed if attempt.number > turn.row.first}
    if not job.judge or size >= job.small or earlier - {FailureCause.OVERTAKEN, *OF_VALIDATORS}:
        policy = run_policy(job, turn.gate.places.lake, request)
        arguments = ["--request", f"{request.output_uri}/request.json"]
        token, workers = job_token(turn.row.id, request.attempt), executors(job, request)
        run = RunParameters(turn.row.id, token, arguments, policy, workers, executor_disk(request, workers))
        return start_job_run(job, turn.pin.contract, turn.pin.dataset, run)
    return invoke_judge(job, request)


def invoke_judge(job: JobSettings, request: Request) -> dict[str, object]:
    """Invoke, for an attempt."""
    uri = f"{request.output_uri}/request.json"
    payload = {"workload": request.workload, "attempt": request.attempt, "request": uri}
    return {
        "FunctionName": job.judge,
        "InvocationType": "Event",
        "Payload": json.dumps(payload, sort_keys=True),
    }


class RunParameters(NamedTuple):
    """The differences between job runs."""

    name: str
    """The workload or the batch that it is about."""
    token: str
    arguments: list[str]
    policy: str
    executors: int = 1
    disk: int = LEAST_DISK
    """GB of each executor."""


def start_job_run(job: JobSettings, contract: str, dataset: str, run: RunParameters) -> dict[str, object]:
    """StartJobRun. EMR's own retry is off: attempts are counted here, where their token is stored."""
    submit = {
        "entryPoint": job.entry_point,
        "entryPointArguments": run.arguments,
        "sparkSubmitParameters": job.parameters.replace(EXECUTORS, str(run.executors)).replace(DISK, str(run.disk)),
    }
    return {
        "applicationId": job.application,
        "executionRoleArn": job.role,
        "executionIamPolicy": {"policy": run.policy},
        "clientToken": run.token,
        "name": run.name,
        "jobDriver": {"sparkSubmit": submit},
        "executionTimeoutMinutes": job.timeout_minutes,
        "retryPolicy": {"maxAttempts": 1},
        "tags": {"lakegate:contract": _tag(contract), "lakegate:line": _tag(dataset)},
    }


def executors(job: JobSettings, request: Request) -> int:
    """The number of executors of a run, by the bytes that it reads: delivered ones, and accepted ones to compare with."""
    return max(1, min(job.executors, -(-_bytes_read(request) // BYTES_OF_AN_EXECUTOR)))


def executor_disk(request: Request, executors: int) -> int:
    """GB of the disk of each executor, by its share of the bytes."""
    share = -(-_bytes_read(request) // executors)
    return min(MOST_DISK, LEAST_DISK + DISK_OF_A_GIBIBYTE * (share // BYTES_OF_AN_EXECUTOR))


def _bytes_read(request: Request) -> int:
    accepted = (part.size for reference in request.references for part in reference.parts)
    return sum(part.size for part in request.parts) + sum(accepted)


def _tag(text: str) -> str:
    """A text as the value of a tag, by which costs are allocated: EMR Serverless refuses other characters."""
    return re.sub(r"[^A-Za-z0-9 /_.:=+@-]", "_", text)[:256]


def start_batch(turn: DeliveryTurn) -> Steps[tuple[str, str]]:
    """Close the batch of a workload, and start its run unless that was done before. Returns its request and its run's id."""
    batch = yield from _closed(turn)
    if batch.run:
        return batch.request, batch.run
    lake = turn.gate.places.lake
    prefixes = (lake_layout.attempt_prefix(member.workload, member.attempt, batch.id) for member in batch.members)
    document = BatchRequest(batch.id, tuple(f"s3://{lake}/{prefix}/request.json" for prefix in prefixes))
    where = Address(lake, f"{lake_layout.batch_prefix(batch.id)}batch.json")
    yield from perform(Effect.WRITE_BATCH, turn.gate.objects.put, where, document.to_bytes())
    run = yield from perform(Effect.START_JOB, turn.gate.jobs.start, json.loads(batch.request))
    yield from perform(Effect.MARK_BATCH, turn.gate.batches.started, batch.id, run)
    return batch.request, run


def _closed(turn: DeliveryTurn) -> Steps[Batch]:
    batch = turn.gate.batches.get(turn.row.batch)
    while not batch.request:
        request = json.dumps(_compose_request(turn, batch.id), sort_keys=True)
        with suppress(ConditionFailed):  # it was closed, or joined, since
            yield from perform(Effect.CLOSE_BATCH, turn.gate.batches.close, batch, request)
        batch = turn.gate.batches.get(batch.id)
    return batch


def _compose_request(turn: DeliveryTurn, batch: str) -> dict[str, object]:
    """The whole StartJobRun. The token is the batch's id: its members never change once a request is stored."""
    job, lake, output = turn.gate.places.job, turn.gate.places.lake, lake_layout.batch_prefix(batch)
    scope = BatchScope(
        plan_uri(turn.gate, turn.pin.plan),
        turn.terms.references,
        f"{lake_layout.STAGING}{lake_layout.staged_group(turn.staged.key)}/",
        output,
    )
    arguments = ["--batch", f"s3://{lake}/{output}batch.json"]
    run = RunParameters(batch, batch, arguments, batch_policy(job, lake, scope))
    return start_job_run(job, turn.pin.contract, turn.pin.dataset, run)


def observe_submitting(turn: DeliveryTurn) -> Observation | None:
    """SUBMITTING: ready to start, or waiting in a batch."""
    if turn.row.batch:
        try:
            return Observation(Outcome.STORED) if is_to_start(turn) else None
        except UnreadableItem as refused:  # its members are judged alone
            turn.gate.left_out.append(refused)
            return Observation(Outcome.CONFLICT, cause=FailureCause.BATCH_FAILED)
    if turn.row.not_before is not None and turn.now < turn.row.not_before:
        return None
    return Observation(Outcome.STORED)


# ---- The end of an attempt, and when the next one begins ----


def end_attempt(turn: DeliveryTurn, observed: Observation) -> Steps[None]:
    """Make sure that the attempt is over: cancel its run, then read its result once more.

    A result that came between the first look and the cancel is a good one; it must not cost an attempt, nor FAIL.
    The run of a batch may still judge others after it has judged this delivery.
    """
    if turn.row.run and not (turn.row.batch and observed.answered):
        yield from perform(Effect.CANCEL_JOB, turn.gate.jobs.cancel, turn.row.run)
    # In SUBMITTING its batch cannot be read: whether a run was started is not known, and nobody looks for its result.
    is_started = turn.row.state is not State.SUBMITTING
    if is_started and not observed.answered and result_of(turn) is not None:
        raise ConcurrentUpdate(turn.row.id)


def failures_of(turn: DeliveryTurn, cause: FailureCause | None) -> tuple[FailedAttempt, ...]:
    """The attempts that came to nothing, now with the current one, if it did."""
    if cause is None:
        return turn.row.failed
    return (*turn.row.failed, FailedAttempt(turn.row.attempt, turn.row.run, cause, turn.now))


def fail(turn: DeliveryTurn, to: State, observed: Observation) -> Steps[Workload]:
    """End a delivery as FAILED, with the causes of its attempts."""
    if turn.row.parts is not None:
        yield from claim_parts(turn)
    yield from end_attempt(turn, observed)
    # What cannot be read took no job run, but counts as an attempt: state and attempt must not repeat after a replay.
    tried = turn.row._replace(attempt=turn.row.attempt + (observed.on is Outcome.UNREADABLE))
    failures = failures_of(turn.moved(tried), observed.cause)
    after = tried._replace(state=to, failed=failures, cost=turn.spent(observed), due_at=None)
    return (yield from move(turn, Effect.FAIL, after, message=message(turn.gate, after)))


OVERTAKEN_AT_ONCE = 8
"""Attempts that may follow one another at once because others were published before: Lambda ends a chain of invocations that
call each other some sixteen times (its guide, Recursive loop detection). The next one is started by `sweep`."""
FREE = frozenset({FailureCause.DOES_NOT_FIT, FailureCause.NO_FUNCTION})
"""Causes for which one more attempt is allowed: they are possible once a round, in its first attempt."""


def back_off(timing: Timing, now: datetime, workload: Workload, cause: FailureCause | None) -> datetime | None:
    """Before when the next attempt is not sent; None: at once, for the first of a round, and where nothing failed."""
    ordinal: int = (
        0 if cause in {*FREE, FailureCause.BATCH_FAILED, FailureCause.OVERTAKEN} else workload.attempt - workload.first
    )
    if cause is FailureCause.OVERTAKEN and (_overtaken(workload) + 1) % OVERTAKEN_AT_ONCE == 0:
        return now + timing.poll
    if ordinal and cause in OF_VALIDATORS:  # a service may be away for some minutes
        return now + timing.poll
    return None if ordinal == 0 else now + min(timing.backoff * 2 ** (ordinal - 1), timing.longest_backoff)


def _overtaken(workload: Workload) -> int:
    """The number of attempts just before this one that were overtaken."""
    return sum(1 for _ in takewhile(lambda attempt: attempt.cause is FailureCause.OVERTAKEN, reversed(workload.failed)))


def uncounted(turn: DeliveryTurn, cause: FailureCause | None) -> int:
    """Attempts of a round beyond its limit: 1 if the current one only waited or its batch failed, within the bound
    on each, was an invocation that could not judge the delivery, which is followed by none in its round, or was overtaken.

    That has no bound: each time another delivery of the dataset was published.
    """
    if cause is None:
        return 0
    before = sum(attempt.cause is cause for attempt in turn.row.failed if attempt.number > turn.row.first)
    timing = turn.gate.timing
    bounds = {FailureCause.NOT_STARTED: timing.waits, FailureCause.BATCH_FAILED: timing.splits}
    return int(cause in {*FREE, FailureCause.OVERTAKEN} or (cause in bounds and before < bounds[cause]))


# ---- The run of an attempt ----


MINUTE = timedelta(minutes=1)


def start_in_batch(turn: DeliveryTurn, to: State) -> Steps[Workload]:
    """Start the run of the workload's batch, unless another member did."""
    try:
        request, run = yield from start_batch(turn)
    except IdempotencyMismatch:
        cause = cause_of_member(turn, FailureCause.TOKEN_TAKEN)
        raise OutcomeChanged(Outcome.CONFLICT, cause) from None
    return (yield from mark_started(turn, to, json.loads(request), run))


def mark_started(turn: DeliveryTurn, to: State, request: Mapping[str, Any], run: str) -> Steps[Workload]:
    """Store the id of the run that was started, and until when it may answer."""
    now, timing = turn.now, turn.gate.timing
    minutes = request.get("executionTimeoutMinutes")
    limit = timing.grace + minutes * MINUTE if minutes else timing.invocation
    with suppress(Lost):  # the next attempt has another plan, or the feature back
        companion = companion_of(turn)
        limit = max(limit, companion.limit) if companion is not None else limit
    after = turn.row._replace(state=to, run=run, deadline=now + limit, due_at=now + timing.poll)
    return (yield from move(turn, Effect.MARK_STARTED, after))


def prepare_run(turn: DeliveryTurn, to: State, observed: Observation) -> Steps[Workload]:
    """Fix the next attempt before anything of it happens: number, token and the whole request are stored first."""
    yield from end_attempt(turn, observed)
    attempt = turn.row.attempt + 1
    batch = yield from join(turn, observed.cause)
    start, now = "", turn.now
    failed = failures_of(turn, observed.cause)
    if batch is None:
        request = yield from write_request(turn, attempt)
        document = start_request(turn.moved(turn.row._replace(failed=failed)), request)
        start = json.dumps(document, sort_keys=True)
        not_before = back_off(turn.gate.timing, now, turn.row, observed.cause)
        if not is_invocation(document):
            reserved = yield from _reserved(turn.gate)
            not_before = max(reserved, not_before or now) if reserved > now else not_before
    else:
        not_before = batch.closes_at
    after = turn.row._replace(
        state=to,
        attempt=attempt,
        limit=turn.row.limit + uncounted(turn, observed.cause),
        request=start,
        run="",
        batch=batch.id if batch else "",
        not_before=not_before,
        deadline=None,
        failed=failed,
        cost=turn.spent(observed),
        due_at=not_before or now + turn.gate.timing.lease,
    )
    return (yield from move(turn, Effect.SUBMIT, after))


def _reserved(dependencies: Dependencies) -> Steps[datetime]:
    """From when a job run may be started, so that a burst of deliveries waits here and is not refused by EMR Serverless."""
    agenda, now, timing = dependencies.agenda, dependencies.now, dependencies.timing
    reserve = agenda.reserve_start
    return (yield from perform(Effect.RESERVE_START, reserve, now, timing.start_interval, timing.start_burst))


def _put_off(turn: DeliveryTurn) -> Steps[Workload]:
    """End this turn, because the service takes no start now (its rate, its queue): a later sweep tries again.

    Nothing failed, so that neither an attempt is counted nor a message of a queue delivered again.
    """
    now = turn.now
    until = max((yield from _reserved(turn.gate)), now + turn.gate.timing.longest_backoff)
    yield from move(turn, Effect.PUT_OFF, turn.row._replace(not_before=until, due_at=until))
    raise ConcurrentUpdate(turn.row.id)  # the worker that takes it up at that time


def start_run(turn: DeliveryTurn, to: State, _observed: Observation) -> Steps[Workload]:
    """Start the run of an attempt, or of its batch."""
    try:
        return (yield from _started(turn, to))
    except Throttled:
        return (yield from _put_off(turn))


def _started(turn: DeliveryTurn, to: State) -> Steps[Workload]:
    if turn.row.batch:
        return (yield from start_in_batch(turn, to))
    try:
        if companion := companion_of(turn):
            yield from companion.start(turn)
    except Lost as lost:
        raise OutcomeChanged(Outcome.CONFLICT, lost.cause) from None
    request = json.loads(turn.row.request)
    try:
        run = yield from perform(Effect.START_JOB, turn.gate.jobs.start, request)
    except IdempotencyMismatch:
        raise OutcomeChanged(Outcome.CONFLICT, FailureCause.TOKEN_TAKEN) from None
    except NotFound:
        if not is_invocation(request):
            raise
        if result_of(turn) is None:
            raise OutcomeChanged(Outcome.CONFLICT, FailureCause.NO_FUNCTION) from None
        # a worker that ended before it could store so invoked the function while it existed
        run = invocation(turn.row.id, turn.row.attempt)
    return (yield from mark_started(turn, to, request, run))
