"""One attempt to measure the accepted data of a line: its plan, its request, and how it is started."""

from __future__ import annotations

import hashlib
import json
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from lakegate.contracts.door.terms import terms_of
from lakegate.contracts.errors import LakegateError
from lakegate.contracts.lake.routes import parts_of
from lakegate.contracts.plan.plan import Plan
from lakegate.contracts.plan.request import Request, StagedPart
from lakegate.functions.ports.errors import NotFound
from lakegate.functions.ports.objects import Address
from lakegate.functions.usecases import layout
from lakegate.functions.usecases.pinning import referred_lines
from lakegate.functions.usecases.run_policy import line_policy
from lakegate.functions.usecases.steps import Effect, perform
from lakegate.functions.usecases.submission import (
    RunParameters,
    accepted_objects,
    executors,
    invoke_judge,
    plan_uri,
    referred_data,
    start_job_run,
)
from lakegate.functions.workload import Referred, job_token

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakegate.contracts.lake.block import Block
    from lakegate.contracts.lake.block_parts import LedgerObject
    from lakegate.contracts.lake.revalidations import RevalidatedLine, ScheduledRun
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.steps import Steps


class OtherFormat(LakegateError):  # noqa: N818 - the name is what is wrong
    """Some of the accepted data has another format or dialect than the current version of the contract says."""


class AcceptedData(NamedTuple):
    """What consumers read of a line."""

    height: int
    found: tuple[tuple[Block, LedgerObject], ...]


def accepted_data(dependencies: Dependencies, line: str) -> AcceptedData:
    """All of a line, as it is now."""
    return accepted_up_to(dependencies, line, dependencies.ledger.head(line).height)


def accepted_up_to(dependencies: Dependencies, line: str, height: int) -> AcceptedData:
    """All of a line up to a height, without what was erased since."""
    return AcceptedData(height, tuple(accepted_objects(dependencies, Referred(line, height))))


def _refuse_other_formats(dependencies: Dependencies, line: str, run: ScheduledRun, data: AcceptedData) -> None:
    """One plan reads all objects. Raises OtherFormat where some were accepted in another format or dialect."""
    own = dialect_of(dependencies, run.plan, line)
    accepted = (block.plan for block, _ in data.found)
    if any(dialect_of(dependencies, each, line) != own for each in dict.fromkeys(accepted)):
        raise OtherFormat


def dialect_of(dependencies: Dependencies, plan: str, line: str) -> Mapping[str, object]:
    """How what a plan accepted is read."""
    return terms_of(dependencies.plan_at(plan, line)).dialect


def request_of(dependencies: Dependencies, row: RevalidatedLine, run: ScheduledRun, data: AcceptedData) -> Request:
    """The request of an attempt: what was accepted up to its height and is not erased, read by version."""
    lake, plan = dependencies.places.lake, Plan.from_validated(dependencies.plan_at(run.plan, run.id))
    parts = tuple(StagedPart(f"s3://{lake}/{each.key}", each.size, version=each.version) for _, each in data.found)
    queries = (each.query for each in plan.checks if each.query is not None)
    lines = sorted({each.line for query in queries for each in query.relations if each.line})
    referred = referred_lines(dependencies, parts_of(row.line)[0], row.version, lines)
    return Request(
        workload=run.id,
        attempt=run.attempt,
        plan_uri=plan_uri(dependencies, run.plan),
        plan_digest=run.plan,
        source_version=source_of(run),
        parts=parts,
        judged_at=run.at,
        output_uri=f"s3://{lake}/{layout.attempt_prefix(run.id, run.attempt)}",
        references=tuple(referred_data(dependencies, each) for each in referred),
    )


def source_of(run: ScheduledRun) -> str:
    """The identity of what an attempt reads: repeated in its result."""
    return hashlib.sha256(json.dumps([run.id, run.attempt, run.height, run.at]).encode()).hexdigest()


def start(dependencies: Dependencies, row: RevalidatedLine, run: ScheduledRun, data: AcceptedData) -> Steps[str]:
    """Write the request of an attempt over some data and start it: by the judge function where that may be enough.

    Returns the run's id.

    Repeated, it starts the same job run, or invokes the judge function once more: one result is written. Raises NotFound where
    there is no such function, or nothing to measure, and OtherFormat.
    """
    lake, job = dependencies.places.lake, dependencies.places.job
    _refuse_other_formats(dependencies, row.line, run, data)
    request = request_of(dependencies, row, run, data)
    if not request.parts:  # all of it was erased since
        raise NotFound("no-data")
    where = Address(lake, f"{layout.attempt_prefix(run.id, run.attempt)}/request.json")
    yield from perform(Effect.WRITE_REQUEST, partial(dependencies.objects.put, where, request.to_bytes()))
    if is_small(dependencies, request):
        asked = invoke_judge(job, request)
    else:
        parameters = RunParameters(
            run.id,
            job_token(run.id, run.attempt),
            ["--request", f"{request.output_uri}/request.json"],
            line_policy(job, lake, request, row.line),
            executors(job, request),
        )
        asked = start_job_run(job, row.line.partition("/")[0], row.line, parameters)
    started: str = yield from perform(Effect.START_JOB, partial(dependencies.jobs.start, asked))
    return started


def is_small(dependencies: Dependencies, request: Request) -> bool:
    """Whether an attempt is given to the judge function: the first one, where the whole line is a small delivery."""
    job = dependencies.places.job
    return bool(job.judge) and request.attempt == 1 and sum(each.size for each in request.parts) < job.small


def write_plan(dependencies: Dependencies, plan: Plan) -> Steps[str]:
    """Keep the plan of a run by its digest, which is returned."""
    where = Address(dependencies.places.lake, f"plans/{plan.digest}.json")
    yield from perform(Effect.WRITE_PLAN, partial(dependencies.objects.put, where, plan.to_bytes()))
    return plan.digest
