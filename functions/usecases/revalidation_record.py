"""What a run over accepted data found: in the ledger, in the readers' manifest, and as a message."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from lakegate.contracts.judge.counts import LONGEST_RULE
from lakegate.contracts.judge.judgement import broken_rules, judge
from lakegate.contracts.judge.outcomes import Status
from lakegate.contracts.lake.block import digest
from lakegate.contracts.lake.lifecycle import moment
from lakegate.contracts.lake.records import Record, event_id
from lakegate.contracts.lake.revalidations import (
    KIND,
    EndedRun,
    RevalidationEnd,
    ScheduledRun,
    content_of,
    following,
    stale_after,
    stale_rules,
)
from lakegate.functions.ports.errors import ConditionFailed, TransactionConflict
from lakegate.functions.ports.ledger import Head
from lakegate.functions.usecases import manifest
from lakegate.functions.usecases.addressing import addressed
from lakegate.functions.usecases.recording import TRIES, record_at_head
from lakegate.functions.usecases.steps import Effect, perform
from lakegate.functions.workload import Message

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakegate.contracts.judge.counts import BrokenRule
    from lakegate.contracts.lake.revalidations import RevalidatedLine
    from lakegate.contracts.plan.plan import Plan
    from lakegate.contracts.plan.result import Result
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.steps import Steps

    Content = Callable[[list[dict[str, Any]]], dict[str, Any]]
    """The content of a record, by the rules that do not hold before it."""


class Findings(NamedTuple):
    """What a run measured."""

    rules: frozenset[str]
    """Those that were skipped are not among them: nothing is known about them."""
    broken: tuple[BrokenRule, ...]
    failed: frozenset[str]
    """Rules, of all that are broken."""


def findings_of(plan: Plan, result: Result) -> Findings | str:
    """The rules of a plan that accepted data breaks; a code where not every check was measured.

    Only the checks of the plan count: accepted data keeps what its deliveries were accepted with.
    """
    if result.does_not_fit:
        return "does-not-fit"
    if result.unreadable is not None:
        return "unreadable"
    own = {each.id for each in plan.checks}
    outcomes = tuple(each for each in judge(plan, result).outcomes if each.id in own and each.kind != "file")
    if any(each.status is Status.ERROR for each in outcomes):
        return "not-measured"
    measured = frozenset(each.rule[:LONGEST_RULE] for each in outcomes if each.status is not Status.SKIP)
    if not measured:
        return "not-measured"
    failed = frozenset(each.rule[:LONGEST_RULE] for each in outcomes if each.status is Status.FAIL)
    return Findings(measured, broken_rules(outcomes), failed)


def publish(
    dependencies: Dependencies, row: RevalidatedLine, run: ScheduledRun, plan: Plan, found: Findings
) -> Steps[EndedRun]:
    """Record a run, mark the manifest and report it: in this order, each once. `plan`: of the line, with all its schedules."""
    scheduled = {each.check.rule[:LONGEST_RULE] for each in plan.scheduled}

    def content(before: list[dict[str, Any]]) -> dict[str, Any]:
        stale = stale_after(before, scheduled, found.rules, found.failed, run.at)
        return content_of(row.version, run, len(found.rules), found.broken, stale)

    recorded = yield from _record(dependencies, row.line, event_id(KIND, run.id), content)
    yield from manifest.update(dependencies, row.line)
    is_broken = any(each["status"] == Status.FAIL.value for each in recorded["broken"])
    now = moment(dependencies.clock.now())
    stale = tuple(each["rule"] for each in recorded["stale"])
    end = EndedRun(RevalidationEnd.BROKEN if is_broken else RevalidationEnd.HELD, now, recorded["height"], stale=stale)
    about = {name: recorded[name] for name in ("rules", "broken", "stale")}
    yield from _report(dependencies, row, run, end, about)
    return end


def report_failed(
    dependencies: Dependencies, row: RevalidatedLine, run: ScheduledRun, end: EndedRun
) -> Steps[EndedRun]:
    """Report a run that measured nothing: what the manifest states stays. Returns the end with that."""
    stale = stale_rules(dependencies.ledger.blocks(row.line))
    yield from _report(dependencies, row, run, end, {"rules": 0, "broken": [], "stale": stale})
    return replace(end, stale=tuple(each["rule"] for each in stale))


def lift(dependencies: Dependencies, row: RevalidatedLine) -> Steps[None]:
    """Record that no rule of a line has a schedule any more, where one did not hold: nothing would measure it again."""
    blocks = dependencies.ledger.blocks(row.line)
    if not stale_rules(blocks):
        return
    last = next(each for each in reversed(blocks) if isinstance(each, Record) and each.kind == KIND)
    before = {name: last.content[name] for name in ("contract_version", "run", "plan", "height")}
    content = {**before, "schedules": [], "rules": 0, "broken": [], "stale": []}
    yield from _record(dependencies, row.line, event_id(KIND, "lifted", last.event), lambda _: content)
    yield from manifest.update(dependencies, row.line)


def _record(dependencies: Dependencies, line: str, event: str, content: Content) -> Steps[dict[str, Any]]:
    """Append a record unless there is one of this event. Returns the content that is recorded.

    What did not hold before is read from the chain itself, at the height below the record.
    """
    for _ in range(TRIES):
        blocks = dependencies.ledger.blocks(line)
        there = next((each for each in blocks if isinstance(each, Record) and each.event == event), None)
        if there is not None:
            return dict(there.content)
        head = Head(blocks[-1].height, digest(blocks[-1]))
        record = record_at_head(dependencies, KIND, line, content(stale_rules(blocks)), event, head=head)
        try:
            yield from perform(Effect.RECORD, partial(dependencies.ledger.append, record))
        except ConditionFailed:  # others extend the chain, or an earlier try of this worker arrived
            continue
        return dict(record.content)
    raise TransactionConflict


def _report(
    dependencies: Dependencies, row: RevalidatedLine, run: ScheduledRun, end: EndedRun, about: dict[str, Any]
) -> Steps[None]:
    body = {
        "line": row.line,
        "contract_version": row.version,
        "outcome": end.end,
        "reason": end.reason or None,
        "at": end.at,
        "next": min(filter(None, (following(each, end.at) for each in run.schedules)), default=None),
        "schedules": list(run.schedules),
        "height": end.height,
        **about,
        "subscribers": addressed(dependencies.lines.get(row.line), KIND),
    }
    identity = f"{row.line}:{KIND}:{run.id}"
    message = Message(identity, "", KIND, json.dumps(body, sort_keys=True), dependencies.clock.now(), row.line)
    yield from perform(Effect.REPORT_REVALIDATION, partial(dependencies.outbox.add, message))
