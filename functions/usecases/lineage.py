"""What is reported to channels for lineage about one delivery that ended.

It is read when it is sent, from the row, the plan and the result, which do not change once a delivery has ended. Only a FAILED
one may have gone on since, by a replay: then its end is reported, and nothing that the replay may have changed.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Final

from lakegate.contracts.door.parts import folder_of
from lakegate.contracts.errors import InputError
from lakegate.contracts.judge.outcomes import Status
from lakegate.contracts.lake.lifecycle import moment
from lakegate.contracts.model.contract import Severity
from lakegate.contracts.plan.plan import OF_MAPS, Plan, Shape
from lakegate.functions.ports.lineage import Assertion, JudgedDelivery, LineageColumn, LineageDataset, UsedEngine
from lakegate.functions.usecases.judged import judged
from lakegate.functions.usecases.moves import message_id
from lakegate.functions.usecases.steps import Alarm
from lakegate.functions.workload import State

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lakegate.contracts.judge.outcomes import CheckOutcome
    from lakegate.contracts.lake.notices import ChannelNotice
    from lakegate.contracts.plan.plan import PlanField
    from lakegate.contracts.report.delivery import Report
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.workload import Workload

MEASURED: Final = frozenset({Status.PASS, Status.WARN, Status.FAIL})
ENGINES: Final = ("spark", "duckdb")
"""Names of engines in results: a job has both, and is one of Spark."""
ELEMENT: Final = "_element"
"""The name of the elements of a list in OpenLineage's facet `schema`."""


def judged_delivery(dependencies: Dependencies, notice: ChannelNotice, workload: str) -> JudgedDelivery:
    """The delivery of a notice. Raises PortError."""
    row = dependencies.workloads.get(workload)
    landed = row.landed or row.source
    bare = JudgedDelivery(
        id=notice.delivery,
        line=notice.line,
        landed=LineageDataset(landed.bucket, folder_of(landed.key).rstrip("/") if row.parts else landed.key),
        published=None,
        lake=dependencies.places.lake,
        began=notice.ended,
        ended=notice.ended,
    )
    if message_id(row) != notice.delivery:
        return bare
    return _described(dependencies, row, bare)


def _described(dependencies: Dependencies, row: Workload, bare: JudgedDelivery) -> JudgedDelivery:
    assert row.pin is not None  # it has a line
    landed, decision = row.landed or row.source, row.decision
    counts = decision.counts if decision else None
    report = _report(dependencies, row)
    plan = report.plan if report else _plan(dependencies, row)
    began = moment(datetime.fromisoformat(row.pin.judging_time))
    return replace(
        bare,
        published=LineageDataset(bare.lake, f"accepted/{bare.line}") if row.state is State.PUBLISHED else None,
        began=min(began, bare.ended),  # clocks of two functions may differ
        contract=row.pin.contract,
        version=row.pin.version,
        landed_version="" if row.parts else landed.version,
        size=(row.parts or landed).size,
        rows=counts.rows if counts else None,
        published_rows=counts.published_rows if counts else None,
        columns=columns_of(plan.fields) if plan else (),
        lineage=plan.lineage if plan else (),
        assertions=tuple(_assertions(report)) if report else (),
        engine=engine_of(report.result.engines) if report else None,
        reasons=decision.reasons if decision else tuple(str(each.cause) for each in row.failed[-1:]),
    )


def _report(dependencies: Dependencies, row: Workload) -> Report | None:
    try:
        return judged(dependencies, row)
    except (Alarm, InputError):  # raised where the verdict was computed, too
        return None


def _plan(dependencies: Dependencies, row: Workload) -> Plan | None:
    try:
        return Plan.from_bytes(dependencies.plan(row))
    except (Alarm, InputError):
        return None


def engine_of(versions: Mapping[str, str]) -> UsedEngine | None:
    """What evaluated a delivery, by the versions in its result."""
    return next((UsedEngine(name, versions[name]) for name in ENGINES if name in versions), None)


def _assertions(report: Report) -> Iterator[Assertion]:
    worst = {each.id: each.worst for each in report.plan.checks}
    for each in report.judgement.outcomes:
        if each.status in MEASURED:
            yield _assertion(each, worst.get(each.id, Severity.FAIL))


def _assertion(outcome: CheckOutcome, worst: Severity) -> Assertion:
    return Assertion(
        outcome.id,
        outcome.kind,
        outcome.fields[0] if len(outcome.fields) == 1 else "",
        success=outcome.status is Status.PASS,
        blocks=outcome.status is Status.FAIL or (outcome.status is Status.PASS and worst is Severity.FAIL),
        expected=outcome.wanted,
        actual=outcome.measured,
    )


def columns_of(fields: tuple[PlanField, ...]) -> tuple[LineageColumn, ...]:
    """The columns, with their parts."""
    below: dict[tuple[str, ...], list[PlanField]] = {}
    for each in fields:
        below.setdefault(each.place[:-1], []).append(each)

    def columns(place: tuple[str, ...]) -> tuple[LineageColumn, ...]:
        found = below.get(place, ())
        return tuple(LineageColumn(_name(each.place[-1]), _type(each), columns(each.place)) for each in found)

    return columns(())


def _name(step: str) -> str:
    if step == "[]":
        return ELEMENT
    return step.strip("{}") if step in OF_MAPS else step.removeprefix(".")


def _type(field: PlanField) -> str:
    return str((field.type if field.shape is Shape.VALUE else field.shape).value)
