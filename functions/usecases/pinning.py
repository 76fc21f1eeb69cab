"""What is fixed when a delivery is taken in: contract version, plan, status of the line, heights of the lines it refers to."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lakegate.contracts.lake.lifecycle import LineStatus, instant_of, moment, strictest, warning
from lakegate.contracts.lake.owners import are_named
from lakegate.contracts.lake.routes import Route, candidates, covering, parts_of
from lakegate.functions.usecases import layout
from lakegate.functions.usecases.leading import leading
from lakegate.functions.workload import Pin, Referred

if TYPE_CHECKING:
    from collections.abc import Iterable
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
    pin = workload.pin
    assert pin is not None
    lines = dependencies.terms(workload).references
    return replace(pin, references=referred_lines(dependencies, pin.contract, pin.version, lines))


def referred_lines(
    dependencies: Dependencies, contract: str, version: str, lines: Iterable[str]
) -> tuple[Referred, ...]:
    """Lines that the rules of a contract version refer to, as high as they are now.

    A line of another owner that is not shared with the contract (any more) is as one that nothing was accepted of.
    """
    own = _own(dependencies, contract, version) if lines else ()
    return tuple(
        Referred(line, dependencies.ledger.head(line).height if _is_open(dependencies, contract, own, line) else -1)
        for line in lines
    )


def _own(dependencies: Dependencies, contract: str, version: str) -> tuple[str, ...]:
    """The contracts that the publisher of a version may use."""
    versions = dependencies.registry.contract(contract).versions
    return next((each.own for each in versions if each.version == version), ())


def _is_open(dependencies: Dependencies, contract: str, own: tuple[str, ...], line: str) -> bool:
    """Whether a line is of the contract, of another one of its publisher, or shared with it by its current version."""
    other, _, number = parts_of(line)
    if other == contract or are_named(own, other):
        return True
    found = leading(dependencies.registry.contract(other), other, number)
    return found is not None and found.is_open_to(contract, own)
