"""Changes of a line's lifecycle and of its subscriptions, by command and by date.

1. Record the changes that have begun by their date: what is decided next must not drop them.
2. Decide by the line as it is, with a pure function of `lakegate.contracts.lake`.
3. Write line, record of the ledger and message in one transaction, if nobody has written the line since; else begin again.
4. `sweep` brings the readers' manifest up to date: people who give commands may not write it.

The gate does not wait for the record: the status at a time follows from the dates of the line.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.lifecycle import LineStatus, moment, next_recorded
from lakegate.contracts.lake.records import event_id
from lakegate.contracts.lake.transitions import acknowledged
from lakegate.functions.ports.errors import ConditionFailed
from lakegate.functions.usecases import manifest
from lakegate.functions.usecases.addressing import addressed
from lakegate.functions.usecases.recording import record_at_head
from lakegate.functions.usecases.steps import Effect, perform
from lakegate.functions.workload import Message

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakegate.contracts.lake.lifecycle import Line
    from lakegate.contracts.lake.records import Record
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.steps import Steps

TRIES = 20
"""How often a decision is taken again because somebody else has written the line."""
BY_DATE = "date"
"""The act of a change that began by its date."""
PARENT = "parent"
"""The act of announcing a stricter parent."""


def change(dependencies: Dependencies, name: str, act: str, decide: Callable[[Line, str], Line]) -> Steps[Line]:
    """Change a line by a pure function of the line and of the time; nothing is written where it returns the same line.

    `act`: what the ledger records, such as `deprecate`; empty for subscriptions, which are not recorded. Raises what
    `decide` raises.
    """
    for _ in range(TRIES):
        before = yield from record_due(dependencies, name)
        now = moment(dependencies.clock.now())
        after = decide(before, now)
        if after is not before:
            try:
                yield from _write(dependencies, before, after, act, now)
            except _LineChanged:
                continue
        return after
    raise InputError(f"others are changing {name} all the time: try again")


def record_due(dependencies: Dependencies, name: str) -> Steps[Line]:
    """Record each change that has begun by its date, one by one. Returns the line as it is then."""
    for _ in range(TRIES):
        line = dependencies.lines.get(name)
        now = moment(dependencies.clock.now())
        after = next_recorded(line, now)
        if after is None:
            return line
        with suppress(_LineChanged):
            yield from _write(dependencies, line, after, BY_DATE, now)
    raise InputError(f"others are changing {name} all the time: try again")


def settle_line(dependencies: Dependencies, name: str) -> Steps[None]:
    """What the sweep does about a line that is due: record, then list in the readers' manifest."""
    line = yield from record_due(dependencies, name)
    if line.listed:
        return
    yield from manifest.update(dependencies, name)
    listed = replace(line, listed=True, revision=line.revision + 1)
    with suppress(_LineChanged):  # the writer settles it
        yield from _write(dependencies, line, listed, "", "")


def acknowledge(dependencies: Dependencies, name: str, version: str, team: str) -> Steps[Line]:
    """A subscriber of the line before has seen a breaking version. Raises InputError as `acknowledged`."""

    def decide(line: Line, now: str) -> Line:
        follows = dependencies.lines.get(line.notice.follows) if line.notice else None
        return acknowledged(line, now, version, team, follows.consumers if follows else ())

    return (yield from change(dependencies, name, "acknowledge", decide))


class _LineChanged(Exception):  # noqa: N818 - the name is what happened
    """Somebody else has written the line, or its chain, since it was read."""


def _write(dependencies: Dependencies, before: Line, after: Line, act: str, now: str) -> Steps[None]:
    """Write a line with its record and message. Raises _LineChanged."""
    record = _record(dependencies, after, act, now) if act else None
    message = _message(dependencies, before, after, act, now) if act else None
    try:
        yield from perform(Effect.WRITE_LINE, partial(dependencies.lines.write, after, record, message))
    except ConditionFailed:
        if dependencies.lines.get(after.name) != after:  # else an earlier try of ours arrived
            raise _LineChanged from None


def _record(dependencies: Dependencies, line: Line, act: str, now: str) -> Record:
    content = {"act": act, **_state(line, act, now), "notice": asdict(line.notice) if line.notice else None}
    if act == PARENT:
        content["parents"] = [asdict(each) for each in line.parents]
    event = event_id("lifecycle", line.name, line.revision)
    return record_at_head(dependencies, "lifecycle", line.name, json.loads(json.dumps(content)), event)


def _state(line: Line, act: str, now: str) -> dict[str, Any]:
    """The status after a change, and what is planned: in the ledger, in the event, and from there in the manifest."""
    last = line.changes[line.recorded - 1] if line.recorded else None
    at = last.at if last and act == BY_DATE else now
    return {
        "status": last.status if last else LineStatus.ACTIVE,
        "since": last.at if last else None,
        "planned": [asdict(each) for each in line.planned(at)],
        **asdict(line.ending),
    }


def _message(dependencies: Dependencies, before: Line, after: Line, act: str, now: str) -> Message | None:
    kind = _kind(before, after, act)
    if not kind:
        return None
    notice = None if act == PARENT else after.notice
    asked = dependencies.lines.get(notice.follows) if notice and kind == "breaking" else after
    body = {
        "line": after.name,
        **_state(after, act, now),
        "version": notice.version if notice else None,
        "follows": notice.follows if notice else None,
        "subscribers": addressed(asked, "breaking" if kind == "breaking" else "deprecated"),
    }
    if act == PARENT:
        (parent,) = set(after.parents) - set(before.parents)
        body |= {"follows": after.name, **asdict(parent)}
    identity = f"{after.name}:{kind}:{after.revision}"
    return Message(identity, "", kind, json.dumps(body, sort_keys=True), dependencies.clock.now(), after.name)


def _kind(before: Line, after: Line, act: str) -> str:
    """What an event is about: a breaking version, a new status, or a new plan; empty: nobody needs to know."""
    if act in {"notice", PARENT}:
        return "breaking"
    if after.changes == before.changes and after.recorded == before.recorded:
        return "planned" if after.ending != before.ending else ""
    begun = after.recorded > before.recorded
    return after.changes[after.recorded - 1].status.value if begun else "planned"
