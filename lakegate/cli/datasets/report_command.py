"""lakegate report, observe report."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Final

from lakegate.base.errors import InputError
from lakegate.base.json_codec import DOCUMENT_NAME, omit_default, select_fields, sha256_of
from lakegate.base.text import dataset_name, plural
from lakegate.cli.click_commands import CommandGroup, Option
from lakegate.cli.command_runner import CommandResult, gate_command, usable, write_text
from lakegate.cli.options import DatasetName, Days, Filter, OptionalDatasetName
from lakegate.cli.terminal import Grid, Word
from lakegate.contract.contract_model import DATASET_KEY
from lakegate.gate.datasets.dataset_names import dataset_named
from lakegate.gate.datasets.datasets_overview import overview
from lakegate.gate.datasets.delivery_history import ObserveReport, Refusals, observe_report, report_dataset
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Alarm
from lakegate.gate.registry.next_dataset import NextDataset, next_dataset
from lakegate.report.dataset_report import DatasetHistory, last_times, render_dataset
from lakegate.report.overview_page import LEGEND, DatasetsOverview, letters, minute, render_overview
from lakegate.verdict.verdict import Verdict

# ---- `lakegate report` ----


HTML = (
    "Write an HTML page into a file, to pass on: deliveries over time, freshness, reasons, the pass share of each rule."
    " Of all datasets also into a folder, with a page for each."
)
SHOWN = 10
"""Rules on the terminal."""
RULES = ("rule", "passed", "failed", "warned", "failing rows")
WORDS = {
    Verdict.ACCEPTED: "accepted",
    Verdict.ACCEPTED_WITH_WARNINGS: "accepted with warnings",
    Verdict.REJECTED: "rejected",
}


@dataclass(frozen=True, slots=True)
class ReportedDeadline:
    """A service level of the dataset, and how often it was missed."""

    name: str
    seconds: int
    until: str
    missed: bool


@dataclass(frozen=True, slots=True)
class RuleShare:
    """The share with which a rule passed."""

    rule: str
    measured: int
    passed: int
    failed: int
    warned: int
    failing_rows: int


@dataclass(frozen=True, slots=True)
class ReasonCount:
    """The number of deliveries that a rule rejected."""

    rule: str
    deliveries: int
    failing_rows: int


@dataclass(frozen=True, slots=True)
class DeliveryAge:
    """The age of a delivery's data."""

    at: str
    seconds: float
    late: bool


@dataclass(frozen=True, slots=True)
class Freshness:
    """Ages of deliveries against the service level."""

    promised_seconds: float | None
    deliveries: tuple[DeliveryAge, ...]


@dataclass(frozen=True, slots=True)
class ReportedAnomaly:
    """What was unusual of a delivery."""

    at: str
    text: str


@dataclass(frozen=True, slots=True)
class DatasetReport:
    """The history of a dataset over some time."""

    dataset: str = field(metadata=DATASET_KEY)
    name: str
    """Of its contract; empty where the document has none."""
    owner: str
    last_accepted: str | None
    deadlines: tuple[ReportedDeadline, ...] = field(metadata={DOCUMENT_NAME: "promises"})
    since: str
    until: str
    deliveries: dict[str, int]
    """By verdict, also those that are not current."""
    superseded: int
    """Of the accepted ones, with and without warnings."""
    recalled: int
    """Likewise."""
    rules: tuple[RuleShare, ...]
    reasons: tuple[ReasonCount, ...]
    freshness: Freshness
    anomalies: tuple[ReportedAnomaly, ...]
    """The newest first."""
    next: NextDataset | None = omit_default(None)
    """What replaces it."""


@gate_command
def report(  # noqa: PLR0913 - a command has these options
    dependencies: Dependencies,
    dataset: OptionalDatasetName = None,
    *,
    page: Annotated[Path | None, Option("--html", "--output", help=HTML)] = None,
    days: Days = 30,
    owner: Filter = None,
    attention: Annotated[bool, Option(help="Only datasets that need attention.")] = False,
) -> CommandResult[DatasetReport | DatasetsOverview]:
    """Show how a dataset has done: deliveries over time, freshness and its service level, reasons, how often each rule passed.

    Without a name, show all datasets: owner, last accepted, due, the newest ten verdicts, what is open and planned. With --owner
    only those of an owner, in upper or lower case; several are alternatives.

    All of it is from the index of finished deliveries. The rules are those of the latest delivery's contract version.

    Example: lakegate report orders --days 90 --html orders.html
    """
    if dataset is None:
        if page is not None:
            _usable_folder(page)
        return _report_all(dependencies, _wanted(overview(dependencies, owner), attention=attention), page, days)
    if owner or attention:
        raise InputError("--owner and --attention choose among all datasets: leave out the name, or these")
    if page is not None:
        usable("--html", page, (".html",), ())
    name = dataset_named(dependencies, dataset)
    found = report_dataset(dependencies, name, dependencies.now - timedelta(days=days))
    following = next_dataset(dependencies, name)
    if page is not None:
        write_text("--html", page, render_dataset(found))
    return CommandResult(_dataset_report(found, following), _in_words(found, days, page))


def _in_words(found: DatasetHistory, days: int, page: Path | None) -> Iterator[Word]:
    counts = ", ".join(found.told(each, words) for each, words in WORDS.items())
    about = f"{found.title} ({', '.join(filter(None, (found.dataset, found.owner and f'owner: {found.owner}')))})"
    yield f"{about if found.name else found.dataset}, {plural(days, 'day')}: {counts}"
    yield from last_times(found)
    yield from (f"Anomaly at {at:%Y-%m-%d %H:%M} UTC: {text}" for at, text in found.anomalies[:SHOWN])
    if broken := [rule for rule in found.rules if rule.passed < rule.measured]:
        rows = (
            (
                each.rule,
                f"{each.passed:,} of {each.measured:,}",
                f"{each.failed:,}",
                f"{each.warned:,}",
                f"{each.failing_rows:,}",
            )
            for each in broken[:SHOWN]
        )
        yield Grid(RULES, rows, RULES[1:])
        if len(broken) > SHOWN:
            yield f"{plural(len(broken) - SHOWN, 'more rule')} did not always pass."
    if page is not None:
        yield f"{page}: report written"


def _dataset_report(found: DatasetHistory, following: NextDataset | None) -> DatasetReport:
    limit = found.freshness_limit
    ages = tuple(
        DeliveryAge(each.at.isoformat(), seconds, limit is not None and seconds > limit) for each, seconds in found.ages
    )
    return select_fields(
        DatasetReport,
        found,
        deliveries={word.value: found.counted(word) for word in WORDS},
        **{word: sum(why == word for _, why in found.not_current) for word in ("superseded", "recalled")},
        reasons=tuple(itertools.starmap(ReasonCount, found.reasons)),
        freshness=Freshness(None if limit is None else float(limit), ages),
        anomalies=tuple(ReportedAnomaly(at.isoformat(), text) for at, text in found.anomalies),
        next=following,
    )


# ---- `lakegate report` without a name ----


OVERVIEW_COLUMNS: Final = ("dataset", "owner", "last accepted", "due", "verdicts", "rejected", "open", "planned")
PAGES: Final = "datasets"
"""The folder of the pages of single datasets, beside the one of all."""


def _usable_folder(page: Path) -> None:
    """InputError where the page, or the folder of pages, cannot be written."""
    if page.suffix:
        usable("--html", page, (".html",), ())
    elif page.exists() and not page.is_dir():
        raise InputError(f"--html {page}: this is a file; name a folder, or a file that ends in .html")


def _wanted(found: DatasetsOverview, *, attention: bool) -> DatasetsOverview:
    return replace(found, datasets=tuple(each for each in found.datasets if each.attention or not attention))


def _report_all(
    dependencies: Dependencies, found: DatasetsOverview, page: Path | None, days: int
) -> CommandResult[DatasetsOverview]:
    unreadable = list[str]()
    if page is not None:
        addresses: dict[str, str] = {}
        index = page
        if not page.suffix:
            index = page / "index.html"
            addresses, unreadable = _write_pages(dependencies, found, page / PAGES, days)
        write_text("--html", index, render_overview(found, addresses))
    return CommandResult(found, _overview_in_words(found, page, unreadable))


def _write_pages(
    dependencies: Dependencies, found: DatasetsOverview, folder: Path, days: int
) -> tuple[dict[str, str], list[str]]:
    """Write a page for each dataset. Returns their addresses, by dataset, and those whose latest plan is lost."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--html {folder} cannot be written: {error.strerror}") from error
    addresses, unreadable = {}, []
    for each in found.datasets:
        name = f"{dataset_name(each.dataset)}-{sha256_of(each.dataset.encode())[:8]}.html"
        try:
            text = render_dataset(report_dataset(dependencies, each.dataset, dependencies.now - timedelta(days=days)))
        except Alarm:
            unreadable.append(each.dataset)
            continue
        write_text("--html", folder / name, text)
        addresses[each.dataset] = f"{PAGES}/{name}"
    return addresses, unreadable


def _overview_in_words(found: DatasetsOverview, page: Path | None, unreadable: list[str]) -> Iterator[Word]:
    yield found.in_words()
    if found.datasets:
        rows = (
            (
                each.title if each.name is None else f"{each.title} ({each.dataset})",
                each.owner or "",
                minute(each.last_accepted),
                f"missed {minute(each.due)}" if each.missed else minute(each.due),
                letters(each.outcomes),
                each.share_in_words,
                "; ".join(each.open),
                ", ".join(f"{step.what} on {step.at[:10]}" for step in each.planned),
            )
            for each in found.by_urgency()
        )
        yield Grid(OVERVIEW_COLUMNS, rows, ("rejected",), ("verdicts",))
        yield LEGEND
    for name in unreadable:
        yield f"{name}: no page, because the plan of its latest delivery is lost (`lakegate doctor`)"
    if page is not None:
        yield f"{page}: report written"


# ---- `lakegate observe report` ----


app = CommandGroup(help="Datasets that are observed and not enforced.")


@dataclass(frozen=True, slots=True)
class RefusalsTotal:
    """Refusals by enforcement of all deliveries."""

    deliveries: int
    refused: int
    refused_rows: int
    rows: int
    enforced: int
    """Deliveries that were enforced, or refused before they were measured."""


@dataclass(frozen=True, slots=True)
class RefusalsOf:
    """Refusals by enforcement because of a rule, or of a producer."""

    name: str
    deliveries: int
    refused: int
    refused_rows: int


@dataclass(frozen=True, slots=True)
class RefusalsReport:
    """Refusals by enforcement of a dataset that is observed."""

    dataset: str = field(metadata=DATASET_KEY)
    days: int
    total: RefusalsTotal
    rules: tuple[RefusalsOf, ...]
    producers: tuple[RefusalsOf, ...]


@app.command("report")
@gate_command
def refusals_report(
    dependencies: Dependencies,
    dataset: DatasetName,
    *,
    days: Days = 30,
) -> CommandResult[RefusalsReport]:
    """Show what `mode: enforce` would have refused: deliveries, rows, rules and producers.

    Each delivery was judged a second time when it was decided, as if the mode were enforce; the report adds these verdicts up.

    Example: lakegate observe report orders --days 30
    """
    name = dataset_named(dependencies, dataset)
    found = observe_report(dependencies, name, dependencies.now - timedelta(days=days))
    return CommandResult(
        RefusalsReport(
            name,
            days,
            select_fields(RefusalsTotal, found.total, found),
            *(tuple(map(_refusals, each.items())) for each in (found.rules, found.producers)),
        ),
        _refusals_in_words(name, days, found),
    )


def _refusals(group: tuple[str, Refusals]) -> RefusalsOf:
    return RefusalsOf(group[0], *_figures(group[1]))


def _figures(found: Refusals) -> tuple[int, int, int]:
    return found.deliveries, found.refused, found.refused_rows


def _refusals_in_words(name: str, days: int, found: ObserveReport) -> Iterator[Word]:
    total = found.total
    others = (
        f" {plural(found.enforced, 'more was', 'more were')} enforced, or refused before they were measured."
        if found.enforced
        else ""
    )
    if not total.deliveries:
        yield f"{name}: no delivery was observed in {plural(days, 'day')}.{others}"
        return
    yield (
        f"{name}, {plural(days, 'day')}: enforcement would have refused {total.refused:,}"
        f" of {plural(total.deliveries, 'delivery', 'deliveries')},"
        f" and {total.refused_rows:,} of {plural(found.rows, 'row')}.{others}"
    )
    for title, last, groups in (("rule", "failing rows", found.rules), ("producer", "refused rows", found.producers)):
        if groups:
            columns = (title, "deliveries", "refused", last)
            rows = ((name, *(f"{figure:,}" for figure in _figures(each))) for name, each in groups.items())
            yield ""
            yield Grid(columns, rows, columns[1:])
