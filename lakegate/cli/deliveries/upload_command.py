"""`lakegate upload`: files into the landing bucket, and on request what became of them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lakegate.admission.refusals import is_ignored
from lakegate.aws.clients import client
from lakegate.aws.open_stack import DEFAULT_STACK, opened
from lakegate.cli import terminal
from lakegate.cli.deliveries.wait_for_verdict import LONGEST_WAIT, Timeout, Wait, Waited, WaitExit, exit_code, print_end
from lakegate.cli.deliveries.wait_for_verdict import wait as wait_for
from lakegate.cli.options import AsJson, Local, StackName
from lakegate.errors import InputError, LakegateError, PortError
from lakegate.gate.delivery.delivery_row import workload_id
from lakegate.gate.registry.routes import candidates, covering
from lakegate.stack import as_document
from lakegate.text import counted
from lakegate.text import printable as escaped
from lakegate.transfer.upload_files import To, destination, read, send

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.aws.open_stack import DeployedStack
    from lakegate.gate.dependencies import Dependencies
    from lakegate.stack import Account
    from lakegate.transfer.upload_files import Local as File


@dataclass(frozen=True, slots=True)
class Sent:
    """What landed, how long it took, and when it had landed by the monotonic clock."""

    workload: str
    to: To
    file: File
    version: str
    seconds: float
    ended: float


def upload(  # noqa: PLR0913 - a command has these options
    files: Annotated[list[Path], typer.Argument(help="The files to deliver.", show_default=False)],
    *,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            help="Folders of the landing bucket, orders/, or the whole key of one file, orders/day.csv.",
            show_default=False,
        ),
    ],
    name: Annotated[str | None, typer.Option("--as", help="The object's name, where it is not the file's.")] = None,
    wait: Wait = False,
    timeout: Timeout = LONGEST_WAIT,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Deliver files: into the landing bucket, with checksums that S3 verifies; with --wait up to the verdicts.

    Every file is a delivery of its own.

    Example: lakegate upload samples/weather-clean.csv --to weather/ --wait

    Exit code: 0 landed (with --wait: all accepted), 1 one was rejected, 3 one has no verdict (failed, gone, or not in time).
    """
    where = destination(files, to, name)
    with opened(stack, local=local) as there:
        dependencies, sent, waited = there.dependencies(), list[Sent](), list[Waited]()
        for each in _sent(there, dependencies, files, where.in_bucket(there.output("LandingBucket"))):
            sent.append(each)
            if not as_json:
                _print(each, alone=not wait)
        if wait:
            waited = [Waited(each.workload, each.to.key, each.file.size, each.ended) for each in sent]
            wait_for(dependencies, waited, timeout)
        accounts = [each.account(dependencies) for each in waited]
    if as_json:
        _print_json(sent, waited, accounts)
    else:
        for one, end in zip(accounts, waited, strict=True):
            if len(accounts) > 1:
                terminal.answers().print()
            print_end(one, end, "upload")
    raise typer.Exit(exit_code(waited) if wait else WaitExit.ACCEPTED)


def _sent(there: DeployedStack, dependencies: Dependencies, files: list[Path], keys: tuple[str, ...]) -> Iterator[Sent]:
    """Read all, then send one after the other: what cannot be read is refused before anything lands."""
    _refuse_ignored(keys, dependencies.places.ignored)
    _warn_if_unrouted(dependencies, keys[0])
    read_files = [read(each) for each in files]
    for landed, (file, key) in enumerate(zip(read_files, keys, strict=True)):
        try:
            sent = _one_sent(file, To(dependencies.places.landing, key, there.account))
        except LakegateError:
            if landed:
                terminal.errors().print(f"{landed} of {counted(len(files), 'file')} had landed before:", style="yellow")
            raise
        yield sent


def _one_sent(file: File, to: To) -> Sent:
    began = time.monotonic()
    with terminal.bytes_arriving(file.path.name, file.size) as arrived:
        version = send(client("s3"), file, to, arrived)
    ended = time.monotonic()
    return Sent(workload_id(to.bucket, to.key, version), to, file, version, ended - began, ended)


def _refuse_ignored(keys: tuple[str, ...], patterns: tuple[str, ...]) -> None:
    """Raise InputError for a name that the gate takes for no delivery: nothing would ever become of it."""
    for key in keys:
        if is_ignored(key, 1, patterns):
            raise InputError(f"{key} has a name that this stack ignores (docs/producer.md): give it another one")


def _warn_if_unrouted(dependencies: Dependencies, key: str) -> None:
    """Of all keys at once: they share their folders, and routes stand at folders."""
    try:
        route = covering(key, dependencies.registry.routes(dependencies.places.landing, candidates(key)))
    except PortError:
        return  # a producer need not be allowed to read the registry; the gate will say the same
    if route is None:
        text = f"no route covers {key}: without a contract it cannot be accepted (`lakegate route list`)"
        terminal.errors().print(escaped(f"warning: {text}"), style="yellow", markup=False)


def _print_json(sent: list[Sent], waited: list[Waited], accounts: list[Account]) -> None:
    """One delivery by itself, several as a list."""
    documents = [
        _as_document(each, waited[place] if waited else None, accounts[place] if accounts else None)
        for place, each in enumerate(sent)
    ]
    terminal.print_json(documents[0] if len(documents) == 1 else {"deliveries": documents})


def _as_document(sent: Sent, waited: Waited | None, one: Account | None) -> dict[str, object]:
    document: dict[str, object] = as_document(one) if one else {"workload": sent.workload, "key": sent.to.key}
    seconds = waited.as_document() if waited else {"verdict": None, "completion": None}
    landed = {"bucket": sent.to.bucket, "version": sent.version, "size": sent.file.size, "sha256": sent.file.sha256}
    return document | landed | {"waited": {"upload": round(sent.seconds, 3)} | seconds}


def _print(sent: Sent, *, alone: bool) -> None:
    console = terminal.answers()
    console.print(escaped(f"{sent.file.path} → s3://{sent.to.bucket}/{sent.to.key}"), markup=False, soft_wrap=True)
    console.print(
        f"  {counted(sent.file.size, 'byte')} in {sent.seconds:.1f} s, SHA-256 {sent.file.sha256}", soft_wrap=True
    )
    if alone:
        console.print(f"  workload {sent.workload}", soft_wrap=True)
