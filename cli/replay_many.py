"""Many replays at once: which deliveries, one after the other, and what came of each.

Each run reads the selection again. A quarantined delivery that was replayed has a replay, and a failed one that is being
judged is not FAILED any more: neither is selected again, so the command can be interrupted and repeated. A replay that was
rejected is replayed only under another version than the one that rejected it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from lakegate.cli import terminal
from lakegate.cli.account import SHORT_ID, in_utc
from lakegate.cli.escape import escaped
from lakegate.contracts.errors import LakegateError
from lakegate.functions.usecases.deliveries import NO_VERDICT, Wanted, recent
from lakegate.functions.usecases.delivery import row_of
from lakegate.functions.usecases.lines import lines_fitting
from lakegate.functions.usecases.pinning import route_of
from lakegate.functions.usecases.replay import replay
from lakegate.functions.usecases.steps import run
from lakegate.functions.workload import State, replay_id

if TYPE_CHECKING:
    from lakegate.functions.usecases.delivery import Delivery
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.workload import Workload

MOST: Final = 5_000
"""As many blocks of a line are searched for quarantined deliveries."""
TIMES: Final = ["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"]


class Replayable(StrEnum):
    """States that a replay starts from."""

    FAILED = "FAILED"
    QUARANTINED = "QUARANTINED"


VERDICTS: Final = {Replayable.FAILED: NO_VERDICT, Replayable.QUARANTINED: "rejected"}


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which deliveries are to be replayed; times without a zone are UTC."""

    state: Replayable
    line: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    limit: int = MOST

    def admits(self, delivery: Delivery) -> bool:
        """Whether it is one of those."""
        row, at = delivery.row, delivery.at
        if row is None or at is None or row.state != self.state.value:
            return False
        return (self.since is None or at >= self.since.replace(tzinfo=UTC)) and (
            self.until is None or at < self.until.replace(tzinfo=UTC)
        )


@dataclass(slots=True)
class ManyReplays:
    """What came of many replays."""

    selected: list[Delivery]
    dry_run: bool = False
    started: dict[str, str] = field(default_factory=dict)
    """The workload that is judged, by the delivery that it judges."""
    refused: dict[str, str] = field(default_factory=dict)
    """Why not, by the delivery."""


def replay_many(
    dependencies: Dependencies, chosen: Chosen, contract: str = "", *, dry_run: bool = False
) -> ManyReplays:
    """Replay all that are chosen, the oldest first; one that is refused does not keep the others from being started.

    `contract`: `id@version` to judge all of them by; empty: what is valid.
    """
    outcome = ManyReplays(_selected(dependencies, chosen, contract), dry_run)
    if dry_run:
        return outcome
    with terminal.working("replaying") as progress:
        for number, each in enumerate(outcome.selected, 1):
            progress(f"{number} of {len(outcome.selected)}: {each.key}")
            try:
                outcome.started[each.id] = run(replay(dependencies, each.id, contract), dependencies.clock)
            except LakegateError as error:
                outcome.refused[each.id] = str(error)
    return outcome


def print_outcome(outcome: ManyReplays, *, as_json: bool) -> None:
    """What was selected, and what came of it."""
    if as_json:
        deliveries = [
            {
                "workload": each.id,
                "key": each.key,
                "at": each.at.isoformat() if each.at else None,
                "judged_by": outcome.started.get(each.id),
                "refused": outcome.refused.get(each.id),
            }
            for each in outcome.selected
        ]
        counts = {"selected": len(deliveries), "started": len(outcome.started), "refused": len(outcome.refused)}
        terminal.print_json({"dry_run": outcome.dry_run, **counts, "deliveries": deliveries})
        return
    console = terminal.answers()
    for each in outcome.selected:
        result = outcome.refused.get(each.id) or ("selected" if outcome.dry_run else "is being judged")
        text = f"{each.id[:SHORT_ID]}  {in_utc(each.at)}  {each.key}: {result}"
        console.print(escaped(text), markup=False, soft_wrap=True)
    done = "nothing was started (--dry-run)" if outcome.dry_run else f"{len(outcome.started)} started"
    console.print(f"{len(outcome.selected)} selected, {done}, {len(outcome.refused)} refused")


def _selected(dependencies: Dependencies, chosen: Chosen, contract: str) -> list[Delivery]:
    chains = lines_fitting(dependencies, chosen.line) if chosen.line is not None else frozenset[str]()
    found = recent(dependencies, MOST, Wanted(frozenset({VERDICTS[chosen.state]}), chains))
    admitted = [
        each
        for each in reversed(found)
        if chosen.admits(each) and each.row is not None and _is_due(dependencies, each.row, contract)
    ]
    return admitted[: chosen.limit]


def _is_due(dependencies: Dependencies, row: Workload, contract: str) -> bool:
    """Whether a failed or rejected delivery was not replayed, and is no replay that the same version would reject again."""
    if row.state is not State.QUARANTINED:
        return True
    if row_of(dependencies, replay_id(row.id)) is not None:
        return False
    if not row.replay_of or row.pin is None:
        return not row.replay_of
    route = None if contract else route_of(dependencies, row._replace(chosen=None))
    valid = contract or (f"{route.contract}@{route.version}" if route else "")
    return valid not in {"", f"{row.pin.contract}@{row.pin.version}"}
