"""`lakegate demo`: seven uploads through the real template on this machine, each with the verdict it deserves."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from cli import terminal
from cli.account import STANDING, account
from cli.aws import opened
from cli.local import interruptible, progress
from cli.seen import seen
from contracts.errors import SetUpError
from functions.usecases.steps import run
from infra.samples.demo import CONTRACTS, UPLOADS, write_uploads

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cli.account import Account
    from cli.aws import Stack
    from functions.usecases.gate import Gate
    from infra.samples.demo import Upload

ROWS = 2_000
PATIENCE_SECONDS = 120.0
PAUSE_SECONDS = 0.05
SURPRISED = 1


def demo(
    rows: Annotated[int, typer.Option(min=100, help="Rows of each file.")] = ROWS,
) -> None:
    """Start the local stack if it is not up, publish two contracts, upload seven files and show what becomes of them.

    Example: lakegate demo

    Exit code: 0 every upload got the verdict it deserves, 1 one did not, 2 the stack cannot be started.
    """
    from infra.local.stack import Stack as LocalStack  # noqa: PLC0415 - start-up is paid by every command
    from infra.local.stack import Wishes  # noqa: PLC0415 - likewise

    began = time.monotonic()
    with interruptible(), progress() as tell:
        LocalStack().up(Wishes(), tell)
    up = time.monotonic() - began
    with interruptible(), opened(local=True) as there, TemporaryDirectory(prefix="lakegate-demo-") as name:
        gate = there.gate()
        _publish(gate)
        write_uploads(Path(name), rows, seed=int(time.time()))
        ended = [(each, _delivered(there, gate, each, Path(name, each.file))) for each in UPLOADS]
    _show([one for _, one in ended])
    terminal.errors().print(f"the stack in {up:.0f} s, all of it in {time.monotonic() - began:.0f} s", style="dim")
    _tell_more(next(one for _, one in ended if one.verdict == "rejected"))
    surprises = [each for each, one in ended if one.verdict != each.verdict]
    for each in surprises:
        terminal.errors().print(f"{each.key} ({each.tells}) should have been {each.verdict}", style="red", markup=False)
    raise typer.Exit(SURPRISED if surprises else 0)


def _publish(gate: Gate) -> None:
    from cli.publish import edition_of  # noqa: PLC0415 - start-up is paid by every command
    from functions.usecases.publish import publish  # noqa: PLC0415 - likewise
    from functions.usecases.routing import add_route  # noqa: PLC0415 - likewise

    for document, prefix in CONTRACTS:
        published = run(publish(gate, edition_of(str(document))), gate.clock)
        dataset = published.plans[0][0]
        route = run(add_route(gate, prefix, published.contract, dataset, 1), gate.clock)
        said = f"published {published.contract} {published.version}: {prefix} delivers to {route.line}"
        terminal.errors().print(seen(said), markup=False)


def _delivered(there: Stack, gate: Gate, upload: Upload, path: Path) -> Account:
    """Upload one file and stay until it has come to rest."""
    from cli.transfer import To, read, send  # noqa: PLC0415 - start-up is paid by every command
    from functions.adapters.clients import client  # noqa: PLC0415 - likewise
    from functions.usecases.deliveries import named  # noqa: PLC0415 - likewise
    from functions.workload import workload_id  # noqa: PLC0415 - likewise

    to, began = To(there.output("LandingBucket"), upload.key, there.account), time.monotonic()
    with terminal.errors().status("") as spinner:
        version = send(client("s3"), read(path), to, lambda _: None)
        workload = workload_id(to.bucket, to.key, version)
        for standing in _states(gate, workload, began):
            spinner.update(f"{upload.key} ({upload.tells}): {standing}")
    one = account(gate, named(gate, workload, 0))
    said = f"{upload.key} ({upload.tells}): {one.verdict} after {time.monotonic() - began:.1f} s"
    terminal.errors().print(seen(said), markup=False)
    return one


def _states(gate: Gate, workload: str, began: float) -> Iterable[str]:
    """What to say of the workload each time somebody looks, until it rests; SetUpError where that takes too long."""
    from contracts.workflow import RESTING  # noqa: PLC0415 - start-up is paid by every command
    from functions.ports import NotFound  # noqa: PLC0415 - likewise

    while (spent := time.monotonic() - began) < PATIENCE_SECONDS:
        try:
            state = gate.workloads.get(workload).state
        except NotFound:
            state = None
        if state in RESTING:
            return
        yield f"{STANDING[state]} ({spent:.1f} s)"
        time.sleep(PAUSE_SECONDS)
    raise SetUpError(
        f"no verdict after {PATIENCE_SECONDS:.0f} seconds: look at `lakegate status --local` and the logs."
    )


def _show(accounts: list[Account]) -> None:
    from cli.status import table  # noqa: PLC0415 - start-up is paid by every command

    console = terminal.wide()
    console.print()
    console.print(table(accounts))
    console.print()


def _tell_more(rejected: Account) -> None:
    program = _program()
    console = terminal.answers()
    short = rejected.delivery.id[:12]
    for words, command in (
        ("why one was rejected:", f"reasons {short} --local"),
        ("all deliveries:", "status --local"),
        ("the ledger that proves them:", f"log {rejected.pin.chain if rejected.pin else ''} --local"),
        ("your own file:", "upload FILE --to weather/ --wait --local"),
        ("stop the stack:", "local down"),
    ):
        console.print(seen(f"{words:>30} {program} {command}"), markup=False, soft_wrap=True)


def _program() -> str:
    """How this program was called, in words that can be typed again."""
    called = Path(sys.argv[0])
    try:
        return str(called.resolve().relative_to(Path.cwd()))
    except ValueError:
        return called.name
