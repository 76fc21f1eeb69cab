"""lakegate status, reasons."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from lakegate.admission.refusals import code_of
from lakegate.base.errors import InputError
from lakegate.base.text import plural
from lakegate.cli import terminal
from lakegate.cli.click_commands import Option
from lakegate.cli.command_runner import (
    BESIDE,
    CommandResult,
    facade_command,
    gate_command,
    interruptible_folder,
    name_rows_file,
    next_command,
    usable,
    write_text,
)
from lakegate.cli.options import DatasetFilter, Delivery, OptionalDelivery
from lakegate.cli.terminal import Grid, Word
from lakegate.contract.contract_model import parts_of
from lakegate.gate.delivery.clean_up import page_of
from lakegate.gate.delivery.delivery_row import CAUSE_TEXTS, TERMINAL, WaitsFor
from lakegate.gate.delivery.find_deliveries import NO_VERDICT, find_delivery
from lakegate.gate.delivery.find_deliveries import Delivery as FoundDelivery
from lakegate.gate.delivery.protocol import State
from lakegate.gate.dependencies import Dependencies
from lakegate.library.delivery_reasons import DeliveryReasons, reasons_of
from lakegate.library.described_deliveries import (
    LATEST,
    SHORT_ID,
    STANDING,
    DeliveryStatus,
    OtherDelivery,
    in_batch,
    in_utc,
    one_delivery,
)
from lakegate.report.verdict_text import SHOWN_ROWS, WORDS, show
from lakegate.verdict.reasons import in_words, is_of_gate
from lakegate.verdict.verdict import Counts

if TYPE_CHECKING:
    from lakegate.library.stack import StackFacade
    from lakegate.report.delivery_report import Report

# ---- `lakegate status` ----


ANNOUNCEMENT = re.compile(r"(?<![^/])([0-9a-f]{12})[0-9a-f]{52}/")
"""The folder that an announced delivery has in landing: 64 digits, of which the table shows 12."""
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
CANCELS: Final = "lakegate cancel {own} --reason REASON rejects this one"
WAITS: Final[Mapping[WaitsFor, str]] = {
    WaitsFor.PARTS: "for its other objects, from its producer",
    WaitsFor.DATASET: f"for its dataset {{whom}}, which is paused: lakegate resume {{whom}}, or {CANCELS}",
    WaitsFor.COMMIT: f"for the delivery {{whom:.{SHORT_ID}}}, which is being committed: {CANCELS}",
    WaitsFor.BATCH: f"for other files of its batch, until {{until}} at the latest: {CANCELS}",
    WaitsFor.START: f"for its start at {{until}}, because job runs start one after the other: {CANCELS}",
    WaitsFor.BACK_OFF: f"for its next attempt at {{until}}: {CANCELS}",
    WaitsFor.RUN: f"for its run {{whom}}, until {{until}} at the latest: {CANCELS}",
    WaitsFor.VALIDATORS: f"for its validators, until {{until}} at the latest: {CANCELS}",
    WaitsFor.APPROVAL: "for approval until {until}: lakegate approve {own}, or lakegate decline {own}",
    WaitsFor.DATE: "to be published at {until}, unless: lakegate decline {own}",
    WaitsFor.STATE: "in {whom} until {until}, unless: lakegate decline {own}",
    WaitsFor.WORKER: "for the worker that has it; from {until} on another one carries it on",
}
"""What a delivery waits for, in words, and what a person may do about it."""
COLOURS = {verdict.value: style for verdict, style in WORDS.items()}


class Decided(StrEnum):
    """Values of `--verdict`."""

    ACCEPTED = "accepted"
    ACCEPTED_WITH_WARNINGS = "accepted_with_warnings"
    REJECTED = "rejected"
    NONE = NO_VERDICT


@dataclass(frozen=True, slots=True)
class DeliveryList:
    """The latest deliveries, the newest first."""

    deliveries: tuple[DeliveryStatus, ...]
    sections: dict[str, Any] = field(metadata=BESIDE)
    """Sections of features about the datasets of `--contract`."""


@facade_command
def status(  # noqa: PLR0913 - a command has these options
    there: StackFacade,
    workload: OptionalDelivery = None,
    *,
    limit: Annotated[int, Option(min=1, max=1000, help="How many of the latest deliveries.")] = 20,
    verdict: Annotated[
        list[Decided] | None,
        Option(help="Only those with this verdict, or with none yet; repeatable."),
    ] = None,
    contract: DatasetFilter = None,
    day: Annotated[
        datetime | None, Option(formats=["%Y-%m-%d"], help="Only those whose time is of this day (UTC).")
    ] = None,
) -> CommandResult[DeliveryStatus | DeliveryList]:
    """List the latest deliveries, or show everything about one: verdict, checks, rows, where the data is now.

    The time is that of the latest step: finished, else taken in, else landed. --contract also shows how the latest pull of each
    dataset ended (docs/pull.md), and what rules with a schedule found (docs/revalidation.md). With --api the list is that of
    --contract, those that are not finished first, and one delivery is shown by its whole id; there --contract names its contract
    for callers whose rights are limited to that.

    Example: lakegate status --limit 5 --verdict rejected --day 2026-11-21
    """
    there.refuse(verdict=verdict, day=day)
    if workload is not None:
        if verdict or day:
            raise InputError("--verdict, --contract and --day choose from the list: leave out the workload, or them")
        one = there.delivery(workload, contract)
        return CommandResult(one, delivery_in_words(one))
    verdicts = frozenset(each.value for each in verdict or ())
    listed, sections = there.deliveries(limit, verdicts, contract, day.date() if day else None)
    of_lines = {key: [document for _, document, _ in section] for key, section in sections.items()}
    found = DeliveryList(listed, of_lines if contract is not None else {})
    nothing = "No delivery is like that." if verdict or contract or day else "Nothing has landed yet."
    words: list[Word] = [table(listed) if listed else nothing]
    words += [f"{about} of {line['line']}: {text}" for about, line, text in chain.from_iterable(sections.values())]
    return CommandResult(found, words)


def delivery_in_words(one: DeliveryStatus) -> Iterator[tuple[tuple[str, str], ...]]:
    """One delivery, line by line."""
    return (((f"{name:>10}  ", "bold"), (value, "")) for name, value in _lines(one))


def table(listed: Iterable[DeliveryStatus]) -> Grid:
    """Deliveries, one a row."""

    def row(each: DeliveryStatus) -> Iterator[str | tuple[str, str]]:
        colour, words = _verdict(each)
        cells = _cells(each)
        return chain(cells[:4], [(words, colour)], cells[4:])

    return Grid(COLUMNS, map(row, listed), NUMBERS, SHORT)


def _cells(each: DeliveryStatus) -> tuple[str, ...]:
    known, of = _counts(each), each.contract
    checks, rows, rejected = (
        (known.checks_in_words, f"{known.rows:,}", f"{known.rejected_rows:,}") if known else ("", "", "")
    )
    seconds = "" if each.seconds is None else f"{each.seconds:.1f}"
    key = ANNOUNCEMENT.sub(r"\1…/", each.key)
    contract = f"{of.dataset.rpartition('/')[2]} {of.version}" if of else "none"
    named_so = each.workload[:SHORT_ID], key, _utc(each.at).removesuffix(" UTC")
    return *named_so, contract, checks, rows, rejected, seconds, _place(each)


def _counts(each: DeliveryStatus) -> Counts | None:
    if each.counts is None:
        return None
    return Counts(each.rows or 0, each.published_rows or 0, each.rejected_rows or 0, each.counts)


def _verdict(each: DeliveryStatus) -> tuple[str, str]:
    until = datetime.fromisoformat(each.next_attempt) if each.next_attempt else None
    words = in_batch(each.state, each.batch, until) or _state(each).partition(":")[0]
    if each.failed_attempts:
        is_over = each.state is State.FAILED
        last = CAUSE_TEXTS[each.failed_attempts[-1].cause]
        words += f": {last}" if is_over else f", attempt {each.attempt} of {each.attempts}"
    colour, verdict = COLOURS.get(each.verdict or "", ("", words))
    return colour, f"{verdict}, {each.not_current}" if each.not_current else verdict


def _place(each: DeliveryStatus) -> str:
    """The folder, short: bucket and a long contract id stand elsewhere, what follows is the day and the workload's id."""
    if not each.where:
        return "nowhere"
    key = each.where[0].split("/", 3)[3]
    if key == each.key:
        return "landing"
    folder, contract = key.partition("ingest_date=")[0], each.contract.id if each.contract else ""
    return folder.replace(contract, contract[:SHORT_ID] + "…", 1) if len(contract) > SHORT_ID else folder


def _others(*deliveries: OtherDelivery | None) -> str:
    """Other deliveries in words."""
    return ", ".join(delivery.in_words for delivery in deliveries if delivery is not None)


def _lines(one: DeliveryStatus) -> Iterator[tuple[str, str]]:
    of = one.contract
    yield "workload", one.workload
    if one.key:
        yield "file", f"{one.key} ({plural(one.size, 'byte')})"
    chosen = ", chosen for this replay" if one.chosen else ""
    yield "contract", f"{of.dataset or of.id} {of.version}{chosen}" if of else "none"
    own = f", in {one.workflow_state}" if one.workflow_state else ""
    yield "state", (one.standing or _state(one)) + own
    if one.waits is not None:
        names = {"own": one.workload[:SHORT_ID], "whom": one.waits.whom, "until": _utc(one.waits.until)}
        yield "waits", WAITS[one.waits.subject].format(**names)
    yield "verdict", COLOURS.get(one.verdict or "", ("", "none yet"))[1]
    if one.not_current is not None:
        recall = one.recall
        by = (
            f"{recall.actor} at {recall.at}: {recall.reason}"
            if recall
            else f"the delivery {_others(one.superseded_by)}"
        )
        yield "current", f"no: {one.not_current} by {by}"
    if one.supersedes:
        yield "replaces", f"the delivery {_others(*one.supersedes)}"
    yield from _person(one)
    yield from (("reason", reason) for reason in one.reasons)
    yield from (("anomaly", anomaly.text) for anomaly in one.anomalies)
    if one.problem:
        yield "problem", f"{one.problem} (docs/operator.md)"
    if known := _counts(one):
        yield "checks", known.checks_in_words
        yield "rows", known.rows_in_words
    yield from _attempts(one)
    yield from (("data", place) for place in one.where)
    if one.report is not None:
        yield "report", one.report
    if one.seconds is not None:
        yield "seconds", f"{one.seconds:.1f} from intake to completion"
    yield "time", _utc(one.at) or "not known"
    if one.next is not None:
        yield "replaced", f"by {one.next.in_words()}"
    yield from _replays(one)


def _state(one: DeliveryStatus) -> str:
    """The state in words; of an announcement that nothing has landed for, what becomes of it."""
    if one.key or one.state is not None:
        return STANDING[one.state]
    if one.reasons:
        return "refused: nothing is to be sent"
    return "announced: nothing has landed yet" if not one.problem else "expired: nothing has landed"


def _person(one: DeliveryStatus) -> Iterator[tuple[str, str]]:
    """The question to a person, or the decision."""
    if one.judged is not None:
        verdict, reasons = one.judged
        yield "judged", COLOURS[verdict][1]
        yield from (("reason", in_words(reason)) for reason in reasons)
    if one.answer is not None:
        refused = code_of(one.reasons[0]) if one.reasons else "declined"
        yield "approved" if one.answer.approved else refused, f"by {one.answer.actor} at {one.answer.at}"


def _replays(one: DeliveryStatus) -> Iterator[tuple[str, str]]:
    if one.corrects is not None:
        yield "corrects", one.corrects
    if one.corrected_by is not None:
        yield "corrected", f"by the delivery {one.corrected_by.in_words}"
    if one.replay_of:
        yield "waives" if one.waiver else "replays", one.replay_of
    if one.waiver is not None and one.waiver.expired:
        yield "expired", "the waiver by which it was accepted is over"
    if one.replayed_by is not None:
        did, by = one.replay or ("replayed", one.replayed_by)
        yield did, f"by {by}"


def _utc(at: str | None) -> str:
    return in_utc(datetime.fromisoformat(at)) if at else ""


def _attempts(one: DeliveryStatus) -> Iterator[tuple[str, str]]:
    for attempt in one.failed_attempts:
        run = f" (job run {attempt.run})" if attempt.run else ""
        yield "attempt", f"{attempt.attempt} failed at {_utc(attempt.at)}: {CAUSE_TEXTS[attempt.cause]}{run}"
    if one.batch is not None:
        yield "batch", one.batch
    if one.run is not None:
        yield "job run", f"{one.run}, attempt {one.attempt} of {one.attempts}"


# ---- `lakegate reasons` ----


MAX_ROWS = 20
"""Rows of each check in a result."""
ROWS = (
    "Write all rows that fail, whole, into a file: .csv or .jsonl (of such a delivery as they came), .excel.csv for spreadsheets,"
    " .parquet. Only for those who may read the quarantine."
)
REPORT = "Write an HTML report into a file, to pass on; with the latest deliveries of the dataset."


@gate_command
def reasons(  # noqa: PLR0913 - a command has these options
    dependencies: Dependencies,
    workload: Delivery,
    *,
    rows: Annotated[Path | None, Option(help=ROWS)] = None,
    samples: Annotated[
        int, Option(min=0, max=MAX_ROWS, help="Failing rows of each reason that are shown.")
    ] = SHOWN_ROWS,
    page: Annotated[Path | None, Option("--report", help=REPORT)] = None,
    show_all: Annotated[bool, Option("--all", help="Show every passed check on a line of its own.")] = False,
) -> CommandResult[DeliveryReasons]:
    """Say why a delivery was judged as it was: rule, field, what was wanted, what was measured, rows (masked).

    Example: lakegate reasons weather/southeast_2024.csv
    """
    if page is not None:
        usable("--report", page, (".html",), ())
    if rows is not None:
        from lakegate.local_check.failing_rows_file import SUFFIXES  # noqa: PLC0415 - pyarrow, for this option alone

        usable("--rows", rows, SUFFIXES, ())
    delivery = find_delivery(dependencies, workload, LATEST)
    one = one_delivery(dependencies, delivery)
    measured = one.measured
    is_decided = measured is not None or bool(delivery.row and delivery.row.decision)
    html = page_of(dependencies, delivery) if page is not None and is_decided else None
    written = [*_failing_rows(dependencies, delivery, rows), *_written(one, page, html)]
    found = reasons_of(one)
    if measured is None and (one.verdict is None or one.problem):
        return CommandResult(found, chain(delivery_in_words(found), written))
    words: list[Word] = [f"{one.key} (workload {one.workload})"]
    if measured is not None:
        words += [lambda console: show(console, measured, show_all=show_all, advice=tuple(written), rows=samples)]
        words += [reason for reason in one.reasons if is_of_gate(reason)]
    else:
        words += [*_refusal(one), *one.reasons, *written]
    words += [f"Anomaly: {anomaly.text}" for anomaly in one.anomalies]
    words += [f"The data is at {place}" for place in one.where]
    words += _repair(one, measured, rows) if measured is not None else _renewal(one)
    return CommandResult(found, words)


def _refusal(one: DeliveryStatus) -> Iterator[Word]:
    """The verdict on a delivery that was refused before any row was measured."""
    colour, verdict = COLOURS[one.verdict or ""]
    yield ((verdict, f"bold {colour}"), (": no row was measured", ""))
    if one.contract is not None and one.contract.dataset:
        name = parts_of(one.contract.dataset)[1]
        yield f"{one.key} as {name}, contract {one.contract.id} {one.contract.version}"


def _renewal(one: DeliveryStatus) -> Iterator[str]:
    """What helps where a file was refused before any row was measured: rows of it cannot be corrected by themselves."""
    if one.state is State.QUARANTINED and any(reason.startswith("file/") for reason in one.reasons):
        yield "Next: correct the file, and deliver the whole of it again"


def _repair(one: DeliveryStatus, measured: Report, rows: Path | None) -> Iterator[str]:
    """How rows that failed are corrected and delivered again."""
    suffix, workload = measured.plan.storage.rows_suffix, one.workload[:SHORT_ID]
    if not measured.judgement.rejected_rows or one.state not in TERMINAL or one.waiver is not None:
        return
    if one.corrected_by is not None:
        yield f"Corrected: by the delivery {one.corrected_by.in_words}"
        return
    is_whole = one.state is State.QUARANTINED
    file = name_rows_file(suffix, [one.key]) if is_whole else "FILE"
    if not is_whole and measured.result.shares is not None:
        yield next_command("lakegate", "get", "--quarantined", workload, "bad")
    elif rows is not None and rows.suffixes[-1:] == [suffix] and not rows.name.endswith(".excel.csv"):
        file = str(rows)
    elif is_whole and (rows is None or suffix):
        yield next_command("lakegate", "reasons", workload, "--rows", file)
    else:
        suffix = None
    if suffix is not None:
        yield next_command("lakegate", "deliver", "--corrects", workload, file, title="Corrected")


def _failing_rows(dependencies: Dependencies, delivery: FoundDelivery, path: Path | None) -> Iterator[str]:
    """Write the failing rows; yields what was written, in words."""
    if path is not None:
        from lakegate.local_check.quarantined_data import write_failing_rows  # noqa: PLC0415 - the engine

        with interruptible_folder() as folder:
            yield write_failing_rows(dependencies, delivery, path, folder, terminal.bytes_arriving)


def _written(one: DeliveryStatus, page: Path | None, html: str | None) -> Iterator[str]:
    """Write the page; yields that it was written."""
    if page is not None:
        if html is None:
            raise InputError(f"nothing was decided on {one.key}, so there is nothing to write: {one.standing}")
        write_text("--report", page, html)
        yield f"{page}: report written"
