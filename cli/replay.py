"""`lakegate replay`: judge again, under the contract that is valid now."""

from __future__ import annotations

import time
from datetime import datetime  # noqa: TC003 - typer reads the annotation
from typing import TYPE_CHECKING, Annotated

import typer

from lakegate.cli import terminal
from lakegate.cli.account import SHORT_ID, STANDING, as_document
from lakegate.cli.aws import opened
from lakegate.cli.options import DEFAULT_STACK, ApiUrl, AsJson, Local, OptionalDelivery, StackName
from lakegate.cli.over_http import Api
from lakegate.cli.published import chosen as chosen_of
from lakegate.cli.published import snapshot_of
from lakegate.cli.remote import refuse_options, send_transition
from lakegate.cli.replay_many import MOST, TIMES, Chosen, Replayable, print_outcome, replay_many
from lakegate.cli.status import LATEST
from lakegate.cli.waiting import LONGEST_WAIT, Timeout, Wait, Waited, WaitExit, exit_code, print_end
from lakegate.cli.waiting import wait as wait_for
from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.states import END_STATES
from lakegate.functions.usecases.deliveries import named
from lakegate.functions.usecases.delivery import row_of
from lakegate.functions.usecases.replay import replay as start_again
from lakegate.functions.usecases.steps import run
from lakegate.functions.workload import State, replay_id

if TYPE_CHECKING:
    from lakegate.functions.usecases.delivery import Delivery
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.workload import Workload


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
        send_transition(Api(api), workload, own if at else contract or "", body, as_json=as_json)
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
