"""Small plans, and deliveries that either engine measures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from lakegate.contracts.compile.dataset import compile_plan
from lakegate.contracts.compile.rules.table import RULES
from lakegate.contracts.judge.judgement import Judgement, judge
from lakegate.contracts.model.contract import Contract, Dataset, Field, Origin, Rule
from lakegate.contracts.model.policy import Policy
from lakegate.contracts.model.storage import Csv
from lakegate.contracts.model.types import LogicalType
from lakegate.contracts.plan.request import Request, StagedPart
from lakegate.contracts.plan.result import Result
from lakegate.engine.native import measure
from lakegate.engine.read.local import LocalStore
from lakegate.spark_jobs.judge_function import handler
from lakegate.spark_jobs.keeping import keep
from tests.reference.evaluator import JUDGED_AT

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakegate.contracts.judge.outcomes import Status
    from lakegate.contracts.judge.verdict import Verdict
    from lakegate.contracts.plan.plan import Plan


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
    columns = tuple(Field(name, LogicalType(logical), Origin("$.field")) for name, logical in fields.items())
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
        """See `lakegate.spark_jobs.judge_function.Context`."""
        return int(self.seconds * 1000)


def judge_delivery(engine: Callable[[Request, Plan], Result], plan: Plan, folder: Path, *objects: bytes) -> Judged:
    """Measure objects by an engine, and judge its result."""
    result = engine(request_for(plan, folder, *objects), plan)
    return Judged(result, judge(plan, result))
