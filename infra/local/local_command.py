"""`lakegate local`: the whole stack on this machine, and nothing of it anywhere else."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from infra.local.local_stack import Stack, StackOptions
from lakegate.cli import terminal
from lakegate.cli.options import AsJson  # noqa: TC001 - typer reads the annotation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lakegate.aws.open_stack import LocalState

DOWN = 1
DEAD = {
    "emr": "EMR Serverless has died, its log is {log}: `lakegate local up` starts it again, and keeps everything.",
    "aws": "The embedded AWS has died, its log is {log}: all that it held is lost; `lakegate local up --reset` starts another.",
}
app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="The embedded AWS with template.yaml deployed on it, on this machine.",
)


@app.command("up")
def up(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Of the embedded AWS; 0 takes a free one.")] = 0,
    spark: Annotated[
        str, typer.Option(help="`resident`: one warm Spark; `submit`: a spark-submit per run.")
    ] = "resident",
    small_file_bytes: Annotated[
        int, typer.Option(min=0, help="Deliveries below this size are judged in a Lambda function first.")
    ] = 0,
    reset: Annotated[
        bool, typer.Option("--reset", help="Throw away what runs and all that lies in it, and start from nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Start the embedded AWS and the local EMR Serverless, and deploy template.yaml on them; nothing where they run.

    Example: lakegate local up

    Where EMR Serverless alone has died, it is started again, and everything else stays as it is. Nothing is thrown away without
    --reset.

    Exit code: 0 it is up, 2 it cannot be, and nothing was left running.
    """
    with interruptible(), progress() as report:
        state = Stack().up(
            StackOptions(port, spark, parameters={"SmallFileBytes": str(small_file_bytes)}), report, reset=reset
        )
    if as_json:
        terminal.print_json(asdict(state))
    else:
        _print(state)


@app.command("down")
def down() -> None:
    """Stop everything that `up` started, and remove what it wrote.

    Example: lakegate local down
    """
    ran = Stack().down()
    terminal.answers().print("The local stack is down." if ran else "The local stack was not up.")


@app.command("status")
def status(as_json: AsJson = False) -> None:
    """Say whether the local stack is up, and where.

    Example: lakegate local status

    Exit code: 0 it is up, 1 it is not, or a part of it has died.
    """
    stack = Stack()
    state, dead = stack.found(), stack.dead()
    if as_json:
        terminal.print_json({"up": state is not None, "dead": list(dead), **(asdict(state) if state else {})})
    elif state is not None:
        _print(state)
    elif dead:
        for each in dead:
            terminal.answers().print(DEAD[each].format(log=stack.folder / f"{each}.log"), markup=False, soft_wrap=True)
    else:
        terminal.answers().print("The local stack is not up: `lakegate local up` starts it.")
    raise typer.Exit(0 if state else DOWN)


@contextmanager
def interruptible() -> Iterator[None]:
    """Whatever interrupts what is inside, Ctrl-C, SIGTERM or a closed terminal, leaves nothing of the stack running."""
    signals = (signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(each, signal.default_int_handler) for each in signals]
    try:
        yield
    except KeyboardInterrupt:
        terminal.errors().print("interrupted: stopping the local stack")
        Stack().down()
        raise
    finally:
        for each, handler in zip(signals, before, strict=True):
            signal.signal(each, handler)


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """A spinner on a terminal, lines elsewhere; on standard error."""
    console = terminal.errors()
    if not console.is_terminal:
        yield console.print
        return
    with console.status("") as spinner:
        yield spinner.update


def _print(state: LocalState) -> None:
    console = terminal.answers()
    console.print(f"The stack {state.stack} is up: AWS at {state.endpoint}, EMR Serverless at {state.emr_endpoint}.")
    console.print(f"  the HTTP API: {state.api} (docs/api.md)", markup=False, soft_wrap=True)
    console.print("  every command takes --local, or LAKEGATE_LOCAL=1: lakegate status --local", markup=False)
    console.print("  for other tools:", markup=False)
    for name, value in state.environment().items():
        console.print(f"    export {name}={value}", markup=False, soft_wrap=True)
    console.print("  stop it: lakegate local down", markup=False)
