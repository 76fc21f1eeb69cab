"""DCM's Validator API: rules of another manager, measured by the judge function over data that landed here.

Nothing is decided, published or recorded in the ledger, and no workload is touched: a validation has a row of its own that
expires, and its run is named after no workload, so completion and sweep find nothing to do for it.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from lakegate.contracts.errors import InputError, LakegateError
from lakegate.contracts.judge.judgement import judge
from lakegate.contracts.lake.lifecycle import instant_of, moment
from lakegate.contracts.plan.plan import Plan
from lakegate.contracts.plan.request import Request
from lakegate.contracts.plan.result import Result
from lakegate.contracts.report.delivery import Report
from lakegate.contracts.words import counted
from lakegate.functions.ports.errors import ConditionFailed, NotFound
from lakegate.functions.ports.objects import Address
from lakegate.functions.ports.validations import Validation
from lakegate.functions.usecases import layout
from lakegate.functions.usecases.steps import Effect, perform
from lakegate.functions.usecases.submission import invoke_judge, plan_uri
from lakegate.functions.usecases.validation_plan import plan_of
from lakegate.functions.usecases.validation_source import data_at

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.steps import Steps
    from lakegate.functions.usecases.validation_source import ValidatedData

KEPT: Final = timedelta(days=7)
STARTING: Final = timedelta(minutes=1)
"""Longer than the function of the API runs."""
ATTEMPT: Final = 1
SWITCHED_OFF: Final = "this stack has no judge function, which runs validations (parameter SmallFileBytes)"


class OtherValidation(LakegateError):  # noqa: N818 - the name is what happened
    """The caller has used the id for other rules or other data."""


@dataclass(frozen=True, slots=True)
class WantedValidation:
    """What a manager asks for."""

    caller: str
    name: str
    """The id that the caller chose."""
    rules: Sequence[Mapping[str, Any]]
    path: str
    allows: Callable[[str], bool] = field(repr=False)
    """Whether the caller may use a contract."""


@dataclass(frozen=True, slots=True)
class Observed:
    """Where a validation is."""

    failed: str = ""
    """Why there will be no result: a code; empty: it runs, or there is one."""
    report: Report | None = None
    """None: it runs, or it failed."""


def start(dependencies: Dependencies, wanted: WantedValidation, token: str) -> Steps[Validation]:
    """Start the run of a validation; idempotent. One that failed is started again. `token`: random.

    Raises OtherValidation, NoSuchData, ContractError with the problems of the rules, and InputError.
    """
    identity = identity_of(wanted.caller, wanted.name)
    asked = hashlib.sha256(json.dumps([wanted.rules, wanted.path], sort_keys=True).encode()).hexdigest()
    before = dependencies.validations.get(identity)
    if before is not None and not _is_expired(dependencies, before):
        if before.fingerprint != asked:
            raise OtherValidation
        if not observed(dependencies, before).failed:
            return (yield from _continued(dependencies, before))
    made = yield from _prepared(dependencies, wanted, identity, asked, token)
    write = partial(dependencies.validations.replace, before) if before else dependencies.validations.create
    try:
        yield from perform(Effect.VALIDATE, partial(write, made))
    except ConditionFailed:
        there = dependencies.validations.get(identity)
        if there is None or there.fingerprint != asked:
            raise OtherValidation from None
        return there
    return (yield from _started(dependencies, made))


def find(dependencies: Dependencies, caller: str, name: str) -> Validation | None:
    """The validation of a caller; None where there is none, or it has expired."""
    found = dependencies.validations.get(identity_of(caller, name))
    return None if found is None or _is_expired(dependencies, found) else found


def observed(dependencies: Dependencies, validation: Validation) -> Observed:
    """What its run has come to. A result of another run, and one that cannot be read, is a failure."""
    where = Address(dependencies.places.lake, f"{layout.attempt_prefix(validation.run, ATTEMPT)}/result.json")
    try:
        body = dependencies.objects.read(where)
    except NotFound:
        is_over = dependencies.clock.now() >= instant_of(validation.deadline)
        return Observed("no-answer") if is_over else Observed()
    try:
        result = Result.from_bytes(body)
    except InputError:
        return Observed("wrong-result")
    own = (validation.run, ATTEMPT, validation.plan, validation.source)
    if own != (result.workload, result.attempt, result.plan_digest, result.source_version):
        return Observed("wrong-result")
    if result.does_not_fit:
        return Observed("does-not-fit")
    if result.unreadable is not None:
        return Observed("unreadable")
    plan = Plan.from_bytes(dependencies.plan_at(validation.plan, validation.run))
    return Observed(report=Report(plan, judge(plan, result), result, ()))


def identity_of(caller: str, name: str) -> str:
    """The id of a caller's validation."""
    return hashlib.sha256(json.dumps(["validation", caller, name]).encode()).hexdigest()


def _is_expired(dependencies: Dependencies, validation: Validation) -> bool:
    """Whether a validation is over, also where the table still has its row."""
    return dependencies.clock.now() >= instant_of(validation.expires)


def _prepared(
    dependencies: Dependencies, wanted: WantedValidation, identity: str, asked: str, token: str
) -> Steps[Validation]:
    """The validation with its plan and request written: objects that nobody reads unless its run is started."""
    job, now = dependencies.places.job, dependencies.clock.now()
    if not job.judge:
        raise InputError(SWITCHED_OFF)
    data = data_at(dependencies, wanted.path, wanted.allows)
    if data.size >= job.small:
        raise InputError(
            f"the data has {counted(data.size, 'byte')}: validations read less than {job.small:,} (SmallFileBytes)"
        )
    base = Plan.from_bytes(dependencies.plan_at(data.plan, identity))
    plan = plan_of(base, wanted.rules)
    run = hashlib.sha256(f"{identity}:{token}:{moment(now)}".encode()).hexdigest()
    lake, prefix = dependencies.places.lake, layout.attempt_prefix(run, ATTEMPT)
    request = _request(dependencies, run, plan, data, now)
    for effect, key, body in (
        (Effect.WRITE_PLAN, f"plans/{plan.digest}.json", plan.to_bytes()),
        (Effect.WRITE_REQUEST, f"{prefix}/request.json", request.to_bytes()),
    ):
        yield from perform(effect, partial(dependencies.objects.put, Address(lake, key), body))
    return Validation(
        identity,
        asked,
        data.contract,
        run,
        plan.digest,
        request.source_version,
        json.dumps(invoke_judge(job, request)),
        lease=moment(now + STARTING),
        deadline=moment(now + dependencies.timing.invocation),
        expires=moment(now + KEPT),
    )


def _request(dependencies: Dependencies, run: str, plan: Plan, data: ValidatedData, now: datetime) -> Request:
    versions = json.dumps([[each.uri, each.version] for each in data.parts])
    return Request(
        workload=run,
        attempt=ATTEMPT,
        plan_uri=plan_uri(dependencies, plan.digest),
        plan_digest=plan.digest,
        source_version=hashlib.sha256(versions.encode()).hexdigest(),
        parts=data.parts,
        judged_at=moment(now),
        output_uri=f"s3://{dependencies.places.lake}/{layout.attempt_prefix(run, ATTEMPT)}",
    )


def _continued(dependencies: Dependencies, known: Validation) -> Steps[Validation]:
    """Start what an interrupted request left unstarted; nothing where it was started, or somebody is at it."""
    now = dependencies.clock.now()
    if not known.lease or now < instant_of(known.lease):
        return known
    taken = replace(known, lease=moment(now + STARTING))
    try:
        yield from perform(Effect.VALIDATE, partial(dependencies.validations.replace, known, taken))
    except ConditionFailed:
        return known
    return (yield from _started(dependencies, taken))


def _started(dependencies: Dependencies, leased: Validation) -> Steps[Validation]:
    """Start the run. What refuses it gives the lease back, so that the next request tries again."""
    try:
        yield from perform(Effect.START_JOB, partial(dependencies.jobs.start, json.loads(leased.request)))
    except LakegateError as refused:
        yield from _marked(dependencies, leased, moment(dependencies.clock.now()))
        if isinstance(refused, NotFound):
            raise InputError(SWITCHED_OFF) from None
        raise
    return (yield from _marked(dependencies, leased, ""))


def _marked(dependencies: Dependencies, leased: Validation, lease: str) -> Steps[Validation]:
    """The validation with another lease, unless somebody else has taken it since."""
    after = replace(leased, lease=lease)
    with suppress(ConditionFailed):
        yield from perform(Effect.VALIDATE, partial(dependencies.validations.replace, leased, after))
    return after
