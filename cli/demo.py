"""`lakegate demo`: seven uploads through the real template on this machine, each with the verdict it deserves."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from lakegate.cli import terminal
from lakegate.cli.account import STANDING, account
from lakegate.cli.aws import opened
from lakegate.cli.escape import escaped
from lakegate.cli.local import interruptible, progress
from lakegate.cli.status import table
from lakegate.cli.transfer import To, read, send
from lakegate.contracts.errors import SetUpError
from lakegate.contracts.lake.states import END_STATES
from lakegate.functions.adapters.clients import client
from lakegate.functions.ports.errors import NotFound
from lakegate.functions.usecases.compile_contract import compile_document
from lakegate.functions.usecases.deliveries import named
from lakegate.functions.usecases.publish_contract import publish
from lakegate.functions.usecases.routing import add_route
from lakegate.functions.usecases.steps import run
from lakegate.functions.usecases.workflows import referred_of
from lakegate.functions.workload import workload_id
from lakegate.infra.local.stack import Stack as LocalStack
from lakegate.infra.local.stack import StackOptions
from lakegate.infra.samples.demo import CONTRACTS, UPLOADS, write_uploads

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lakegate.cli.account import Account
    from lakegate.cli.aws import DeployedStack
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.infra.samples.demo import Upload

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
    began = time.monotonic()
    with interruptible(), progress() as report:
        LocalStack().up(StackOptions(), report)
    up = time.monotonic() - began
    with interruptible(), opened(local=True) as there, TemporaryDirectory(prefix="lakegate-demo-") as name:
        dependencies = there.dependencies()
        _publish(dependencies)
        write_uploads(Path(name), rows, seed=int(time.time()))
        ended = [(each, _delivered(there, dependencies, each, Path(name, each.file))) for each in UPLOADS]
    _show([one for _, one in ended])
    terminal.errors().print(f"the stack in {up:.0f} s, all of it in {time.monotonic() - began:.0f} s", style="dim")
    _tell_more(next(one for _, one in ended if one.verdict == "rejected"))
    surprises = [each for each, one in ended if one.verdict != each.verdict]
    for each in surprises:
        terminal.errors().print(
            f"{each.key} ({each.description}) should have been {each.verdict}", style="red", markup=False
        )
    raise typer.Exit(SURPRISED if surprises else 0)


def _publish(dependencies: Dependencies) -> None:
    for document, prefix in CONTRACTS:
        body = document.read_bytes()
        compiled = compile_document(body, referred_of(dependencies, body))
        published = run(publish(dependencies, compiled), dependencies.clock)
        dataset = published.plans[0][0]
        route = run(add_route(dependencies, prefix, published.contract, dataset, 1), dependencies.clock)
        text = f"published {published.contract} {published.version}: {prefix} delivers to {route.line}"
        terminal.errors().print(escaped(text), markup=False)


def _delivered(there: DeployedStack, dependencies: Dependencies, upload: Upload, path: Path) -> Account:
    """Upload one file and wait until it is finished."""
    to, began = To(there.output("LandingBucket"), upload.key, there.account), time.monotonic()
    with terminal.errors().status("") as spinner:
        version = send(client("s3"), read(path), to, lambda _: None)
        workload = workload_id(to.bucket, to.key, version)
        for standing in _states(dependencies, workload, began):
            spinner.update(f"{upload.key} ({upload.description}): {standing}")
    one = account(dependencies, named(dependencies, workload, 0))
    text = f"{upload.key} ({upload.description}): {one.verdict} after {time.monotonic() - began:.1f} s"
    terminal.errors().print(escaped(text), markup=False)
    return one


def _states(dependencies: Dependencies, workload: str, began: float) -> Iterable[str]:
    """The state of the workload at each look, until it is finished; SetUpError where that takes too long."""
    while (spent := time.monotonic() - began) < PATIENCE_SECONDS:
        try:
            state = dependencies.workloads.get(workload).state
        except NotFound:
            state = None
        if state in END_STATES:
            return
        yield f"{STANDING[state]} ({spent:.1f} s)"
        time.sleep(PAUSE_SECONDS)
    raise SetUpError(
        f"no verdict after {PATIENCE_SECONDS:.0f} seconds: look at `lakegate status --local` and the logs."
    )


def _show(accounts: list[Account]) -> None:
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
        console.print(escaped(f"{words:>30} {program} {command}"), markup=False, soft_wrap=True)


def _program() -> str:
    """How this program was called, in words that can be typed again."""
    called = Path(sys.argv[0])
    try:
        return str(called.resolve().relative_to(Path.cwd()))
    except ValueError:
        return called.name
