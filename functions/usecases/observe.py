"""What can be found out about a workload in each state, without any effect: a table from state to a small function."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from contracts.errors import LakegateError
from contracts.routes import candidates, covering
from contracts.workflow import Outcome, State
from functions.ports import Address, JobState, NotFound, Verdict
from functions.usecases import layout
from functions.usecases.answer import Answer, repeats
from functions.usecases.gate import FIRST_BYTES
from functions.workload import Cause, Decision, Pin, Referred, Source

if TYPE_CHECKING:
    from collections.abc import Callable

    from contracts.routes import Route
    from functions.ports import ObjectVersion
    from functions.usecases.gate import Gate
    from functions.workload import Workload


@dataclass(frozen=True, slots=True)
class Found:
    """An outcome, and what the operation that answers it needs."""

    on: Outcome
    source: Source | None = None
    pin: Pin | None = None
    decision: Decision | None = None
    cause: Cause | None = None
    """Why the attempt came to nothing, where it did."""

    @property
    def answered(self) -> bool:
        """False: the attempt counts as lost because no result was there; one may still come until its run is over."""
        return self.cause not in CAUSES.values()


Observer: TypeAlias = "Callable[[Gate, Workload], Found | None]"
"""None: nothing to do but wait."""

VANISHED = Found(Outcome.VANISHED)
CAUSES = {
    JobState.FAILED: Cause.RUN_FAILED,
    JobState.CANCELLED: Cause.RUN_CANCELLED,
    JobState.RUNNING: Cause.RUN_HUNG,
    JobState.SUCCESS: Cause.NO_RESULT,
}
"""Why a run that may not answer any more has no result, by its state."""
ACCEPTING = frozenset({Verdict.ACCEPTED, Verdict.ACCEPTED_WITH_WARNINGS})


def observe(gate: Gate, workload: Workload) -> Found | None:
    """What is the case with this workload now."""
    return OBSERVERS[workload.state](gate, workload)


def address(source: Source) -> Address:
    """Where one version lies."""
    return Address(source.bucket, source.key, source.version)


def described(version: ObjectVersion) -> Source:
    """One version as the store describes it."""
    return Source(version.bucket, version.key, version.version, version.etag, version.size, version.checksum)


def content(workload: Workload, data: Source) -> str:
    """What two deliveries share when they bring the same bytes to the same line; empty where no checksum is known."""
    if not data.checksum or workload.pin is None:
        return ""
    return hashlib.sha256(f"{workload.pin.chain}\0{data.size}\0{data.checksum}".encode()).hexdigest()


def data_of(gate: Gate, workload: Workload) -> ObjectVersion | None:
    """The version to judge, or its staged copy where the producer deleted it since; None: there are no bytes left."""
    staged = Address(gate.places.lake, layout.staging_key(workload.id, gate.terms(workload).suffix))
    for where in (address(workload.source), address(workload.staged) if workload.staged else staged):
        try:
            return gate.objects.head(where)
        except NotFound:
            continue
    return None


def _received(gate: Gate, workload: Workload) -> Found | None:
    data = data_of(gate, workload)
    if data is None:
        return VANISHED
    landed = workload.landed or workload.source
    route = covering(landed.key, gate.registry.routes(landed.bucket, candidates(landed.key)))
    pin = _pin(route, data.modified.date().isoformat(), gate.clock.now().isoformat())
    source = workload.source if workload.staged else described(data)
    return Found(Outcome.ROUTED, source=source, pin=pin)


def _pin(route: Route | None, ingest_date: str, judging_time: str) -> Pin:
    if route is None:
        return Pin(f"{layout.UNROUTED}/{ingest_date}", ingest_date=ingest_date, judging_time=judging_time)
    return Pin(route.line, route.contract, route.version, route.plan, route.status, ingest_date, judging_time)


def _pinned(gate: Gate, workload: Workload) -> Found | None:
    data = data_of(gate, workload)
    if data is None:
        return VANISHED
    try:
        reasons = _at_the_door(gate, workload, data)
    except NotFound:
        return VANISHED
    if not reasons:
        return Found(Outcome.PASSED, pin=_with_references(gate, workload))
    return Found(Outcome.REFUSED, decision=Decision(Verdict.REJECTED, reasons, staged=False))


def _with_references(gate: Gate, workload: Workload) -> Pin:
    """The pin with the heights of the lines that its plan refers to: read once, and the same for every attempt."""
    assert workload.pin is not None
    heads = ((line, gate.ledger.head(line)) for line in gate.terms(workload).references)
    return replace(workload.pin, references=tuple(Referred(line, head.height) for line, head in heads))


def _at_the_door(gate: Gate, workload: Workload, data: ObjectVersion) -> tuple[str, ...]:
    pin = workload.pin
    assert pin is not None
    if not pin.plan:
        return ("unrouted",)
    if pin.status == "retired":
        return ("contract-retired",)
    plan = gate.plan(workload)
    first = gate.objects.read(Address(data.bucket, data.key, data.version), 0, FIRST_BYTES)
    return gate.meaning.door(plan, data.size, first) + _duplicate(gate, workload, described(data))


def _duplicate(gate: Gate, workload: Workload, data: Source) -> tuple[str, ...]:
    claim = content(workload, data)
    if not claim or gate.terms(workload).duplicates:
        return ()
    return () if gate.agenda.owner(claim) in {None, workload.id} else ("duplicate-content",)


def _staged(_gate: Gate, _workload: Workload) -> Found | None:
    return Found(Outcome.READY)


def _submitting(gate: Gate, workload: Workload) -> Found | None:
    if workload.not_before is not None and gate.clock.now() < workload.not_before:
        return None
    return Found(Outcome.STORED)


def _validating(gate: Gate, workload: Workload) -> Found | None:
    # The run's state is read before the result: a job that ends between the two reads is then seen with its result.
    cause = _cause(gate, workload)
    result = result_of(gate, workload)
    if result is not None:
        return _judged(gate, workload, result)
    return Found(Outcome.LOST, cause=cause) if cause else None


def _cause(gate: Gate, workload: Workload) -> Cause | None:
    """Why the run will not answer any more; None: it may. Time in the queue counts as none: a burst hangs no job."""
    try:
        run = gate.jobs.describe(workload.run)
    except NotFound:
        return Cause.NO_RESULT
    in_time = workload.deadline is None or gate.clock.now() < workload.deadline + run.queued
    return None if run.state is JobState.QUEUED or (run.state is JobState.RUNNING and in_time) else CAUSES[run.state]


def result_of(gate: Gate, workload: Workload) -> bytes | None:
    """What the current attempt answered, if it did."""
    prefix = layout.attempt_prefix(workload.id, workload.attempt)
    try:
        return gate.objects.read(Address(gate.places.lake, f"{prefix}/result.json"))
    except NotFound:
        return None


def _judged(gate: Gate, workload: Workload, result: bytes) -> Found:
    plan = gate.plan(workload)
    try:
        if not repeats(Answer.read(result), workload):
            return Found(Outcome.LOST, cause=Cause.WRONG_RESULT)
        judgement = gate.meaning.judge(plan, result)
    except LakegateError:
        return Found(
            Outcome.LOST, cause=Cause.WRONG_RESULT
        )  # a result that is no result is the job's failure, not the data's
    if judgement.verdict == Verdict.UNDECIDED:
        return Found(Outcome.UNDECIDED, cause=Cause.UNDECIDED)
    decision = Decision(
        judgement.verdict, judgement.reasons, hashlib.sha256(result).hexdigest(), counts=judgement.counts
    )
    return Found(Outcome.JUDGED, decision=decision)


def _decided(_gate: Gate, workload: Workload) -> Found | None:
    assert workload.decision is not None
    return Found(Outcome.ACCEPTED if workload.decision.verdict in ACCEPTING else Outcome.REJECTED)


OBSERVERS: dict[State, Observer] = {
    State.RECEIVED: _received,
    State.PINNED: _pinned,
    State.STAGED: _staged,
    State.SUBMITTING: _submitting,
    State.VALIDATING: _validating,
    State.DECIDED: _decided,
}
