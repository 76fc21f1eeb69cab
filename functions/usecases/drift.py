"""Drift: the current contract of a line against what is really in `accepted/`, by the newest objects of its manifest."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from lakegate.contracts.errors import InputError, LakegateError
from lakegate.contracts.judge.drift import SchemaDifference
from lakegate.contracts.lake.versions import major, precedence
from lakegate.functions.ports.errors import NotFound
from lakegate.functions.ports.objects import Address
from lakegate.functions.usecases.addressing import addressed
from lakegate.functions.usecases.lines import published_lines
from lakegate.functions.usecases.readers import newest
from lakegate.functions.usecases.steps import Effect, perform
from lakegate.functions.workload import Message

if TYPE_CHECKING:
    from lakegate.functions.ports.schemas import SchemaReader
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.steps import Steps

OBJECTS: Final = 20
"""Objects of a line that are looked at, the newest first."""
CURSOR: Final = "drift"
"""The name of the place where the schedule is."""
ENOUGH: Final = 30.0
"""Seconds: with less than this left no further line is begun."""
MAX_FIELDS: Final = 50
"""Fields that an event names."""


@dataclass(frozen=True, slots=True)
class ObjectDrift:
    """An accepted object that is not as the contract promises."""

    height: int
    """Of the block of its delivery."""
    workload: str
    version: str
    """Of the contract by which it was accepted; empty where a manifest of an older release does not name it."""
    key: str
    differences: tuple[SchemaDifference, ...]


@dataclass(frozen=True, slots=True)
class DriftReport:
    """What was compared, and what differs."""

    line: str
    version: str
    """Of the contract."""
    objects: int
    """How many were compared; 0: nothing was accepted yet."""
    drifted: tuple[ObjectDrift, ...]
    """The newest delivery first."""

    @property
    def fields(self) -> tuple[tuple[str, str, int], ...]:
        """Each kind of difference with its field, and in how many objects it is; the most frequent first."""
        counts: dict[tuple[str, str], int] = {}
        for each in self.drifted:
            for found in dict.fromkeys((one.kind, one.field) for one in each.differences):
                counts[found] = counts.get(found, 0) + 1
        return tuple((*found, count) for found, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def drift(
    dependencies: Dependencies, reader: SchemaReader, line: str, version: str = "", objects: int = OBJECTS
) -> DriftReport:
    """Compare the newest accepted objects of a line with a version of its contract: the current one, unless one is named.

    Read only. Raises InputError where the line has no such version.
    """
    contract, _, name = line.rpartition("/")
    dataset, _, number = name.rpartition("_v")
    published = dependencies.registry.contract(contract)
    plans = {
        each.version: dict(each.plans).get(dataset, "")
        for each in published.versions
        if str(major(each.version)) == number
    }
    chosen = version or max(
        (each.version for each in published.standing if plans.get(each.version)), key=precedence, default=""
    )
    if not plans.get(chosen):
        raise InputError(f"{line} has no published version{f' {version}' if version else ''}")
    plan = dependencies.plan_at(plans[chosen], line)
    found: list[ObjectDrift] = []
    listed = [(each, it) for each in newest(dependencies, line, objects) for it in each["objects"]][:objects]
    for delivery, each in listed:
        of_it = str(delivery.get("contract_version", ""))
        accepted_by = dependencies.plan_at(plans.get(of_it) or plans[chosen], line)
        differences = _of_object(dependencies, reader, plan, accepted_by, each)
        if differences:
            found.append(ObjectDrift(delivery["height"], delivery["workload"], of_it, each["key"], differences))
    return DriftReport(line, chosen, len(listed), tuple(found))


@dataclass(slots=True)
class DriftCheck:
    """What one run of the schedule did, for metrics."""

    compared: int = 0
    """Lines."""
    drifted: list[str] = field(default_factory=list)
    """Names of lines."""
    failures: list[LakegateError] = field(default_factory=list)
    """Errors of single lines, which keep no other from being compared."""


def check_lines(dependencies: Dependencies, reader: SchemaReader) -> Steps[DriftCheck]:
    """Compare all lines, and report drift; a run that is out of time leaves the rest to the next one.

    The place is kept before a line is read, so that one whose data ends the function is passed over by the next run.
    """
    found = DriftCheck()
    agenda, after = dependencies.agenda, dependencies.agenda.cursor(CURSOR) or ""
    for line in published_lines(dependencies):
        if line <= after:
            continue
        if dependencies.remaining() < ENOUGH:
            return found
        yield from perform(Effect.KEEP_CURSOR, partial(agenda.keep, CURSOR, line))
        found.compared += 1
        try:
            report = drift(dependencies, reader, line)
            yield from report_drift(dependencies, report)
        except LakegateError as failure:
            found.failures.append(failure)
        else:
            found.drifted += [line] if report.drifted else []
    yield from perform(Effect.KEEP_CURSOR, partial(agenda.keep, CURSOR, None))
    return found


def _of_object(
    dependencies: Dependencies, reader: SchemaReader, plan: bytes, accepted_by: bytes, listed: dict[str, Any]
) -> tuple[SchemaDifference, ...]:
    """What a reader of `accepted/` gets now under a key that the manifest lists."""
    try:
        data = dependencies.objects.head(Address(dependencies.places.lake, listed["key"]))
    except NotFound:
        return (SchemaDifference("missing"),)
    replaced = (SchemaDifference("replaced"),) if data.version != listed.get("version", data.version) else ()
    return (*replaced, *reader.differences(plan, accepted_by, data))


def report_drift(dependencies: Dependencies, report: DriftReport) -> Steps[bool]:
    """Put a message about drift into the outbox, if there is none about the same drift yet. Returns whether it is new.

    It names fields of the contract and counts, and no text of a producer.
    """
    if not report.drifted:
        return False
    fields = [{"difference": kind, "field": field or None, "objects": count} for kind, field, count in report.fields]
    what = json.dumps([report.version, [(kind, field) for kind, field, _ in sorted(report.fields)]])
    identity = f"{report.line}:drift:{hashlib.sha256(what.encode()).hexdigest()[:16]}"
    body = {
        "line": report.line,
        "contract_version": report.version,
        "compared": report.objects,
        "drifted": len(report.drifted),
        "newest_height": report.drifted[0].height,
        "fields": fields[:MAX_FIELDS],
        "subscribers": addressed(dependencies.lines.get(report.line), "drift"),
    }
    message = Message(identity, "", "drift", json.dumps(body, sort_keys=True), dependencies.clock.now(), report.line)
    return (yield from perform(Effect.REPORT_DRIFT, partial(dependencies.outbox.add, message)))
