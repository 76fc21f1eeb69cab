"""`lakegate upload`: a file into the landing bucket, and on request what became of it."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path  # noqa: TC003 - typer reads the annotation
from typing import TYPE_CHECKING, Annotated

import typer

from cli import terminal
from cli.account import STANDING, account, as_document
from cli.aws import opened
from cli.options import DEFAULT_STACK, AsJson, Local, StackName
from cli.seen import seen
from cli.status import tell
from contracts.errors import InputError
from contracts.routes import candidates, covering
from contracts.workflow import RESTING
from functions.ports import NotFound, PortError
from functions.usecases.deliveries import named
from functions.usecases.routing import usable
from functions.workload import State, workload_id

if TYPE_CHECKING:
    from cli.account import Account
    from cli.aws import Stack
    from cli.transfer import Local as File
    from cli.transfer import To
    from functions.usecases.gate import Gate

LONGEST_KEY = 1024
UNSPEAKABLE = re.compile(r"[\x00-\x1f\x7f\ufffe\uffff]")
FIRST_LOOK, LONGEST_PAUSE, SLOWER = 0.1, 2.0, 1.3
"""Seconds between two looks at a workload, and by how much they grow: a door refusal is quick, a job may take minutes."""


class Exit(IntEnum):
    """What the command's exit code says with `--wait`."""

    ACCEPTED = 0
    REJECTED = 1
    NO_VERDICT = 3


@dataclass(frozen=True, slots=True)
class Sent:
    """What landed, and how long it took."""

    workload: str
    to: To
    file: File
    version: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Waited:
    """What came of it; seconds are counted from the end of the upload."""

    account: Account
    verdict: float | None
    rest: float | None


def upload(  # noqa: PLR0913 - a command has these options
    file: Annotated[Path, typer.Argument(help="The file to deliver.", show_default=False)],
    *,
    to: Annotated[
        str, typer.Option("--to", help="Folders of the landing bucket, e.g. weather/se/", show_default=False)
    ],
    name: Annotated[str | None, typer.Option("--as", help="The object's name, where it is not the file's.")] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Stay until the delivery has come to rest.")] = False,
    timeout: Annotated[int, typer.Option(min=1, help="Seconds to wait at most.")] = 900,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Deliver a file: into the landing bucket, with a checksum that S3 verifies; with --wait up to the verdict.

    Example: lakegate upload samples/weather-clean.csv --to weather/ --wait

    Exit code: 0 landed (with --wait: accepted), 1 rejected, 3 no verdict (failed, gone, or not in time).
    """
    key = _key(to, name or file.name)
    with opened(stack, local=local) as there:
        gate = there.gate()
        _warn_if_unrouted(gate, key)
        sent = _sent(there, file, key)
        if not as_json:
            _tell(sent, alone=not wait)
        waited = _waited(gate, sent, timeout) if wait else None
    if as_json:
        terminal.print_json(_as_document(sent, waited))
    elif waited is not None:
        _tell_end(waited)
    raise typer.Exit(_exit_code(waited))


def _key(prefix: str, name: str) -> str:
    folders = prefix if prefix.endswith("/") else f"{prefix}/"
    usable(folders)
    if UNSPEAKABLE.search(folders + name):
        raise InputError(
            "the key would hold control characters, which XML, and so S3's lists, cannot: choose others with --as"
        )
    try:
        length = len(f"{folders}{name}".encode())
    except UnicodeEncodeError:
        raise InputError("the file's name is no UTF-8, which keys must be: give another one with --as") from None
    if not name or length > LONGEST_KEY:
        raise InputError(
            f"the key would have {length:,} bytes; S3 takes 1 to {LONGEST_KEY:,}: give a shorter name with --as"
        )
    return f"{folders}{name}"


def _warn_if_unrouted(gate: Gate, key: str) -> None:
    try:
        route = covering(key, gate.registry.routes(gate.places.landing, candidates(key)))
    except PortError:
        return  # a producer need not be allowed to read the registry; the gate will say the same
    if route is None:
        said = f"no route covers {key}: without a contract it cannot be accepted (`lakegate route list`)"
        terminal.errors().print(seen(f"warning: {said}"), style="yellow", markup=False)


def _sent(there: Stack, path: Path, key: str) -> Sent:
    from cli.transfer import To, read, send  # noqa: PLC0415 - start-up is paid by every command
    from functions.adapters.clients import client  # noqa: PLC0415 - likewise

    file, to = read(path), To(there.output("LandingBucket"), key, there.account)
    began = time.monotonic()
    with terminal.bytes_arriving(seen(path.name), file.size) as arrived:
        version = send(client("s3"), file, to, arrived)
    return Sent(workload_id(to.bucket, key, version), to, file, version, time.monotonic() - began)


def _waited(gate: Gate, sent: Sent, timeout: int) -> Waited:
    """Look until the workload rests, or the time is up."""
    began, pause, verdict = time.monotonic(), FIRST_LOOK, None
    with terminal.errors().status(STANDING[None]) as status:
        while (spent := time.monotonic() - began) < timeout:
            state = _state(gate, sent.workload)
            if verdict is None and state in {State.DECIDED, State.PUBLISHED, State.QUARANTINED}:
                verdict = spent
            if state in RESTING:
                break
            status.update(f"{STANDING[state]} ({spent:.0f} s)")
            gate.clock.sleep(pause)
            pause = min(pause * SLOWER, LONGEST_PAUSE)
    rests = state in RESTING
    return Waited(_account(gate, sent), verdict, spent if rests else None)


def _state(gate: Gate, workload: str) -> State | None:
    try:
        return gate.workloads.get(workload).state
    except NotFound:
        return None


def _account(gate: Gate, sent: Sent) -> Account:
    from functions.usecases.deliveries import Delivery  # noqa: PLC0415 - beside its one use

    if _state(gate, sent.workload) is None:
        return account(gate, Delivery(sent.workload, sent.to.key, sent.file.size, None))
    return account(gate, named(gate, sent.workload, 0))


def _as_document(sent: Sent, waited: Waited | None) -> dict[str, object]:
    document: dict[str, object] = (
        as_document(waited.account) if waited else {"workload": sent.workload, "key": sent.to.key}
    )
    seconds = {
        "upload": round(sent.seconds, 3),
        "verdict": None if waited is None or waited.verdict is None else round(waited.verdict, 3),
        "rest": None if waited is None or waited.rest is None else round(waited.rest, 3),
    }
    landed = {"bucket": sent.to.bucket, "version": sent.version, "size": sent.file.size, "sha256": sent.file.sha256}
    return document | landed | {"waited": seconds}


def _tell(sent: Sent, *, alone: bool) -> None:
    console = terminal.answers()
    said = f"{sent.file.path} → s3://{sent.to.bucket}/{sent.to.key}"
    console.print(seen(said), markup=False, soft_wrap=True)
    console.print(f"  {sent.file.size:,} bytes in {sent.seconds:.1f} s, SHA-256 {sent.file.sha256}", soft_wrap=True)
    if alone:
        console.print(f"  workload {sent.workload}", soft_wrap=True)


def _tell_end(waited: Waited) -> None:
    tell(waited.account)
    if waited.rest is None:
        terminal.errors().print("The time is up; it goes on without you: `lakegate status`.", style="yellow")
    elif waited.verdict is not None:
        terminal.answers().print(f"{waited.verdict:.1f} s from upload to verdict, {waited.rest:.1f} s to rest")


def _exit_code(waited: Waited | None) -> Exit:
    if waited is None or (waited.rest is not None and waited.account.state is State.PUBLISHED):
        return Exit.ACCEPTED
    return Exit.REJECTED if waited.account.state is State.QUARANTINED else Exit.NO_VERDICT
