"""lakegate replay, one or many."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import (
    UTC,
    datetime,
)
from enum import StrEnum
from typing import Annotated, Final

from lakegate.base.errors import InputError, LakegateError
from lakegate.base.json_codec import select_fields
from lakegate.cli import terminal
from lakegate.cli.click_commands import Option
from lakegate.cli.command_runner import CommandResult, facade_command
from lakegate.cli.deliveries.wait_for_verdict import WaitExit, exit_code, print_end
from lakegate.cli.deliveries.wait_for_verdict import wait as wait_for
from lakegate.cli.options import TIMES, AsJson, OptionalDelivery, Timeout, Wait
from lakegate.gate.carry_out_decision import decide
from lakegate.gate.datasets.dataset_names import datasets_fitting
from lakegate.gate.delivery.delivery_row import Workload, replay_id
from lakegate.gate.delivery.find_deliveries import NO_VERDICT, Delivery, Wanted, find_delivery, recent
from lakegate.gate.delivery.pin_contract import route_of
from lakegate.gate.delivery.protocol import END_STATES, State
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.person_decisions import WantedReplay
from lakegate.library.awaited_deliveries import LONGEST_WAIT, Waited
from lakegate.library.described_deliveries import (
    SHORT_ID,
    STANDING,
    DeliveryStatus,
    StartedReplay,
    in_utc,
)
from lakegate.library.stack import StackFacade

# ---- Many replays ----
# Each run reads the selection again. A quarantined delivery that was replayed has a replay, and a failed one that is being
# judged is not FAILED any more: neither is selected again, so the command can be interrupted and repeated. A replay that was
# rejected is replayed only under another version than the one that rejected it.


MAX_SEARCHED_BLOCKS: Final = 5_000
"""As many blocks of a dataset are searched for quarantined deliveries."""


class Replayable(StrEnum):
    """States that a replay starts from."""

    FAILED = "FAILED"
    QUARANTINED = "QUARANTINED"


VERDICTS: Final = {Replayable.FAILED: NO_VERDICT, Replayable.QUARANTINED: "rejected"}


@dataclass(frozen=True, slots=True)
class Chosen:
    """The deliveries to replay; times without a zone are UTC."""

    state: Replayable
    dataset: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    limit: int = MAX_SEARCHED_BLOCKS

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
    """Results of many replays."""

    selected: list[Delivery]
    dry_run: bool = False
    started: dict[str, str] = field(default_factory=dict)
    """The workload that is judged, by the delivery that it judges."""
    refused: dict[str, str] = field(default_factory=dict)
    """Refusals, by the delivery."""


@dataclass(frozen=True, slots=True)
class SelectedDelivery:
    """A delivery that was selected for a replay."""

    workload: str
    key: str
    at: str | None
    judged_by: str | None
    """The workload that judges it."""
    refused: str | None
    """The reason why it is not replayed."""


@dataclass(frozen=True, slots=True)
class ManyReplayed:
    """Results of many replays."""

    dry_run: bool
    selected: int
    started: int
    refused: int
    deliveries: tuple[SelectedDelivery, ...]


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
                steps = decide(dependencies, each.id, WantedReplay("replay", contract))
                outcome.started[each.id] = dependencies.run(steps)
            except LakegateError as error:
                outcome.refused[each.id] = str(error)
    return outcome


def _many(outcome: ManyReplays) -> ManyReplayed:
    deliveries = tuple(
        select_fields(
            SelectedDelivery,
            each,
            workload=each.id,
            judged_by=outcome.started.get(each.id),
            refused=outcome.refused.get(each.id),
        )
        for each in outcome.selected
    )
    counts = len(deliveries), len(outcome.started), len(outcome.refused)
    return ManyReplayed(outcome.dry_run, *counts, deliveries)


def _many_in_words(outcome: ManyReplays) -> Iterator[str]:
    for each in outcome.selected:
        result = outcome.refused.get(each.id) or ("selected" if outcome.dry_run else "is being judged")
        yield f"{each.id[:SHORT_ID]}  {in_utc(each.at)}  {each.key}: {result}"
    done = "nothing was started (--dry-run)" if outcome.dry_run else f"{len(outcome.started)} started"
    yield f"{len(outcome.selected)} selected, {done}, {len(outcome.refused)} refused"


def _selected(dependencies: Dependencies, chosen: Chosen, contract: str) -> list[Delivery]:
    chains = datasets_fitting(dependencies, chosen.dataset) if chosen.dataset is not None else frozenset[str]()
    found = recent(dependencies, MAX_SEARCHED_BLOCKS, Wanted(frozenset({VERDICTS[chosen.state]}), chains))
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
    if dependencies.workloads.find(replay_id(row.id)) is not None:
        return False
    if not row.replay_of or row.pin is None:
        return not row.replay_of
    route = None if contract else route_of(DeliveryTurn(dependencies, row._replace(chosen=None)))
    valid = contract or (f"{route.contract}@{route.version}" if route else "")
    return valid not in {"", f"{row.pin.contract}@{row.pin.version}"}


# ---- `lakegate replay` ----


@dataclass(frozen=True, slots=True)
class WaitSeconds:
    """Seconds to the verdict and to the completion."""

    verdict: float | None
    completion: float | None


@dataclass(frozen=True, slots=True)
class ReplayedDelivery(DeliveryStatus):
    """The end of a replay (`--wait`)."""

    started: bool
    waited: WaitSeconds


@facade_command
def replay(  # noqa: PLR0913 - a command has these options
    there: StackFacade,
    workload: OptionalDelivery = None,
    *,
    state: Annotated[Replayable | None, Option(help="Many: all deliveries in this state, the oldest first.")] = None,
    line: Annotated[str | None, Option(help="Many: only those of a contract or a dataset.")] = None,
    since: Annotated[datetime | None, Option(formats=TIMES, help="Many: only those since this time (UTC).")] = None,
    until: Annotated[datetime | None, Option(formats=TIMES, help="Many: only those before this time (UTC).")] = None,
    limit: Annotated[int, Option(min=1, max=MAX_SEARCHED_BLOCKS, help="Many: at most so many.")] = 100,
    contract: Annotated[str | None, Option(help="Judge by this version instead of the valid one: shop@1.2.0.")] = None,
    dry_run: Annotated[bool, Option(help="Many: list them, and start nothing.")] = False,
    wait: Wait = False,
    timeout: Timeout = LONGEST_WAIT,
    as_json: AsJson = False,
) -> CommandResult[StartedReplay | ReplayedDelivery | ManyReplayed]:
    """Judge a failed delivery again, or a quarantined one from its copy in quarantine. It is idempotent.

    A landing key selects the newest upload under it, also after a replay: the command is idempotent. With --state many
    are replayed; run it again after an interruption. With --api it takes a workload's whole id, and the next sweep starts
    it; --contract CONTRACT names its contract for callers whose rights are limited to that.

    Example: lakegate replay orders/day.csv --wait

    Example: lakegate replay orders/day.csv --contract shop@1.2.0

    Example: lakegate replay --state FAILED --line orders_v1 --since 2026-11-21T06:00 --dry-run

    Exit code: 0 it is being judged, or was replayed before (with --wait: accepted), 1 rejected, 3 no verdict. With --state:
    0 all were started, 3 some could not be.
    """
    there.refuse(wait=wait, state=state, line=line, since=since, until=until, dry_run=dry_run)
    if workload is None or state is not None:
        if workload is not None or state is None or wait:
            raise InputError("name a workload, or choose many with --state (then without --wait)")
        chosen = Chosen(state, line, since, until, limit)
        outcome = replay_many(there.working, chosen, there.whole_version(contract), dry_run=dry_run)
        code = WaitExit.NO_VERDICT if outcome.refused else WaitExit.ACCEPTED
        return CommandResult(_many(outcome), _many_in_words(outcome), code)
    began = time.monotonic()
    found = there.replay(workload, contract)
    if not wait:
        return CommandResult(found, _in_words(found))
    if not as_json:
        terminal.tell(_in_words(found))
    dependencies = there.working
    before = find_delivery(dependencies, found.replay_of or found.workload, 0)
    waited = Waited(found.workload, before.key, before.size, began)
    wait_for(dependencies, [waited], timeout)
    one = waited.status(dependencies)
    replayed = select_fields(ReplayedDelivery, one, started=found.started, waited=WaitSeconds(*waited.seconds))
    return CommandResult(replayed, [lambda _: print_end(one, waited, "replay")], exit_code([waited]))


def _in_words(found: StartedReplay) -> Iterator[str]:
    short = found.workload[:SHORT_ID]
    under = f" by {found.chosen.dataset} {found.chosen.version}" if found.chosen else ""
    if found.started:
        yield f"{found.workload} is being judged{under} ({found.state})."
    elif found.state not in END_STATES:
        yield f"{found.workload} is being judged already{under} ({found.state}); nothing more was started."
    else:
        did, before = "waived" if found.waived else "replayed", found.replay_of or found.workload
        yield f"{before} was {did} before, by {found.workload}: {STANDING[found.state]}. Nothing was started."
    yield f"lakegate status {short}"
    if not found.started and found.state in END_STATES and found.state is not State.PUBLISHED:
        yield f"To judge what came of it again: lakegate replay {found.workload}"
