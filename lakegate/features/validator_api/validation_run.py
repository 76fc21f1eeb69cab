"""A validation: plan, data, run, state; HTTP routes."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from typing import Final

from lakegate.admission.ignored_keys import is_ignored
from lakegate.base.errors import ConditionFailed, ContractError, InputError, LakegateError, NotFound, Problem
from lakegate.base.json_codec import encode, sha256_of
from lakegate.base.text import plural
from lakegate.base.timestamps import instant_of, moment
from lakegate.contract.contract_model import Shape
from lakegate.contract.delivery_policy import Policy, PublishAs
from lakegate.contract.field_paths import column_name, path_of
from lakegate.contract.logical_types import LogicalType
from lakegate.features.validator_api.wanted_validation import ValidationRule
from lakegate.gate import lake_layout
from lakegate.gate.delivery.attempt_request import plan_uri
from lakegate.gate.delivery.delivery_row import IDENTIFIER, SourceObject, Workload
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.submit_run import invoke_judge
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Effect, Steps, perform
from lakegate.gate.ledger.blocks import Block
from lakegate.gate.ports import Address, every_version
from lakegate.gate.registry.routes import candidates, covering
from lakegate.gate.table import Equals, Put, Row, RowAbsent, Tables, read_row, workloads_key
from lakegate.lints.linter import examine
from lakegate.plan.plan import Plan
from lakegate.plan.request import Request, StagedPart
from lakegate.plan.result import Result
from lakegate.report.delivery_report import Report
from lakegate.rules.compile_plan import compile_plan
from lakegate.verdict.verdict import judge

# ---- Validations of other managers ----


@dataclass(frozen=True, slots=True)
class Validation:
    """The request and its run. Times are RFC 3339, UTC, six decimals."""

    id: str
    """A digest of the caller and of the id that the caller chose: nobody finds another's."""
    fingerprint: str
    """Of what was asked."""
    contract: str
    """Of the data."""
    run: str
    """Random: names the folder of request and result, so that no earlier result is taken for this one."""
    plan: str
    """Digest of the plan that the caller's rules were compiled to."""
    source: str
    """Identity of the object versions that are read."""
    request: str
    """The whole request of Invoke, as JSON."""
    lease: str
    """Until when it is being started; empty once it was."""
    deadline: str
    """From when on no result is waited for."""
    expires: str
    """The time when it is forgotten."""


@dataclass(frozen=True, slots=True)
class Validations:
    """Validations by id: rows that expire."""

    table: Tables

    def create(self, validation: Validation) -> None:
        """Put if absent. Raises ConditionFailed when the id is taken."""
        self.table.transact([Put(_row(validation), RowAbsent()), _of_run(validation)])

    def get(self, validation: str) -> Validation | None:
        """The validation with this id; an expired one may still be there. Strongly consistent."""
        return read_row(self.table, workloads_key("validation", validation), _validation)

    def running(self, run: str) -> Validation | None:
        """The validation that has this run now; None for a run of something else."""
        identity = read_row(self.table, workloads_key("validation", run), lambda row: row.text("run_of"))
        known = self.get(identity) if identity else None
        return known if known is not None and known.run == run else None

    def replace(self, before: Validation, after: Validation) -> None:
        """Put if it is still as it was read. Raises ConditionFailed where somebody was first."""
        put = Put(_row(after), Equals("validation", _row(before).text("validation")))
        if before.run == after.run:
            self.table.write(put)
        else:
            self.table.transact([put, _of_run(after)])


def validations(dependencies: Dependencies) -> Validations:
    """Validations of this stack."""
    return Validations(dependencies.table)


def _validation(row: Row) -> Validation:
    """Keys of a newer release are ignored, and are not written again: a validation expires after days."""
    document = json.loads(row.text("validation"))
    return Validation(**{entry.name: document[entry.name] for entry in fields(Validation) if entry.name in document})


def _row(validation: Validation) -> Row:
    content = json.dumps(asdict(validation), separators=(",", ":"), sort_keys=True)
    return Row(workloads_key("validation", validation.id), {"validation": content, "expires": _expires(validation)})


def _of_run(validation: Validation) -> Put:
    """The row by which its run leads to a validation."""
    return Put(
        Row(workloads_key("validation", validation.run), {"run_of": validation.id, "expires": _expires(validation)})
    )


def _expires(validation: Validation) -> int:
    return math.ceil(instant_of(validation.expires).timestamp())


# ---- The plan of a validation ----
# The rules are read as those of a DCM document that has no other content, so that they mean what they mean in a contract, and
# are refused for the same reasons. Nothing of the document is published.


TYPES: Final[Mapping[LogicalType, str]] = {
    LogicalType.STRING: "string",
    LogicalType.INTEGER: "int",
    LogicalType.NUMBER: "number",
    LogicalType.DECIMAL: "decimal",
    LogicalType.BOOLEAN: "boolean",
    LogicalType.DATE: "date",
    LogicalType.TIME: "time",
    LogicalType.TIMESTAMP: "timestamp",
    LogicalType.BINARY: "binary",
}
"""Of DCM."""
FRAME: Final = {
    "specVersion": "0.1.3",
    "id": "validation-1.0.0",
    "name": "validation",
    "kind": "DataContract",
    "version": "1.0.0",
    "producer": {"name": "-", "group": "-"},
    "access": {"eventType": "push", "protocol": "HTTP", "location": "-", "accessConfiguration": {}},
}
"""Keys that a document of DCM must have beside columns and rules."""
OF_RULE: Final = re.compile(r"\$\.quality\[(\d+)\](.*)", re.DOTALL)


def plan_of(base: Plan, rules: Sequence[ValidationRule]) -> Plan:
    """The plan of some rules.

    Raises ContractError with the problems of all rules, by JSON Pointer into the request; a rule that cannot be measured is one.
    """
    columns = list(_columns(base, rules)) or [{"name": "-", "dataType": "string"}]
    quality = list(map(_in_document, rules))
    document = {**FRAME, "dataset": {"name": base.dataset, "schema": columns}, "quality": quality}
    examined = examine(json.dumps(document).encode())
    if problems := examined.errors + examined.unmeasured:
        raise ContractError(tuple(map(_locate_problem, problems)))
    contract = examined.contract
    assert contract is not None
    (dataset,) = contract.datasets
    own = tuple(rule for rule in dataset.rules if OF_RULE.match(rule.origin.path))
    scales = {path_of(column.place): column.scale for column in base.columns}
    fields = tuple(replace(entry, scale=scales.get(entry.name, entry.scale)) for entry in dataset.fields)
    dataset = replace(dataset, fields=fields, rules=own, csv=base.csv, storage=base.storage)
    compiled = compile_plan(replace(contract, datasets=(dataset,)), dataset)
    policy = Policy(samples=False, allow_empty=True)
    own_fields = tuple(replace(entry, name=path_of(entry.place), path=entry.place) for entry in base.fields)
    return replace(
        compiled, contract=base.contract, contract_version=base.contract_version, fields=own_fields, policy=policy
    )


def _columns(base: Plan, rules: Sequence[ValidationRule]) -> Iterator[dict[str, str]]:
    """The declared columns that rules name, in DCM's form; all of them where a rule may have some in its arguments."""
    named = {column_name(column) for rule in rules for column in rule.columns or ()}
    every = any(rule.type == "custom" for rule in rules)
    for entry in base.columns:
        if entry.shape is Shape.VALUE and (every or entry.column in named):
            yield {"name": entry.column, "dataType": TYPES[entry.type]}


def _in_document(rule: ValidationRule) -> dict[str, object]:
    """The rule as a document has it: `type` for `ruleType`."""
    severity = rule.severity and encode(rule.severity)
    members = {entry.name: getattr(rule, entry.name) for entry in fields(rule)} | {"severity": severity}
    return {"name": rule.id} | {name: member for name, member in members.items() if member is not None}


def _locate_problem(problem: Problem) -> Problem:
    """The problem with the place of the rule in the request."""
    found = OF_RULE.match(problem.path)
    if found is None:
        return replace(problem, path="/validations")
    return replace(problem, path="".join(("/validations/", found[1], *_steps(found[2]))))


def _steps(path: str) -> Iterator[str]:
    for step in re.findall(r"[^.\[\]]+", path):
        yield f"/{'ruleType' if step == 'type' else step}"


# ---- The data of a validation ----


SHARES: Final = {State.PUBLISHED: "accepted", State.QUARANTINED: "quarantine"}
READABLE: Final = re.compile(r"[^\x00-\x20\x7f#?]+")
"""Keys that are part of an address."""


class NoSuchData(LakegateError):  # noqa: N818 - the name is what happened
    """The path names no data that the caller may have validated; the error does not disclose whether there is any."""


@dataclass(frozen=True, slots=True)
class ValidatedData:
    """Object versions of one dataset, and the plan that says how to read them."""

    contract: str
    plan: str
    """Digest."""
    parts: tuple[StagedPart, ...]

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(part.size for part in self.parts)


def data_at(dependencies: Dependencies, path: str, allows: Callable[[str], bool]) -> ValidatedData:
    """The data of a path: the id of a workload or of an announcement, a landing key, or a folder of landing with its objects.

    `allows`: whether the caller may use a contract. Raises NoSuchData, and InputError for data that cannot be addressed.
    """
    if not path.isprintable():
        raise NoSuchData
    found = _of_workload if IDENTIFIER.fullmatch(path) else _of_key
    contract, plan, objects = found(dependencies, path, allows)
    if not objects:
        raise NoSuchData
    if not all(READABLE.fullmatch(entry.key) for entry in objects):
        raise InputError(
            "the key of an object has a space, a control character, `#` or `?`: such data is not validated"
        )
    staged = (StagedPart(f"s3://{entry.bucket}/{entry.key}", entry.size, version=entry.version) for entry in objects)
    return ValidatedData(contract, plan, tuple(staged))


def _of_workload(
    dependencies: Dependencies, workload: str, allows: Callable[[str], bool]
) -> tuple[str, str, tuple[SourceObject, ...]]:
    row = dependencies.workloads.find(workload)
    if row is not None and row.joined:
        row = dependencies.workloads.find(row.joined)
    if row is None or row.pin is None or not row.pin.plan or not allows(row.pin.contract):
        raise NoSuchData
    return row.pin.contract, row.pin.plan, _of_row(dependencies, row)


def _of_row(dependencies: Dependencies, row: Workload) -> tuple[SourceObject, ...]:
    """The objects of a delivery: in the lake once it is finished, before that what landed; no slices, and no typed files."""
    share = SHARES.get(row.state)
    if share is None:
        return DeliveryTurn(dependencies, row).landed.parts
    form = dependencies.terms(row).policy.publish_as if row.state is State.PUBLISHED else PublishAs.ORIGINAL
    beside = lake_layout.ORIGINALS if form is PublishAs.PARQUET else ""
    prefix = lake_layout.destination_key(share, row.pinned, row.id, beside)
    listed = _list_objects(dependencies, dependencies.places.lake, prefix)
    if form is not PublishAs.ICEBERG:
        return listed
    block = dependencies.ledger.block(row.pinned.dataset, row.height)
    return tuple(each for each in listed if isinstance(block, Block) and lake_layout.is_published(block, each.key))


def _of_key(
    dependencies: Dependencies, key: str, allows: Callable[[str], bool]
) -> tuple[str, str, tuple[SourceObject, ...]]:
    landing = dependencies.places.landing
    route = covering(key, dependencies.registry.routes(landing, candidates(key)))
    if route is None or not allows(route.contract):
        raise NoSuchData
    listed = _list_objects(dependencies, landing, key)
    is_folder, ignored = key.endswith("/"), dependencies.places.ignored
    own = [entry for entry in listed if entry.key == key or is_folder]
    folders = {entry.key.rpartition("/")[0] + "/" for entry in own}
    at = {folder: covering(folder, dependencies.registry.routes(landing, candidates(folder))) for folder in folders}
    # below the folder there may be routes of others: of an object its own one counts, as for intake
    covered = (entry for entry in own if at[entry.key.rpartition("/")[0] + "/"] == route)
    return (
        route.contract,
        route.plan,
        tuple(entry for entry in covered if not is_ignored(entry.key, entry.size, ignored)),
    )


def _list_objects(dependencies: Dependencies, bucket: str, prefix: str) -> tuple[SourceObject, ...]:
    """The current versions below a prefix. InputError if it has more versions than are validated at once."""
    listed = tuple(islice(every_version(dependencies.objects, bucket, prefix), MOST_VERSIONS + 1))
    if len(listed) > MOST_VERSIONS:
        raise InputError("there are too many objects: name one of them")
    return tuple(SourceObject.of(version) for version in listed if version.current)


# ---- DCM's Validator API ----
# Nothing is decided, published or recorded in the ledger, and no workload is touched: a validation has a row of its own that
# expires. Its result is read where it is asked for; of the end of its run only that there will be none is written.


KEPT: Final = timedelta(days=7)
STARTING: Final = timedelta(minutes=1)
"""Longer than the function of the API runs."""
ATTEMPT: Final = 1
MOST_VERSIONS: Final = 1_000
"""Below the prefix of one validation."""
TRIES_OF_WRITE: Final = 5
"""Of a write that another one overtakes: two others write a row, once each."""
SWITCHED_OFF: Final = "this stack has no judge function, which runs validations (parameter SmallFileBytes)"


class OtherValidation(LakegateError):  # noqa: N818 - the name is what happened
    """The caller has used the id for other rules or other data."""


@dataclass(frozen=True, slots=True)
class WantedValidation:
    """The request of a manager."""

    caller: str
    name: str
    """The id that the caller chose."""
    rules: Sequence[ValidationRule]
    path: str
    allows: Callable[[str], bool] = field(repr=False)
    """Whether the caller may use a contract."""


@dataclass(frozen=True, slots=True)
class Observed:
    """The state of a validation."""

    failed: str = ""
    """The reason why there will be no result: a code; empty: it runs, or there is one."""
    report: Report | None = None
    """None: it runs, or it failed."""


def start(dependencies: Dependencies, wanted: WantedValidation, token: str) -> Steps[Validation]:
    """Start the run of a validation; idempotent. One that failed is started again. `token`: random.

    Raises OtherValidation, NoSuchData, ContractError with the problems of the rules, and InputError.
    """
    identity = identity_of(wanted.caller, wanted.name)
    rules = [_in_document(rule) for rule in wanted.rules]
    asked = sha256_of(json.dumps([rules, wanted.path], sort_keys=True))
    before = validations(dependencies).get(identity)
    if before is not None and not _is_expired(dependencies, before):
        if before.fingerprint != asked:
            raise OtherValidation
        if not observed(dependencies, before).failed:
            return (yield from _continued(dependencies, before))
    made = yield from _prepared(dependencies, wanted, identity, asked, token)
    write = partial(validations(dependencies).replace, before) if before else validations(dependencies).create
    try:
        yield from perform(Effect.VALIDATE, write, made)
    except ConditionFailed:
        there = validations(dependencies).get(identity)
        if there is None or there.fingerprint != asked:
            raise OtherValidation from None
        return there
    return (yield from _started(dependencies, made))


def find(dependencies: Dependencies, caller: str, name: str) -> Validation | None:
    """The validation of a caller; None where there is none, or it has expired."""
    found = validations(dependencies).get(identity_of(caller, name))
    return None if found is None or _is_expired(dependencies, found) else found


def observed(dependencies: Dependencies, validation: Validation) -> Observed:
    """The result of its run. A result of another run, and one that cannot be read, is a failure."""
    where = dependencies.in_lake(f"{lake_layout.attempt_prefix(validation.run, ATTEMPT)}/result.json")
    try:
        body = dependencies.objects.read(where)
    except NotFound:
        is_over = dependencies.now >= instant_of(validation.deadline)
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


def run_ended(dependencies: Dependencies, run: str, lost: int) -> Steps[None]:
    """Bring the deadline of a validation forward where its invocation failed: no result will come. One that is there counts.

    Nothing for the run of something else, for an earlier run, and where its deadline is past.
    """
    for _ in range(TRIES_OF_WRITE if lost == ATTEMPT else 0):
        known, now = validations(dependencies).running(run), dependencies.now
        if known is None or now >= instant_of(known.deadline):
            return
        with suppress(ConditionFailed):  # who starts it has written it since
            after = replace(known, deadline=moment(now))
            yield from perform(Effect.VALIDATE, validations(dependencies).replace, known, after)
            return


def identity_of(caller: str, name: str) -> str:
    """The id of a caller's validation."""
    return sha256_of(json.dumps(["validation", caller, name]))


def _is_expired(dependencies: Dependencies, validation: Validation) -> bool:
    """Whether a validation is over, also where the table still has its row."""
    return dependencies.now >= instant_of(validation.expires)


def _prepared(
    dependencies: Dependencies, wanted: WantedValidation, identity: str, asked: str, token: str
) -> Steps[Validation]:
    """The validation with its plan and request written: objects that nobody reads unless its run is started."""
    job, now = dependencies.places.job, dependencies.now
    if not job.judge:
        raise InputError(SWITCHED_OFF)
    data = data_at(dependencies, wanted.path, wanted.allows)
    if data.size >= job.small:
        raise InputError(
            f"the data has {plural(data.size, 'byte')}: validations read less than {job.small:,} (SmallFileBytes)"
        )
    base = Plan.from_bytes(dependencies.plan_at(data.plan, identity))
    plan = plan_of(base, wanted.rules)
    run = sha256_of(f"{identity}:{token}:{moment(now)}")
    lake, prefix = dependencies.places.lake, lake_layout.attempt_prefix(run, ATTEMPT)
    request = _request(dependencies, run, plan, data, now)
    for effect, key, body in (
        (Effect.WRITE_PLAN, f"plans/{plan.digest}.json", plan.to_bytes()),
        (Effect.WRITE_REQUEST, f"{prefix}/request.json", request.to_bytes()),
    ):
        yield from perform(effect, dependencies.objects.put, Address(lake, key), body)
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
    versions = json.dumps([[part.uri, part.version] for part in data.parts])
    return Request(
        workload=run,
        attempt=ATTEMPT,
        plan_uri=plan_uri(dependencies, plan.digest),
        plan_digest=plan.digest,
        source_version=sha256_of(versions),
        parts=data.parts,
        judged_at=moment(now),
        output_uri=f"s3://{dependencies.places.lake}/{lake_layout.attempt_prefix(run, ATTEMPT)}",
    )


def _continued(dependencies: Dependencies, known: Validation) -> Steps[Validation]:
    """Start what an interrupted request left unstarted; nothing where it was started, or somebody is at it."""
    now = dependencies.now
    if not known.lease or now < instant_of(known.lease):
        return known
    taken = replace(known, lease=moment(now + STARTING))
    try:
        yield from perform(Effect.VALIDATE, validations(dependencies).replace, known, taken)
    except ConditionFailed:
        return known
    return (yield from _started(dependencies, taken))


def _started(dependencies: Dependencies, leased: Validation) -> Steps[Validation]:
    """Start the run. What refuses it gives the lease back, so that the next request tries again."""
    try:
        yield from perform(Effect.START_JOB, dependencies.jobs.start, json.loads(leased.request))
    except LakegateError as refused:
        yield from _marked(dependencies, leased, dependencies.moment)
        if isinstance(refused, NotFound):
            raise InputError(SWITCHED_OFF) from None
        raise
    return (yield from _marked(dependencies, leased, ""))


def _marked(dependencies: Dependencies, leased: Validation, lease: str) -> Steps[Validation]:
    """The validation with another lease, unless somebody else has taken it since."""
    after = replace(leased, lease=lease)
    with suppress(ConditionFailed):
        yield from perform(Effect.VALIDATE, validations(dependencies).replace, leased, after)
    return after
