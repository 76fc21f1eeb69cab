"""The inputs of an attempt and its start time: request.json for the job, StartJobRun's request, the back-off."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from lakegate.contracts.lake.ledger import BlockKind
from lakegate.functions.usecases import layout
from lakegate.functions.workload import job_token

if TYPE_CHECKING:
    from datetime import datetime

    from lakegate.functions.usecases.dependencies import Dependencies, Timing
    from lakegate.functions.workload import Referred, Workload

VERSION = "lakegate/request/1"


def request_document(dependencies: Dependencies, workload: Workload, attempt: int) -> bytes:
    """`request.json`: made only of what is pinned and staged, so that a retry writes the same bytes."""
    pin, staged, lake = workload.pin, workload.staged, dependencies.places.lake
    assert pin is not None
    assert staged is not None
    document = {
        "version": VERSION,
        "workload": workload.id,
        "attempt": attempt,
        "plan_uri": f"s3://{lake}/plans/{pin.plan}.json",
        "plan_digest": pin.plan,
        "source_version": workload.source.version,
        "parts": [{"uri": f"s3://{lake}/{staged.key}", "size": staged.size, "name": ""}],
        "judged_at": pin.judging_time,
        "output_uri": f"s3://{lake}/{layout.attempt_prefix(workload.id, attempt)}",
        "references": [_accepted(dependencies, each) for each in pin.references],
    }
    return json.dumps(document, sort_keys=True).encode()


def _accepted(dependencies: Dependencies, referred: Referred) -> dict[str, object]:
    """What was accepted of a line up to the pinned height: blocks never change, so neither does this."""
    lake = dependencies.places.lake
    blocks = dependencies.ledger.blocks(referred.line) if referred.height >= 0 else ()
    published = [each for each in blocks if each.kind is BlockKind.PUBLISHED and each.height <= referred.height]
    parts = [
        {
            "uri": f"s3://{lake}/{found.key}",
            "size": found.size,
            "plan_uri": f"s3://{lake}/plans/{block.plan}.json",
            "plan_digest": block.plan,
        }
        for block in published
        for found in block.objects
        if found.key.startswith("accepted/")
    ]
    return {"line": referred.line, "height": referred.height, "parts": parts}


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
