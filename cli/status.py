"""`lakegate status`: what has become of uploads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cli import terminal
from cli.account import STANDING, Account, account, as_document
from cli.aws import opened
from cli.options import DEFAULT_STACK, AsJson, Local, StackName
from cli.report import WORDS
from cli.seen import seen
from functions.usecases.deliveries import named, recent

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.table import Table

SHORT_ID = 12
SHORT = ("workload", "rows", "seconds")
LATEST = 200
"""Deliveries among which the beginning of an id, or a key, is looked for."""
COLOURS = {verdict.value: style for verdict, style in WORDS.items()}


def status(
    workload: Annotated[
        str | None,
        typer.Argument(help="A workload's id, the beginning of one, or a landing key.", show_default=False),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many of the latest deliveries.")] = 20,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """List the latest deliveries, or tell everything about one: verdict, checks, rows, where the data is now.

    Example: lakegate status --limit 5
    """
    with opened(stack, local=local) as there:
        gate = there.gate()
        if workload is None:
            accounts = [account(gate, each) for each in recent(gate, limit)]
        else:
            accounts = [account(gate, named(gate, workload, LATEST))]
    if as_json:
        documents = [as_document(each) for each in accounts]
        terminal.print_json({"deliveries": documents} if workload is None else documents[0])
    elif workload is None:
        terminal.wide().print(table(accounts) if accounts else "Nothing has landed yet.")
    else:
        tell(accounts[0])


def tell(one: Account) -> None:
    """One delivery, line by line."""
    console = terminal.answers()
    for name, value in _lines(one):
        console.print(f"{name:>10}  ", style="bold", end="")
        console.print(seen(value), markup=False, soft_wrap=True)


def table(accounts: Iterable[Account]) -> Table:
    """Deliveries, one a row, the newest first."""
    from rich.table import Table  # noqa: PLC0415 - start-up is paid by every command
    from rich.text import Text  # noqa: PLC0415 - likewise

    grid = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("workload", "file", "contract", "verdict", "checks", "rows", "seconds", "where the data is now"):
        justify = "right" if name in {"rows", "seconds"} else "left"
        grid.add_column(name, justify=justify, overflow="fold", no_wrap=name in SHORT)  # type: ignore[arg-type]  # rich's own literal
    for each in accounts:
        colour, words = _verdict(each)
        cells = [Text(seen(cell)) for cell in _cells(each)]
        grid.add_row(*cells[:3], Text(words, style=colour), *cells[3:])
    return grid


def _cells(each: Account) -> tuple[str, ...]:
    rows = "" if each.rows is None else f"{each.rows:,}"
    seconds = "" if each.seconds is None else f"{each.seconds:.1f}"
    return each.delivery.id[:SHORT_ID], each.delivery.key, _contract(each), _counts(each), rows, seconds, _place(each)


def _verdict(each: Account) -> tuple[str, str]:
    return COLOURS.get(each.verdict or "", ("", STANDING[each.state].partition(":")[0]))


def _contract(each: Account) -> str:
    return f"{each.pin.chain.rpartition('/')[2]} {each.pin.version}" if each.pin and each.pin.contract else "none"


def _counts(each: Account) -> str:
    names = {"pass": "passed", "warn": "warned", "fail": "failed", "error": "in error"}
    counts = each.counts or {}
    return ", ".join(f"{counts[key]} {name}" for key, name in names.items() if counts.get(key))


def _place(each: Account) -> str:
    """The folder, short: bucket and a long contract id stand elsewhere, what follows is the day and the workload's id."""
    if not each.where or each.where[0].startswith(f"s3://{each.landing}/"):
        return "landing" if each.where else "nowhere"
    folder = each.where[0].split("/", 3)[3].partition("ingest_date=")[0]
    contract = each.pin.contract if each.pin else ""
    return folder.replace(contract, contract[:SHORT_ID] + "…", 1) if len(contract) > SHORT_ID else folder


def _lines(one: Account) -> Iterable[tuple[str, str]]:
    delivery, row = one.delivery, one.delivery.row
    yield "workload", delivery.id
    yield "file", f"{delivery.key} ({delivery.size:,} bytes)"
    yield "contract", f"{one.pin.chain} {one.pin.version}" if one.pin and one.pin.contract else "none"
    yield "state", STANDING[one.state]
    yield "verdict", COLOURS.get(one.verdict or "", ("", "none yet"))[1]
    yield from (("reason", reason) for reason in one.reasons)
    if one.trouble:
        yield "trouble", f"{one.trouble} (docs/operator.md)"
    if one.counts is not None:
        yield "checks", _counts(one)
        yield "rows", f"{one.rows:,}"
    if row is not None and row.run:
        yield "job run", f"{row.run}, attempt {row.attempt} of {row.limit}"
    yield from (("data", place) for place in one.where)
    if one.seconds is not None:
        yield "seconds", f"{one.seconds:.1f} from being taken in to rest"
    if row is not None and row.replay_of:
        yield "replays", row.replay_of
