"""`lakegate pause` and `lakegate resume`: keep the deliveries of one line in landing, and judge them later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lakegate.aws.open_stack import DEFAULT_STACK, opened
from lakegate.cli import terminal
from lakegate.cli.command_runner import AsJson, Line, Local, StackName
from lakegate.gate.datasets import pauses
from lakegate.gate.datasets.dataset_names import line_named
from lakegate.gate.effects import run
from lakegate.stack import in_utc
from lakegate.text import counted
from lakegate.text import printable as escaped

if TYPE_CHECKING:
    from lakegate.gate.table import Pause


def pause(
    dataset: Line,
    *,
    reason: Annotated[str, typer.Option(help="Why: `lakegate status` and `lakegate doctor` show it.")] = "",
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Keep what is delivered to one line in landing, unjudged, until `lakegate resume`. It is idempotent.

    Deliveries that are being judged finish. `lakegate stack pause` is for the whole stack, before an update.

    Example: lakegate pause orders --reason "the new version is published on Monday"
    """
    with opened(stack, local=local) as there:
        dependencies = there.dependencies()
        line = line_named(dependencies, dataset)
        found = run(pauses.pause(dependencies, line, reason), dependencies.clock)
    if as_json:
        terminal.print_json(_as_document(line, found))
    else:
        _print(f"{line} is paused since {in_utc(found.since)}; {_held(found)}. lakegate resume {line}")


def resume(
    dataset: Line,
    *,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Judge what a paused line holds, in order of arrival: the next sweep begins, within five minutes. It is idempotent.

    Example: lakegate resume orders
    """
    with opened(stack, local=local) as there:
        dependencies = there.dependencies()
        line = line_named(dependencies, dataset)
        found = run(pauses.resume(dependencies, line), dependencies.clock)
    if as_json:
        terminal.print_json(_as_document(line, found))
    elif found is None:
        _print(f"{line} is not paused.")
    else:
        _print(f"{line} is resumed; {_held(found)}. The next sweep judges them in order of arrival.")


def _held(found: Pause) -> str:
    return counted(found.held, "delivery is held", "deliveries are held")


def _as_document(line: str, found: Pause | None) -> dict[str, object]:
    return {
        "line": line,
        "paused": found is not None and found.resumed is None,
        "held": found.held if found else 0,
        "since": found.since.isoformat() if found else None,
        "by": found.by if found else None,
        "reason": found.reason or None if found else None,
        "resumed": found.resumed.isoformat() if found and found.resumed else None,
    }


def _print(text: str) -> None:
    terminal.answers().print(escaped(text), markup=False, soft_wrap=True)
