"""lakegate replay, one or many."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import (
    UTC,
    datetime,
)
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

import typer

from lakegate.aws.open_stack import DEFAULT_STACK, opened
from lakegate.cli import terminal
from lakegate.cli.command_runner import refuse_options
from lakegate.cli.deliveries.status_command import print_remote
from lakegate.cli.deliveries.wait_for_verdict import LONGEST_WAIT, Timeout, Wait, Waited, WaitExit, exit_code, print_end
from lakegate.cli.deliveries.wait_for_verdict import wait as wait_for
from lakegate.cli.options import ApiUrl, AsJson, Local, OptionalDelivery, StackName
from lakegate.contract_files import chosen as chosen_of
from lakegate.contract_files import snapshot_of
from lakegate.errors import InputError, LakegateError
from lakegate.gate.datasets.dataset_names import lines_fitting
from lakegate.gate.delivery.delivery_objects import row_of
from lakegate.gate.delivery.delivery_row import replay_id
from lakegate.gate.delivery.find_deliveries import NO_VERDICT, Wanted, named, recent
from lakegate.gate.delivery.pin_contract import route_of
from lakegate.gate.delivery.protocol import END_STATES, State
from lakegate.gate.delivery.replay import replay as start_again
from lakegate.gate.effects import run
from lakegate.stack import LATEST, SHORT_ID, STANDING, as_document, in_utc, remote_stack
from lakegate.text import printable as escaped

if TYPE_CHECKING:
    from lakegate.gate.delivery.delivery_row import Workload
    from lakegate.gate.delivery.find_deliveries import Delivery
    from lakegate.gate.dependencies import Dependencies

# ---- Many replays at once: which deliveries, one after the other, and what came of each ----------------------------
#
# Each run reads the selection again. A quarantined delivery that was replayed has a replay, and a failed one that is
# being
# judged is not FAILED any more: neither is selected again, so the command can be interrupted and repeated. A replay
# that was
# rejected is replayed only under another version than the one that rejected it.


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
                outcome.started[each.id] = run(start_again(dependencies, each.id, contract), dependencies.clock)
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


# ---- `lakegate replay`: judge again, under the contract that is valid now ------------------------------------------


def replay(  # noqa: PLR0913 - a command has these options
    workload: OptionalDelivery = None,
    *,
    state: Annotated[
        Replayable | None, typer.Option(help="Many: all deliveries in this state, the oldest first.")
    ] = None,
    line: Annotated[str | None, typer.Option(help="Many: only those of a contract, a dataset or a line.")] = None,
    since: Annotated[
        datetime | None, typer.Option(formats=TIMES, help="Many: only those since this time (UTC).")
    ] = None,
    until: Annotated[
        datetime | None, typer.Option(formats=TIMES, help="Many: only those before this time (UTC).")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=MOST, help="Many: at most so many.")] = 100,
    contract: Annotated[
        str | None, typer.Option(help="Judge by this version instead of the valid one: shop@1.2.0.", show_default=False)
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Many: list them, and start nothing.")] = False,
    wait: Wait = False,
    timeout: Timeout = LONGEST_WAIT,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    api: ApiUrl = None,
    as_json: AsJson = False,
) -> None:
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
    if api:
        refuse_options(local=local, wait=wait, state=state, line=line, since=since, until=until, dry_run=dry_run)
        if workload is None:
            raise InputError("the HTTP API has no list of deliveries: name the workload by its id")
        own, at, _ = (contract or "").rpartition("@")
        body = {"transition": "replay"} | ({"contract": str(contract)} if at else {})
        print_remote(remote_stack(api).transition(workload, own if at else contract or "", body), as_json=as_json)
        return
    if workload is None or state is not None:
        if workload is not None or state is None or wait:
            raise InputError("name a workload, or choose many with --state (then without --wait)")
        with opened(stack, local=local) as there:
            chosen = Chosen(state, line, since, until, limit)
            dependencies = there.working_dependencies()
            outcome = replay_many(dependencies, chosen, whole_version(dependencies, contract), dry_run=dry_run)
        print_outcome(outcome, as_json=as_json)
        raise typer.Exit(WaitExit.NO_VERDICT if outcome.refused else WaitExit.ACCEPTED)
    with opened(stack, local=local) as there:
        limit_of_wait = timeout if wait else None
        dependencies = there.working_dependencies()
        version = whole_version(dependencies, contract)
        ended = _replay_one(dependencies, workload, version, limit_of_wait, as_json=as_json)
    raise typer.Exit(ended)


def whole_version(dependencies: Dependencies, written: str | None) -> str:
    """`contract@version` with the whole id of the contract; empty for none."""
    contract, at, version = (written or "").rpartition("@")
    if not at or not contract:
        return written or ""
    return f"{chosen_of(snapshot_of(dependencies.registry, contract), contract).contract}@{version}"


def _replay_one(
    dependencies: Dependencies, workload: str, contract: str, timeout: int | None, *, as_json: bool
) -> WaitExit:
    """Replay one delivery, print the answer, and return the exit code; with a timeout, in seconds, after its verdict."""
    began = time.monotonic()
    before = named(dependencies, workload, LATEST)
    already = _already(dependencies, before)
    identity = already.id if already else run(start_again(dependencies, before.id, contract), dependencies.clock)
    row = dependencies.workloads.get(identity)
    if not as_json:
        terminal.answers().print(_in_words(before, row, started=already is None), soft_wrap=True)
    waited = Waited(identity, before.key, before.size, began)
    if timeout is not None:
        wait_for(dependencies, [waited], timeout)
    one = waited.account(dependencies) if timeout is not None else None
    if as_json:
        answer: dict[str, object] = {
            "workload": identity,
            "replay_of": before.id if identity != before.id else None,
            "state": row.state,
            "started": already is None,
            "chosen": {"line": row.chosen.line, "version": row.chosen.version} if row.chosen else None,
        }
        terminal.print_json(answer | as_document(one) | {"waited": waited.as_document()} if one else answer)
    elif one is not None:
        print_end(one, waited, "replay")
    return WaitExit.ACCEPTED if timeout is None else exit_code([waited])


def _already(dependencies: Dependencies, before: Delivery) -> Workload | None:
    """The workload that judges this delivery, or has judged it again, so that nothing is to be started."""
    row = before.row
    if row is None:
        raise InputError("it landed and was not taken in yet: there is nothing to replay (`lakegate status`)")
    if row.state is State.QUARANTINED:
        return row_of(dependencies, replay_id(row.id))
    return None if row.state in END_STATES else row


def _in_words(before: Delivery, row: Workload, *, started: bool) -> str:
    short = row.id[:SHORT_ID]
    under = f" by {row.chosen.line} {row.chosen.version}" if row.chosen else ""
    if started:
        return f"{row.id} is being judged{under} ({row.state}).\nlakegate status {short}"
    if row.state not in END_STATES:
        return (
            f"{row.id} is being judged already{under} ({row.state}); nothing more was started.\nlakegate status {short}"
        )
    again = "" if row.state is State.PUBLISHED else f"\nTo judge what came of it again: lakegate replay {row.id}"
    did = "waived" if row.waiver else "replayed"
    text = f"{before.id} was {did} before, by {row.id}: {STANDING[row.state]}. Nothing was started."
    return f"{text}\nlakegate status {short}{again}"
