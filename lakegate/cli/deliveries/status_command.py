"""lakegate status, reasons."""

from __future__ import annotations

import re
from datetime import datetime
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from lakegate.aws.open_stack import DEFAULT_STACK, opened
from lakegate.cli import terminal
from lakegate.cli.command_runner import refuse_options, usable, write_text
from lakegate.cli.options import ApiUrl, AsJson, Delivery, Local, OptionalDelivery, StackName
from lakegate.errors import InputError
from lakegate.extension_points import loaded, names
from lakegate.gate.datasets.dataset_names import lines_fitting
from lakegate.gate.delivery.clean_up import page_of
from lakegate.gate.delivery.delivery_row import CAUSE_TEXTS
from lakegate.gate.delivery.find_deliveries import EVERY, NO_VERDICT, Wanted, named, recent
from lakegate.gate.delivery.protocol import PASSIVE_STATES, State
from lakegate.local_check.check_result import checks
from lakegate.report import failing_rows_file
from lakegate.report.verdict_text import SHOWN, WORDS, show
from lakegate.stack import (
    LATEST,
    SHORT_ID,
    STANDING,
    Account,
    account,
    as_document,
    in_batch,
    in_utc,
    known_form,
    remote_stack,
    standing,
)
from lakegate.text import counted
from lakegate.text import printable as escaped
from lakegate.verdict.reasons import in_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from lakegate.gate.delivery.delivery_row import Workload
    from lakegate.gate.dependencies import Dependencies
    from lakegate.stack import LineSection, LineSections

# ---- `lakegate status`: what has become of uploads -----------------------------------------------------------------


ANNOUNCEMENT = re.compile(r"(?<![^/])([0-9a-f]{12})[0-9a-f]{52}/")
"""The folder that an announced delivery has in landing: 64 digits, of which the table shows 12."""
STATUS_SECTIONS = "status sections"
"""Extension point: see `LineSections`."""
COLUMNS = (
    "workload",
    "file",
    "time (UTC)",
    "contract",
    "verdict",
    "checks",
    "rows",
    "rejected",
    "seconds",
    "where the data is now",
)

NUMBERS = ("rows", "rejected", "seconds")
SHORT = ("workload", *NUMBERS)
COLOURS = {verdict.value: style for verdict, style in WORDS.items()}


class Decided(StrEnum):
    """What `--verdict` takes."""

    ACCEPTED = "accepted"
    ACCEPTED_WITH_WARNINGS = "accepted_with_warnings"
    REJECTED = "rejected"
    NONE = NO_VERDICT


def status(  # noqa: PLR0913 - a command has these options
    workload: OptionalDelivery = None,
    *,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many of the latest deliveries.")] = 20,
    verdict: Annotated[
        list[Decided] | None,
        typer.Option(help="Only those with this verdict, or with none yet; repeatable."),
    ] = None,
    contract: Annotated[
        str | None, typer.Option(help="Only those of a contract, a dataset or a line: shop, orders, shop/orders_v1.")
    ] = None,
    day: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], help="Only those whose time is of this day (UTC).")
    ] = None,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    api: ApiUrl = None,
    as_json: AsJson = False,
) -> None:
    """List the latest deliveries, or show everything about one: verdict, checks, rows, where the data is now.

    The time is that of the latest step: finished, else taken in, else landed. --contract also shows how the latest pull of each
    line ended (docs/pull.md), and what rules with a schedule found (docs/revalidation.md). With --api one delivery is shown by
    its whole id; --contract names its contract for callers whose rights are limited to that.

    Example: lakegate status --limit 5 --verdict rejected --day 2026-11-21
    """
    if api:
        refuse_options(local=local, verdict=verdict, day=day)
        if workload is None:
            raise InputError("the HTTP API has no list of deliveries: name the workload by its id")
        print_remote(remote_stack(api).workload(workload, contract), as_json=as_json)
        return
    if workload is not None and (verdict or contract or day):
        raise InputError("--verdict, --contract and --day choose from the list: leave out the workload, or them")
    with opened(stack, local=local) as there:
        dependencies = there.dependencies()
        if workload is None:
            lines = lines_fitting(dependencies, contract) if contract is not None else frozenset[str]()
            wanted = Wanted(frozenset(each.value for each in verdict or ()), lines, day.date() if day else None)
            accounts = [account(dependencies, each) for each in recent(dependencies, limit, wanted)]
            sections = sections_of(STATUS_SECTIONS, dependencies, lines)
        else:
            wanted, accounts = EVERY, [account(dependencies, named(dependencies, workload, LATEST))]
            sections = {}
    if as_json:
        documents = [as_document(each) for each in accounts]
        of_lines = {key: [document for _, document, _ in section] for key, section in sections.items()}
        more = of_lines if contract is not None else {}
        terminal.print_json({"deliveries": documents, **more} if workload is None else documents[0])
    elif workload is None:
        nothing = "Nothing has landed yet." if wanted == EVERY else "No delivery is like that."
        terminal.wide().print(table(accounts) if accounts else nothing)
        for about, document, words in chain.from_iterable(sections.values()):
            text = escaped(f"{about} of {document['line']}: {words}")
            terminal.answers().print(text, markup=False, soft_wrap=True)
    else:
        print_account(accounts[0])


def sections_of(point: str, dependencies: Dependencies, lines: Iterable[str]) -> dict[str, list[LineSection]]:
    """What features tell of lines, by its key in the document."""
    asked: Iterator[tuple[str, LineSections]] = ((key, loaded(point, key)) for key in names(point))
    return {key: list(section(dependencies, lines)) for key, section in asked}


@known_form()
def print_remote(found: Mapping[str, Any], *, as_json: bool) -> None:
    """A workload of the HTTP API."""
    if as_json:
        terminal.print_json(found)
        return
    for text in _of_workload(found):
        terminal.answers().print(escaped(text), markup=False, soft_wrap=True)


def _of_workload(found: Mapping[str, Any]) -> Iterator[str]:
    info = found["result"]["info"]
    contract = f"{found['dataContractId']} {found['dataContractVersion']}" if found["dataContractId"] else "none"
    rows = [
        ("workload", found["workloadId"]),
        ("contract", contract),
        ("state", found["status"]),
        ("verdict", found["verdict"] or "none yet"),
        *(("reason", each) for each in (info["errors"] if info else ())),
    ]
    yield from (f"{name:>10}  {value}" for name, value in rows)


def print_account(one: Account) -> None:
    """One delivery, line by line."""
    console = terminal.answers()
    for name, value in _lines(one):
        console.print(f"{name:>10}  ", style="bold", end="")
        console.print(escaped(value), markup=False, soft_wrap=True)


def table(accounts: Iterable[Account]) -> Table:
    """Deliveries, one a row, the newest first."""
    grid = Table(box=None, header_style="bold", pad_edge=False)
    for name in COLUMNS:
        justify = "right" if name in NUMBERS else "left"
        grid.add_column(name, justify=justify, overflow="fold", no_wrap=name in SHORT)  # type: ignore[arg-type]  # rich's own literal
    for each in accounts:
        colour, words = _verdict(each)
        cells = [Text(escaped(cell)) for cell in _cells(each)]
        grid.add_row(*cells[:4], Text(escaped(words), style=colour), *cells[4:])
    return grid


def _cells(each: Account) -> tuple[str, ...]:
    counted = each.counted
    checks = counted.checks_in_words if counted else ""
    rows, rejected = (f"{counted.rows:,}", f"{counted.rejected_rows:,}") if counted else ("", "")
    seconds = "" if each.seconds is None else f"{each.seconds:.1f}"
    key = ANNOUNCEMENT.sub(r"\1…/", each.delivery.key)
    named_so = each.delivery.id[:SHORT_ID], key, in_utc(each.delivery.at).removesuffix(" UTC")
    return *named_so, _contract(each), checks, rows, rejected, seconds, _place(each)


def _verdict(each: Account) -> tuple[str, str]:
    row = each.delivery.row
    words = (row and in_batch(row)) or STANDING[each.state].partition(":")[0]
    if row is not None and row.failed:
        is_over = row.state is State.FAILED
        words += f": {CAUSE_TEXTS[row.failed[-1].cause]}" if is_over else f", attempt {row.attempt} of {row.limit}"
    return COLOURS.get(each.verdict or "", ("", words))


def _contract(each: Account) -> str:
    return f"{each.pin.chain.rpartition('/')[2]} {each.pin.version}" if each.pin and each.pin.contract else "none"


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
    yield "file", f"{delivery.key} ({counted(delivery.size, 'byte')})"
    chosen = ", chosen for this replay" if row and row.chosen and not row.waiver else ""
    yield "contract", f"{one.pin.chain} {one.pin.version}{chosen}" if one.pin and one.pin.contract else "none"
    yield "state", standing(row) if row else STANDING[one.state]
    yield "verdict", COLOURS.get(one.verdict or "", ("", "none yet"))[1]
    yield from _person(row)
    yield from (("reason", reason) for reason in one.reasons)
    if one.problem:
        yield "problem", f"{one.problem} (docs/operator.md)"
    if one.counted is not None:
        yield "checks", one.counted.checks_in_words
        yield "rows", one.counted.rows_in_words
    yield from _attempts(row)
    yield from (("data", place) for place in one.where)
    if one.report is not None:
        yield "report", one.report
    if one.seconds is not None:
        yield "seconds", f"{one.seconds:.1f} from intake to completion"
    yield "time", in_utc(delivery.at) or "not known"
    if row is not None and row.replay_of:
        yield "waives" if row.waiver else "replays", row.replay_of
    if one.expired:
        yield "expired", "the waiver by which it was accepted is over"
    if one.replay is not None:
        yield "waived" if one.replay.waiver else "replayed", f"by {one.replay.id}: {standing(one.replay)}"


def _person(row: Workload | None) -> Iterable[tuple[str, str]]:
    """What a person is asked about, or has answered."""
    if row is not None and row.state in PASSIVE_STATES and row.candidate:
        yield "judged", COLOURS[row.candidate.verdict][1]
        yield from (("reason", in_words(reason)) for reason in row.candidate.reasons)
    if row is not None and row.answer is not None:
        yield "approved" if row.answer.approved else "declined", f"by {row.answer.actor} at {row.answer.at}"


def _attempts(row: Workload | None) -> Iterable[tuple[str, str]]:
    for each in row.failed if row else ():
        run = f" (job run {each.run})" if each.run else ""
        yield "attempt", f"{each.number} failed at {in_utc(each.at)}: {CAUSE_TEXTS[each.cause]}{run}"
    if row is not None and row.batch:
        yield "batch", row.batch
    if row is not None and row.run:
        yield "job run", f"{row.run}, attempt {row.attempt} of {row.limit}"


# ---- `lakegate reasons`: which rule, which field, which rows -------------------------------------------------------


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
    for option, path, suffixes in (("--export", export, failing_rows_file.SUFFIXES), ("--report", page, (".html",))):
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
        yield failing_rows_file.write("--export", export, [one.measured])
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
