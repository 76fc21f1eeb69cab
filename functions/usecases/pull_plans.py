"""Which lines are pulled, and how: by the current versions of the registry, and their plans."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.lifecycle import moment
from lakegate.contracts.lake.pulls import PullOutcome, asked, following, planned
from lakegate.contracts.model.labels import PULL
from lakegate.contracts.model.policy import Pull
from lakegate.contracts.plan.serialization import decode
from lakegate.functions.ports.errors import ConditionFailed
from lakegate.functions.usecases.addressing import addressed
from lakegate.functions.usecases.labelled import RETIRED, current, discover, is_retired, labelled
from lakegate.functions.usecases.steps import Effect, perform
from lakegate.functions.workload import Message

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lakegate.contracts.errors import LakegateError
    from lakegate.contracts.lake.pulls import PullEnd, PullingLine
    from lakegate.functions.ports.registry import Publication
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.steps import Steps

CURSOR: Final = "pulls"
"""The name of the place in the registry where the next tick goes on."""
MAX_LISTED: Final = 10_000
"""Lines."""


class PullPlan(NamedTuple):
    """How a line is pulled now."""

    pull: Pull
    contract: str
    version: str
    """Of the contract."""
    plan: str
    """Its digest."""
    prefix: str | None
    """Of the first route of the line by name; None if no key delivers to it."""
    max_bytes: int | None
    is_paused: bool


def discover_pulls(dependencies: Dependencies) -> Steps[list[LakegateError]]:
    """Schedule the lines whose contracts say that they are pulled. Returns errors of single lines."""
    return (yield from discover(dependencies, PULL, CURSOR, _schedule))


def plan_of(dependencies: Dependencies, line: str) -> PullPlan | None:
    """How a line is pulled, by the version that is current now; None: it is not, any more."""
    found = current(dependencies, line, PULL)
    if found is None:
        return None
    snapshot, version, digest = found
    policy = _policy(dependencies, line, digest)
    routes = sorted(each.prefix for each in snapshot.routes if each.line == line and each.status != RETIRED)
    return PullPlan(
        pull=decode(Pull, policy["pull"]),
        contract=version.contract,
        version=version.version,
        plan=digest,
        prefix=next(iter(routes), None),
        max_bytes=policy["max_bytes"],
        is_paused=dependencies.pauses.pause_of(line) is not None,
    )


def pulled_lines(dependencies: Dependencies, contract: str) -> tuple[str, ...]:
    """The lines that a contract pulls by its current versions; none of a contract that is not published."""
    return tuple(line for line, _, _ in labelled(dependencies.registry.contract(contract), PULL))


def run_now(dependencies: Dependencies, line: str) -> Steps[PullingLine]:
    """Let the next tick pull a line, unless one is fetching it, or it is due already.

    Raises InputError for one that is not pulled.
    """
    while True:
        row = dependencies.pulls.get(line)
        if not row.plan:
            raise InputError(f"{line} is not pulled: its contract has no `pull`, or was published within five minutes")
        if row.leased > _now(dependencies) or row.is_due(_now(dependencies)):
            return row
        wanted = asked(row, _now(dependencies))
        with suppress(ConditionFailed):  # a tick has it
            yield from perform(Effect.WRITE_PULL, partial(dependencies.pulls.write, wanted))
            return wanted


def pulls_of(dependencies: Dependencies, lines: Iterable[str] | None = None) -> tuple[PullingLine, ...]:
    """The lines that are pulled, the next one first: of all lines, or of these."""
    found = dependencies.pulls.due(datetime.max.replace(tzinfo=UTC), MAX_LISTED) if lines is None else lines
    rows = [row for row in map(dependencies.pulls.get, found) if row.plan]
    return tuple(sorted(rows, key=lambda row: (row.due, row.line)))


def message_of(dependencies: Dependencies, row: PullingLine, end: PullEnd) -> Message | None:
    """The message about the end of a pull; None if nobody has to know: it has not failed, and neither has the one before.

    It has no address and no text of the source.
    """
    failed = end.outcome is PullOutcome.FAILED
    if not failed and not (row.ends and row.ends[0].outcome is PullOutcome.FAILED):
        return None
    body = {
        "line": row.line,
        "contract_version": row.version,
        "outcome": end.outcome,
        "reason": end.reason or None,
        "at": end.at,
        "next": following(row.schedule, end.at) or None,
        "subscribers": addressed(dependencies.lines.get(row.line), "pull"),
    }
    identity = f"{row.line}:pull:{row.next}:{end.outcome.lower()}"
    return Message(identity, "", "pull", json.dumps(body, sort_keys=True), dependencies.clock.now(), row.line)


def _schedule(dependencies: Dependencies, line: str, version: Publication, digest: str) -> Steps[None]:
    row = dependencies.pulls.get(line)
    if row.leased > _now(dependencies):
        return  # a tick is fetching it, and would lose what it does: the next one schedules it
    if row.plan != digest and not is_retired(dependencies, line):
        pull = decode(Pull, _policy(dependencies, line, digest)["pull"])
        wanted = planned(row, pull, version.version, digest, _now(dependencies))
        with suppress(ConditionFailed):  # another tick has it
            yield from perform(Effect.WRITE_PULL, partial(dependencies.pulls.write, wanted))


def _policy(dependencies: Dependencies, line: str, digest: str) -> dict[str, Any]:
    policy: dict[str, Any] = json.loads(dependencies.plan_at(digest, line))["policy"]
    return policy


def _now(dependencies: Dependencies) -> str:
    return moment(dependencies.clock.now())
