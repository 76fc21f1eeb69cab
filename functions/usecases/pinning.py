"""What is fixed when a delivery is taken in: contract version, plan, status of the line, heights of the lines it refers to."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lakegate.contracts.lake.lifecycle import LineStatus, instant_of, moment, strictest, warning
from lakegate.contracts.lake.routes import Route, candidates, covering, parts_of
from lakegate.functions.usecases import layout
from lakegate.functions.workload import Pin, Referred

if TYPE_CHECKING:
    from datetime import datetime

    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.workload import Workload


def route_of(dependencies: Dependencies, workload: Workload) -> Route | None:
    """The route of what landed, with the contract version that a person chose, if one did; None: there is no contract."""
    landed, chosen = workload.landed or workload.source, workload.chosen
    covered = covering(landed.key, dependencies.registry.routes(landed.bucket, candidates(landed.key)))
    if chosen is None:
        return covered
    contract, dataset, major = parts_of(chosen.line)
    versions = dependencies.registry.contract(contract).standing
    status = next((each.status for each in versions if each.version == chosen.version), LineStatus.RETIRED)
    prefix = covered.prefix if covered else ""
    return Route(landed.bucket, prefix, contract, dataset, major, chosen.version, status, chosen.plan)


def pin_of(dependencies: Dependencies, route: Route | None, ingest_date: str, modified: str = "") -> Pin:
    """What judges the delivery from now on. The status of the line is the one at the judging time, however late it is used."""
    now = dependencies.clock.now()
    if route is None:
        unrouted, judging_time = f"{layout.UNROUTED}/{ingest_date}", now.isoformat()
        return Pin(unrouted, ingest_date=ingest_date, judging_time=judging_time, modified=modified)
    line = dependencies.lines.get(route.line)
    status = strictest(route.status, line.status_at(moment(now)))
    known = status is not LineStatus.SUNSET or dependencies.lines.knows(route.line, route.prefix)
    pinned = (route.line, route.contract, route.version, route.plan, status, ingest_date, now.isoformat())
    return Pin(*pinned, prefix=route.prefix, known=known, warning=warning(line, status), modified=modified)


def modified_at(dependencies: Dependencies, workload: Workload, at: datetime) -> str:
    """When what landed was modified: of what is judged again as it was known before, because its copies are newer."""
    before = workload.pin
    if before is None and workload.replay_of:
        before = dependencies.workloads.get(workload.replay_of).pin
    known = before.modified or before.judging_time if before else ""
    return moment(instant_of(known) if known else at)


def with_references(dependencies: Dependencies, workload: Workload) -> Pin:
    """The pin with the heights of the lines that its plan refers to: read once, and the same for every attempt."""
    assert workload.pin is not None
    heads = ((line, dependencies.ledger.head(line)) for line in dependencies.terms(workload).references)
    return replace(workload.pin, references=tuple(Referred(line, head.height) for line, head in heads))
