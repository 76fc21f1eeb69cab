"""The inputs of an attempt and its start time: request.json, the request of StartJobRun or Invoke, the back-off."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from lakegate.contracts.door.terms import terms_of
from lakegate.contracts.lake.block import BlockKind, deliveries
from lakegate.contracts.lake.erasures import erasures_of
from lakegate.contracts.lake.failures import OF_VALIDATORS
from lakegate.contracts.lake.lifecycle import instant_of, moment
from lakegate.contracts.model.name_times import time_in
from lakegate.contracts.plan.request import AcceptedPart, Reference, Request, StagedPart
from lakegate.contracts.plan.slices import MergeOrder, PublishedSlice, SliceOrder, SnapshotOrder
from lakegate.functions.ports.objects import Address
from lakegate.functions.usecases import layout, parts
from lakegate.functions.usecases.run_policy import run_policy
from lakegate.functions.usecases.steps import ConcurrentUpdate, Effect, perform
from lakegate.functions.workload import FailureCause, job_token

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from lakegate.contracts.door.terms import Terms
    from lakegate.contracts.lake.block import Block
    from lakegate.contracts.lake.block_parts import LedgerObject
    from lakegate.functions.usecases.dependencies import Dependencies, JobSettings, Timing
    from lakegate.functions.usecases.steps import Steps
    from lakegate.functions.workload import Referred, Workload

EXECUTORS = "{executors}"
"""In the parameters of spark-submit: the number of executors of the run."""
FREE = frozenset({FailureCause.DOES_NOT_FIT, FailureCause.NO_FUNCTION})
"""Causes for which one more attempt is allowed: they are possible once a round, in its first attempt."""
BYTES_OF_AN_EXECUTOR = 1 << 30
"""Two cores evaluate so much in less than half a minute (docs/performance.md); another executor is billed for a whole one."""


def write_request(dependencies: Dependencies, workload: Workload, attempt: int, batch: str = "") -> Steps[Request]:
    """Write `request.json` of an attempt, in the folder of its batch if it has one."""
    request = job_request(dependencies, workload, attempt, batch)
    prefix = layout.attempt_prefix(workload.id, attempt, batch)
    where = Address(dependencies.places.lake, f"{prefix}/request.json")
    yield from perform(Effect.WRITE_REQUEST, partial(dependencies.objects.put, where, request.to_bytes()))
    return request


def job_request(dependencies: Dependencies, workload: Workload, attempt: int, batch: str = "") -> Request:
    """What `request.json` contains: made only of what is pinned and staged, so that a retry writes the same bytes.

    Only offset and watermark of slices are those of now: what is decided are those in the result, if they still hold then.
    """
    pin, lake, terms = workload.pin, dependencies.places.lake, dependencies.terms(workload)
    assert pin is not None
    return Request(
        workload=workload.id,
        attempt=attempt,
        plan_uri=plan_uri(dependencies, pin.plan),
        plan_digest=pin.plan,
        source_version=workload.source.version,
        parts=tuple(StagedPart(f"s3://{lake}/{each.key}", each.size) for each in parts.staged(dependencies, workload)),
        judged_at=pin.judging_time,
        output_uri=f"s3://{lake}/{layout.attempt_prefix(workload.id, attempt, batch)}",
        references=tuple(referred_data(dependencies, each) for each in pin.references),
        slices=_slices(dependencies, workload, pin.chain, terms) if terms.as_slices else None,
    )


def _slices(dependencies: Dependencies, workload: Workload, line: str, terms: Terms) -> SliceOrder:
    """What the slices begin with. ConcurrentUpdate while a part of the line's merge state is being committed."""
    following = dependencies.workloads.next_slice(line)
    if terms.merge_key and following.writer:
        raise ConcurrentUpdate(workload.id)
    order = SliceOrder(following.offset, terms.event_time, following.watermark)
    if not terms.merge_key:
        return order
    runs = tuple(replace(each, uri=f"s3://{dependencies.places.lake}/{each.uri}") for each in following.runs)
    snapshot = _snapshot(dependencies, workload, line, terms, following.offset) if terms.snapshots else None
    return replace(order, merge=MergeOrder(line, terms.merge_key, runs, snapshot))


def _snapshot(dependencies: Dependencies, workload: Workload, line: str, terms: Terms, end: int) -> SnapshotOrder:
    """The time of a snapshot by its name or its object, and the slices of its line up to an offset."""
    pin, time = workload.pin, None
    assert pin is not None
    if terms.snapshot_time:
        time = time_in(terms.snapshot_time, (workload.landed or workload.source).key)
    known = (
        moment(time) if time else "" if terms.snapshot_time else pin.modified or moment(instant_of(pin.judging_time))
    )
    slices = (
        PublishedSlice(f"s3://{dependencies.places.lake}/{each.key}", each.offset, each.rows)
        for block in deliveries(dependencies.ledger.blocks(line) if end else ())
        for each in block.slices or ()
        if each.end <= end
    )
    return SnapshotOrder(known, tuple(slices))


def plan_uri(dependencies: Dependencies, digest: str) -> str:
    """The address of a plan."""
    return f"s3://{dependencies.places.lake}/plans/{digest}.json"


def referred_data(dependencies: Dependencies, referred: Referred) -> Reference:
    """What was accepted of a line up to the pinned height, and is not erased: nothing else changes it."""
    parts = (
        AcceptedPart(
            uri=f"s3://{dependencies.places.lake}/{found.key}",
            size=found.size,
            plan_uri=plan_uri(dependencies, block.plan),
            plan_digest=block.plan,
        )
        for block, found in accepted_objects(dependencies, referred)
    )
    return Reference(referred.line, referred.height, tuple(parts))


def accepted_objects(dependencies: Dependencies, referred: Referred) -> Iterator[tuple[Block, LedgerObject]]:
    """The rows of a line up to a height, each object with the block of its delivery: of snapshots the newest that changed it."""
    blocks = dependencies.ledger.blocks(referred.line) if referred.height >= 0 else ()
    below = [each for each in deliveries(blocks) if each.height <= referred.height]
    erasures = erasures_of(blocks)
    newest = next((each for each in reversed(below) if each.slices), None)
    if newest is not None and terms_of(dependencies.plan_at(newest.plan, newest.workload)).snapshots:
        objects = erasures.objects_of(newest)
        yield from ((newest, each) for each in objects if layout.is_original(newest, referred.line, each.key))
        return
    for block in below:
        if block.kind is BlockKind.PUBLISHED:
            yield from ((block, each) for each in erasures.objects_of(block) if layout.is_published(block, each.key))


def start_request(dependencies: Dependencies, workload: Workload, request: Request) -> dict[str, object]:
    """The whole request that starts an attempt: Invoke for a small delivery of which no attempt failed, else StartJobRun.

    It is stored with the attempt, so a retry, or another release, invokes or starts the same.
    """
    job, size = dependencies.places.job, sum(part.size for part in request.parts)
    earlier = {each.cause for each in workload.failed if each.number > workload.first}
    if not job.judge or size >= job.small or earlier - {FailureCause.OVERTAKEN, *OF_VALIDATORS}:
        policy = run_policy(job, dependencies.places.lake, request)
        arguments = ["--request", f"{request.output_uri}/request.json"]
        run = RunParameters(
            workload.id, job_token(workload.id, request.attempt), arguments, policy, executors(job, request)
        )
        assert workload.pin is not None
        return start_job_run(job, workload.pin.contract, workload.pin.chain, run)
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
    """What differs between job runs."""

    name: str
    """The workload or the batch that it is about."""
    token: str
    arguments: list[str]
    policy: str
    executors: int = 1


def start_job_run(job: JobSettings, contract: str, line: str, run: RunParameters) -> dict[str, object]:
    """StartJobRun. EMR's own retry is off: attempts are counted here, where their token is stored."""
    submit = {
        "entryPoint": job.entry_point,
        "entryPointArguments": run.arguments,
        "sparkSubmitParameters": job.parameters.replace(EXECUTORS, str(run.executors)),
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
        "tags": {"lakegate:contract": _tag(contract), "lakegate:line": _tag(line)},
    }


def executors(job: JobSettings, request: Request) -> int:
    """How many executors a run gets, by the bytes that it reads: delivered ones, and accepted ones to compare with."""
    accepted = (part.size for each in request.references for part in each.parts)
    size = sum(part.size for part in request.parts) + sum(accepted)
    return max(1, min(job.executors, -(-size // BYTES_OF_AN_EXECUTOR)))


def _tag(text: str) -> str:
    """A text as the value of a tag, by which costs are allocated: EMR Serverless refuses other characters."""
    return re.sub(r"[^A-Za-z0-9 /_.:=+@-]", "_", text)[:256]


def back_off(timing: Timing, now: datetime, workload: Workload, cause: FailureCause | None) -> datetime | None:
    """Before when the next attempt is not sent; None: at once, for the first of a round, and where nothing failed."""
    ordinal: int = (
        0 if cause in {*FREE, FailureCause.BATCH_FAILED, FailureCause.OVERTAKEN} else workload.attempt - workload.first
    )
    if ordinal and cause in OF_VALIDATORS:  # a service may be away for some minutes
        return now + timing.poll
    return None if ordinal == 0 else now + min(timing.backoff * 2 ** (ordinal - 1), timing.longest_backoff)


def uncounted(timing: Timing, workload: Workload, cause: FailureCause | None) -> int:
    """How many attempts a round gets beyond its limit: 1 if the current one only waited or its batch failed, within the bound
    on each, was an invocation that could not judge the delivery, which is followed by none in its round, or was overtaken.

    That has no bound: each time another delivery of the line was published.
    """
    if cause is None:
        return 0
    before = sum(each.cause is cause for each in workload.failed if each.number > workload.first)
    bounds = {FailureCause.NOT_STARTED: timing.waits, FailureCause.BATCH_FAILED: timing.splits}
    return int(cause in {*FREE, FailureCause.OVERTAKEN} or (cause in bounds and before < bounds[cause]))
