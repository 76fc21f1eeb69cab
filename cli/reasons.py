"""`lakegate reasons`: which rule, which field, which rows."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads the annotation
from typing import TYPE_CHECKING, Annotated

import typer

from lakegate.cli import failures, terminal
from lakegate.cli.account import account, as_document, standing
from lakegate.cli.aws import opened
from lakegate.cli.documents import checks
from lakegate.cli.escape import escaped
from lakegate.cli.judgement_text import SHOWN, show
from lakegate.cli.options import DEFAULT_STACK, AsJson, Delivery, Local, StackName
from lakegate.cli.outputs import usable, write_text
from lakegate.cli.status import LATEST, print_account
from lakegate.contracts.errors import InputError
from lakegate.functions.usecases.deliveries import named
from lakegate.functions.usecases.delivery_report import page_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.cli.account import Account

MAX_ROWS = 20
"""What a result holds of each check."""
EXPORT = (
    "Write the failing rows that the result holds (20 of each check) into a file, .csv or .json; values are masked."
)
REPORT = "Write an HTML report into a file, to pass on; with the latest deliveries of the line."


def reasons(  # noqa: PLR0913 - a command has these options
    workload: Delivery,
    *,
    rows: Annotated[int, typer.Option(min=0, max=MAX_ROWS, help="Failing rows of each reason.")] = SHOWN,
    export: Annotated[Path | None, typer.Option(help=EXPORT, show_default=False)] = None,
    page: Annotated[Path | None, typer.Option("--report", help=REPORT, show_default=False)] = None,
    show_all: Annotated[bool, typer.Option("--all", help="Show every passed check on a line of its own.")] = False,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Say why a delivery was judged as it was: rule, field, what was wanted, what was measured, rows (masked).

    Example: lakegate reasons weather/southeast_2024.csv
    """
    for option, path, suffixes in (("--export", export, failures.SUFFIXES), ("--report", page, (".html",))):
        if path is not None:
            usable(option, path, suffixes, ())
    with opened(stack, local=local) as there:
        dependencies = there.dependencies()
        one = account(dependencies, named(dependencies, workload, LATEST))
        html = page_of(dependencies, one.delivery) if page is not None and one.is_decided else None
    written = tuple(_written(one, export, page, html))
    if as_json:
        terminal.print_json(_as_document(one))
    elif one.measured is None:
        print_account(one)
        for each in written:
            terminal.answers().print(escaped(each), markup=False, soft_wrap=True)
    else:
        console = terminal.answers()
        console.print(escaped(f"{one.delivery.key} (workload {one.delivery.id})"), markup=False, soft_wrap=True)
        show(console, one.measured, show_all=show_all, advice=written, rows=rows)
        for code in one.codes:
            console.print(escaped(code), markup=False, soft_wrap=True)
        for place in one.where:
            console.print(escaped(f"The data is at {place}"), markup=False, soft_wrap=True)


def _written(one: Account, export: Path | None, page: Path | None, html: str | None) -> Iterator[str]:
    """Write the files that options name; yields what was written, in words."""
    standing_now = f"so there is nothing to write: {standing(one.delivery.row)}"
    if export is not None:
        if one.measured is None:
            raise InputError(f"nothing was measured of {one.delivery.key}, {standing_now}")
        yield failures.write("--export", export, [one.measured])
    if page is not None:
        if html is None:
            raise InputError(f"nothing was decided on {one.delivery.key}, {standing_now}")
        write_text("--report", page, html)
        yield f"{page}: report written"


def _as_document(one: Account) -> dict[str, object]:
    """All that `status` shows, and every check as `check --json` has it."""
    measured = one.measured
    return as_document(one) | {
        "checks": checks(measured) if measured else [],
        "timings": measured.result.timings if measured else {},
    }
