"""Small plans, and deliveries that either engine measures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from functions.judge_handler import handler
from lakegate.contract.contract_model import Contract, Dataset, Origin, Rule
from lakegate.contract.delivery_policy import Policy
from lakegate.contract.file_formats import Csv
from lakegate.engine.native_backend import measure
from lakegate.engine.read.data_source import LocalStore
from lakegate.job.job_storage import keep
from lakegate.plan.plan import Plan
from lakegate.plan.request import Request, StagedPart
from lakegate.plan.result import Result
from lakegate.rules.compile_plan import compile_plan
from lakegate.rules.rule_kinds import RULES
from lakegate.verdict.check_status import Status
from lakegate.verdict.verdict import Judgement, Verdict, judge
from tests.reference.cases import field_of
from tests.reference.evaluator import JUDGED_AT


@dataclass(frozen=True, slots=True)
class Judged:
    """The result of an engine, and the verdict."""

    result: Result
    judgement: Judgement

    @property
    def verdict(self) -> Verdict:
        return self.judgement.verdict

    @property
    def reasons(self) -> str:
        """All reasons, one a line."""
        return "\n".join(f"{each.id}: {each.message}" for each in self.judgement.reasons)

    def statuses(self) -> dict[str, Status]:
        return {each.id: each.status for each in self.judgement.outcomes}


def plan_of(fields: dict[str, str], *rules: Rule, csv: Csv | None = None, policy: Policy | None = None) -> Plan:
    """A plan that checks each field's type and the given rules."""
    columns = tuple(field_of(name, written) for name, written in fields.items())
    types = tuple(Rule(f"type-{at}", "type", Origin("$.field"), (name,)) for at, name in enumerate(fields))
    dataset = Dataset("rows", columns, types + rules, Origin("$"), policy or Policy(), csv or Csv())
    return compile_plan(Contract("tests", "1.0.0", "test", (dataset,)), dataset)


def rule(kind: str, *fields: str, **arguments: object) -> Rule:
    """A rule as a reader would build it, its kind as its id."""
    assert kind in RULES
    return Rule(kind, kind, Origin("$.rule"), fields, arguments)


def with_classification(plan: Plan, **classifications: str) -> Plan:
    """The plan with some of its fields classified."""
    fields = [replace(each, classification=classifications.get(each.name)) for each in plan.fields]
    return replace(plan, fields=tuple(fields))


def request_for(plan: Plan, folder: Path, *objects: bytes) -> Request:
    """A request for these objects, staged in a folder as intake stages them."""
    parts = []
    for number, content in enumerate(objects):
        path = folder / "staging" / f"part-{number:05d}"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        parts.append(StagedPart(path.as_uri(), len(content)))
    return Request(
        workload="0" * 64,
        attempt=1,
        plan_uri=(folder / "plan.json").as_uri(),
        plan_digest=plan.digest,
        source_version="v1",
        parts=tuple(parts),
        judged_at=JUDGED_AT,
        output_uri=(folder / "out").as_uri(),
    )


def measure_natively(request: Request, plan: Plan) -> Result:
    """The result of the native engine, spilled below the folder of the delivery."""
    return measure(request, plan, LocalStore(), Path(urlsplit(request.output_uri).path).parent, keep=keep)


def measure_by_function(request: Request, plan: Plan, seconds: float = 120.0) -> Result:
    """The result that the judge function writes, with so many seconds left. JudgeError where it fails."""
    folder = Path(urlsplit(request.output_uri).path).parent
    Path(urlsplit(request.plan_uri).path).write_bytes(plan.to_bytes())
    path = folder / "request.json"
    path.write_bytes(request.to_bytes())
    handler(
        {"workload": request.workload, "attempt": request.attempt, "request": path.as_uri()},
        Remaining(seconds),
    )
    return Result.from_bytes((Path(urlsplit(request.output_uri).path) / "result.json").read_bytes())


@dataclass(frozen=True, slots=True)
class Remaining:
    """What Lambda passes to the function: how long it may go on."""

    seconds: float

    def get_remaining_time_in_millis(self) -> int:
        """See `functions.judge_handler.Context`."""
        return int(self.seconds * 1000)


def judge_delivery(engine: Callable[[Request, Plan], Result], plan: Plan, folder: Path, *objects: bytes) -> Judged:
    """Measure objects by an engine, and judge its result."""
    result = engine(request_for(plan, folder, *objects), plan)
    return Judged(result, judge(plan, result))
