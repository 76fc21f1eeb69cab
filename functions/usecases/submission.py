"""The inputs of an attempt and its start time: request.json for the job, StartJobRun's request, the back-off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.contracts.lake.block import BlockKind
from lakegate.contracts.plan.request import AcceptedPart, Reference, Request, StagedPart
from lakegate.functions.usecases import layout
from lakegate.functions.workload import FailureCause, job_token

if TYPE_CHECKING:
    from datetime import datetime

    from lakegate.functions.usecases.dependencies import Dependencies, Timing
    from lakegate.functions.workload import Referred, Workload


def request_document(dependencies: Dependencies, workload: Workload, attempt: int) -> bytes:
    """`request.json`: made only of what is pinned and staged, so that a retry writes the same bytes."""
    pin, staged, lake = workload.pin, workload.staged, dependencies.places.lake
    assert pin is not None
    assert staged is not None
    request = Request(
        workload=workload.id,
        attempt=attempt,
        plan_uri=_plan_uri(dependencies, pin.plan),
        plan_digest=pin.plan,
        source_version=workload.source.version,
        parts=(StagedPart(f"s3://{lake}/{staged.key}", staged.size),),
        judged_at=pin.judging_time,
        output_uri=f"s3://{lake}/{layout.attempt_prefix(workload.id, attempt)}",
        references=tuple(_accepted(dependencies, each) for each in pin.references),
    )
    return request.to_bytes()


def _plan_uri(dependencies: Dependencies, digest: str) -> str:
    return f"s3://{dependencies.places.lake}/plans/{digest}.json"


def _accepted(dependencies: Dependencies, referred: Referred) -> Reference:
    """What was accepted of a line up to the pinned height: blocks never change, so neither does this."""
    blocks = dependencies.ledger.blocks(referred.line) if referred.height >= 0 else ()
    published = [each for each in blocks if each.kind is BlockKind.PUBLISHED and each.height <= referred.height]
    parts = (
        AcceptedPart(
            uri=f"s3://{dependencies.places.lake}/{found.key}",
            size=found.size,
            plan_uri=_plan_uri(dependencies, block.plan),
            plan_digest=block.plan,
        )
        for block in published
        for found in block.objects
        if found.key.startswith("accepted/")
    )
    return Reference(referred.line, referred.height, tuple(parts))


def start_request(dependencies: Dependencies, workload: str, attempt: int) -> dict[str, object]:
    """The whole StartJobRun request. EMR's own retry is off: attempts are counted here, where their token is stored."""
    job = dependencies.places.job
    uri = f"s3://{dependencies.places.lake}/{layout.attempt_prefix(workload, attempt)}/request.json"
    submit = {
        "entryPoint": job.entry_point,
        "entryPointArguments": ["--request", uri],
        "sparkSubmitParameters": job.parameters,
    }
    return {
        "applicationId": job.application,
        "executionRoleArn": job.role,
        "clientToken": job_token(workload, attempt),
        "name": workload,
        "jobDriver": {"sparkSubmit": submit},
        "executionTimeoutMinutes": job.timeout_minutes,
        "retryPolicy": {"maxAttempts": 1},
    }


def back_off(timing: Timing, now: datetime, workload: Workload) -> datetime | None:
    """Before when the next attempt is not sent; None: at once, for the first of a round."""
    ordinal: int = workload.attempt - workload.first
    return None if ordinal == 0 else now + min(timing.backoff * 2 ** (ordinal - 1), timing.longest_backoff)


def waits(timing: Timing, workload: Workload, cause: FailureCause | None) -> int:
    """How many attempts a round gets beyond its limit: 1 if the current one only waited, within the bound on waiting."""
    waited = sum(each.cause is FailureCause.NOT_STARTED for each in workload.failed if each.number > workload.first)
    return int(cause is FailureCause.NOT_STARTED and waited < timing.waits)
