"""`lakegate local`: the whole stack on this machine, and nothing of it anywhere else."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated

from infra.local.local_stack import Stack, StackOptions
from lakegate.aws.open_stack import LocalState
from lakegate.base.errors import InputError
from lakegate.base.text import join_words, quote
from lakegate.cli import terminal
from lakegate.cli.click_commands import CommandGroup, Option
from lakegate.cli.command_runner import BESIDE, CommandResult, command

DOWN = 1
DEAD = {
    "emr": "EMR Serverless has died, its log is {log}: `lakegate local up` starts it again, and keeps everything.",
    "aws": "The embedded AWS has died, its log is {log}: all that it held is lost; `lakegate local up --reset` starts another.",
}
app = CommandGroup(help="The embedded AWS with template.yaml deployed on it, on this machine.")


@dataclass(frozen=True, slots=True)
class LocalStatus:
    """The local stack, as it is now."""

    up: bool
    dead: tuple[str, ...]
    """Its parts that have died."""
    state: LocalState | None = field(metadata=BESIDE)


@app.command("up")
@command
def up(
    port: Annotated[int, Option(min=0, max=65535, help="Of the embedded AWS; 0 takes a free one.")] = 0,
    spark: Annotated[str, Option(help="`resident`: one warm Spark; `submit`: a spark-submit per run.")] = "resident",
    small_file_bytes: Annotated[
        int, Option(min=0, help="Deliveries below this size are judged in a Lambda function first.")
    ] = 0,
    parameter: Annotated[
        list[str] | None,
        Option(help="NAME=VALUE of template.yaml; may be given several times."),
    ] = None,
    reset: Annotated[
        bool, Option(help="Throw away what runs and all that lies in it, and start from nothing.")
    ] = False,
) -> CommandResult[LocalState]:
    """Start the embedded AWS and the local EMR Serverless, and deploy template.yaml on them; nothing where they run.

    Example: lakegate local up

    `--parameter ValidatorHosts=gx.example.com` lets validators be registered, `--parameter PullHosts=example.com` lets contracts
    pull.

    Where EMR Serverless alone has died, it is started again, and everything else stays as it is. Nothing is thrown away without
    --reset. Parameters other than those that it was started with are refused where it is up.

    Exit code: 0 it is up, 2 it cannot be, and nothing was left running; or it is up with other parameters, and stays.
    """
    given = dict(map(named_value, parameter or ()))
    own = {"SmallFileBytes": str(small_file_bytes), **given}
    stack = Stack()
    if not reset:
        _refuse_other(stack, own if small_file_bytes else given)
    with interruptible(), progress() as report:
        state = stack.up(StackOptions(port, spark, parameters=own), report, reset=reset)
    return CommandResult(state, _in_words(state))


@app.command("down")
def down() -> None:
    """Stop everything that `up` started, and remove what it wrote.

    Example: lakegate local down
    """
    ran = Stack().down()
    terminal.standard_output().print("The local stack is down." if ran else "The local stack was not up.")


@app.command("status")
@command
def status() -> CommandResult[LocalStatus]:
    """Say whether the local stack is up, and where.

    Example: lakegate local status

    Exit code: 0 it is up, 1 it is not, or a part of it has died.
    """
    stack = Stack()
    state, dead = stack.found(), stack.dead()
    if state is not None:
        words = _in_words(state)
    elif dead:
        words = [DEAD[each].format(log=stack.folder / f"{each}.log") for each in dead]
    else:
        words = ["The local stack is not up: `lakegate local up` starts it."]
    return CommandResult(LocalStatus(state is not None, tuple(dead), state), words, 0 if state else DOWN)


def _refuse_other(stack: Stack, wanted: Mapping[str, str]) -> None:
    """Raise InputError for parameters with which a stack was not started: nothing would come of them."""
    if not wanted or not stack.path.exists():
        return
    there = LocalState.read(stack.path).parameters
    if other := [f"{name}={value}" for name, value in wanted.items() if there.get(name) != value]:
        raise InputError(
            f"the local stack was not started with {join_words(other)}, and keeps the parameters that it has: run "
            "`lakegate local down` first, or add --reset; both throw away what lies in it"
        )


PARAMETER = re.compile(r"([A-Za-z0-9]{1,255})=([^'\"\\\r\n]{0,4096})")


def named_value(written: str) -> tuple[str, str]:
    """A parameter of the template as `--parameter` has it. Raises InputError."""
    match = PARAMETER.fullmatch(written)
    if match is None:
        raise InputError(f"--parameter takes NAME=VALUE without quotes and backslashes, not {quote(written)}")
    return match[1], match[2]


@contextmanager
def interruptible() -> Iterator[None]:
    """Whatever interrupts what is inside, Ctrl-C, SIGTERM or a closed terminal, leaves nothing of the stack running."""
    signals = (signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(each, signal.default_int_handler) for each in signals]
    try:
        yield
    except KeyboardInterrupt:
        terminal.standard_error().print("interrupted: stopping the local stack")
        Stack().down()
        raise
    finally:
        for each, handler in zip(signals, before, strict=True):
            signal.signal(each, handler)


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """A spinner on a terminal, lines elsewhere; on standard error."""
    console = terminal.standard_error()
    if not console.is_terminal:
        yield console.print
        return
    with console.status("") as spinner:
        yield spinner.update


def _in_words(state: LocalState) -> list[str]:
    return [
        f"The stack {state.stack} is up: AWS at {state.endpoint}, EMR Serverless at {state.emr_endpoint}.",
        f"  the HTTP API: {state.api} (docs/api.md)",
        "  every command takes --local, or LAKEGATE_LOCAL=1: lakegate status --local",
        "  for other tools:",
        *(f"    export {name}={value}" for name, value in state.environment().items()),
        "  stop it: lakegate local down",
    ]
