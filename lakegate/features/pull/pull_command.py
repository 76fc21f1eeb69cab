"""`lakegate pull`: what the contracts of a stack pull, how that went, and pull a line now."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from lakegate.aws.open_stack import DEFAULT_STACK, opened
from lakegate.cli import terminal
from lakegate.cli.command_runner import refuse_options
from lakegate.cli.options import ApiUrl, AsJson, Line, Local, StackName
from lakegate.features.pull.pull_task import pulls_of, run_now
from lakegate.gate.datasets.dataset_names import line_named, lines_fitting
from lakegate.gate.effects import run
from lakegate.stack import in_utc, known_form, remote_stack
from lakegate.text import counted
from lakegate.text import printable as escaped
from lakegate.timestamps import instant_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from lakegate.features.pull.pull_task import PullingLine
    from lakegate.gate.dependencies import Dependencies
    from lakegate.stack import LineSection

app = typer.Typer(no_args_is_help=True, help="Data that is fetched by a schedule.", pretty_exceptions_enable=False)


@app.callback()
def pull() -> None:
    """Data that the stack fetches by the schedule of a contract (docs/pull.md)."""


@app.command("list")
def list_pulls(
    contract: Annotated[
        str | None, typer.Option(help="Only those of a contract, a dataset or a line: shop, orders, shop/orders_v1.")
    ] = None,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """List the lines that are pulled: when next, from where, and how the latest pulls ended.

    Example: lakegate pull list
    """
    with opened(stack, local=local) as there:
        dependencies = there.dependencies()
        found = pulls_of(dependencies, lines_fitting(dependencies, contract) if contract is not None else None)
    if as_json:
        terminal.print_json({"pulls": [as_document(each) for each in found]})
    elif found:
        _print(text for each in found for text in _lines(each))
    else:
        _print(["Nothing is pulled: no published contract has `pull`, or the first tick after it did not run yet."])


@app.command("run")
def run_line(
    dataset: Line,
    *,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    api: ApiUrl = None,
    as_json: AsJson = False,
) -> None:
    """Pull a line at the next tick, within five minutes, whatever its schedule is. An unchanged source is not fetched again.

    With --api it takes the whole name of a line (shop/orders_v1), or a contract's id for all its lines.

    Example: lakegate pull run orders
    """
    if api:
        refuse_options(local=local)
        _print_remote(remote_stack(api).pull(dataset), as_json=as_json)
        return
    with opened(stack, local=local) as there:
        dependencies = there.dependencies()
        found = run(run_now(dependencies, line_named(dependencies, dataset)), dependencies.clock)
    if as_json:
        terminal.print_json(as_document(found))
    else:
        when = "is being pulled" if found.leased else "is pulled at the next tick, within five minutes"
        _print([f"{found.line} {when}. lakegate pull list"])


PULLS: Final = {
    "Due": "is pulled at the next tick, within five minutes",
    "Fetching": "is being pulled",
    "Unscheduled": "is not scheduled yet: it was published within five minutes, or the stack does not pull",
}


@known_form()
def _print_remote(found: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        terminal.print_json(found)
    else:
        _print([f"{each['line']} {PULLS[each['status']]}" for each in found["pulls"]])


def _lines(row: PullingLine) -> Iterator[str]:
    yield f"{row.line} {row.version}: {row.source}"
    yield f"  {row.schedule}: {_state(row)}"
    if row.ends:
        yield f"  last {_latest(row)}"


def status_of_lines(dependencies: Dependencies, lines: Iterable[str]) -> Iterator[LineSection]:
    """How the latest pull of each line ended, for `lakegate status`."""
    for each in pulls_of(dependencies, lines):
        yield "pull", as_document(each), in_words(each)


def in_words(row: PullingLine) -> str:
    """The state of a pull, in one line without its source."""
    return f"{_latest(row)}; {_state(row)}" if row.ends else _state(row)


def _state(row: PullingLine) -> str:
    state = f"is being fetched since {_time(row.fetch.began)}" if row.fetch else f"next at {_time(row.next)}"
    return f"{state}, after {counted(row.failures, 'failed attempt')}" if row.failures else state


def _latest(row: PullingLine) -> str:
    end = row.ends[0]
    what = f"{end.key}, {counted(end.size, 'byte')}" if end.key else end.reason
    return f"{_time(end.at)}: {end.outcome.value}{f' ({what})' if what else ''}"


def _time(at: str) -> str:
    return in_utc(instant_of(at))


def as_document(row: PullingLine) -> dict[str, object]:
    """The pull of a line for machines."""
    return {
        "line": row.line,
        "contract_version": row.version,
        "source": row.source,
        "schedule": row.schedule,
        "next": row.next,
        "failures": row.failures,
        "fetching": {"key": row.fetch.key, "since": row.fetch.began, "size": row.fetch.size} if row.fetch else None,
        "ends": [
            {**asdict(each), "outcome": each.outcome.value, "key": each.key or None, "reason": each.reason or None}
            for each in row.ends
        ],
    }


def _print(lines: Iterator[str] | list[str]) -> None:
    for text in lines:
        terminal.answers().print(escaped(text), markup=False, soft_wrap=True)
