"""`lakegate check`: local files measured as the gate's job measures them, and the verdict the gate would give."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import IntEnum
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lakegate.cli import documents, failures, terminal
from lakegate.cli.against import as_document, earlier, lines
from lakegate.cli.check_formats import CheckAnswer, CheckFormat, write
from lakegate.cli.completeness import complete
from lakegate.cli.contracts import ALONE, load, plan_of
from lakegate.cli.deliveries import DataFile, by_dataset, files_of
from lakegate.cli.engine import EngineName, measure
from lakegate.cli.escape import escaped
from lakegate.cli.grid import print_wrapped
from lakegate.cli.interrupts import interruptible_folder
from lakegate.cli.judgement_text import WORDS, show
from lakegate.cli.options import DEFAULT_STACK, Local, StackName
from lakegate.cli.outputs import usable, write_text
from lakegate.cli.parents import ParentPaths, ParentPlaces
from lakegate.cli.referring import accepted, linked, referred, referred_lines
from lakegate.contracts.errors import LakegateError
from lakegate.contracts.judge.judgement import judge
from lakegate.contracts.judge.outcomes import Status
from lakegate.contracts.judge.verdict import Verdict, worst
from lakegate.contracts.plan.request import Request, StagedPart
from lakegate.contracts.report.delivery import Report
from lakegate.contracts.report.progress import progress
from lakegate.contracts.words import counted, listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.cli.referring import References
    from lakegate.contracts.model.contract import Contract
    from lakegate.contracts.plan.plan import Plan
    from lakegate.contracts.plan.slices import SliceOrder

REFERENCE = (
    "What was accepted of a dataset that rules refer to: DATASET=FILE or CONTRACT/DATASET=FILE, once for each file."
)
DATA = "The files of one delivery: files, folders and patterns such as 'part-*.csv', also as s3://BUCKET/KEY."
ENGINE = "native runs in this process; spark runs the gate's own job, with Spark and Deequ. The results are the same."
REPORT = "Write an HTML report into a file, to pass on: the verdict, what to change first, every check, failing rows."
FORMATS = "text for people; json; junit, sarif, github and markdown for continuous integration."
AGAINST = (
    "What the files improve on an earlier result: a workload of the stack (its id or landing key), or a .json file that"
    " `check --json` or `reasons --json` wrote."
)
VALUES = (
    "Show failing values, or their shapes. On a terminal values of local files are shown, unless a report or failing rows are"
    " written; everywhere else shapes."
)
FAILURES = "Write failing rows into a file, .csv or .json; their values are shapes unless --show-values is given."


class CheckExit(IntEnum):
    """The meaning of the command's exit code."""

    ACCEPTED = 0
    REJECTED = 1
    UNDECIDED = 3


@dataclass(frozen=True, slots=True)
class LocalDelivery:
    """Local files, and how they are judged."""

    contract: Path
    dataset: str | None
    files: list[DataFile]
    references: list[str]
    reference_contracts: list[Path]
    failures: Path | None
    show_values: bool
    engine: EngineName
    report: Path | None = None
    """The HTML file to write."""
    parents: ParentPlaces = ALONE
    """Of the contract and of the reference contracts."""
    slices: SliceOrder | None = None
    """Where slices of the accepted rows begin, if some are to be written."""


def check(  # noqa: PLR0913, PLR0917 - every option of the command is one
    data: Annotated[list[str], typer.Argument(help=DATA, show_default=False)],
    contract: Annotated[Path, typer.Option(help="The contract document (ODCS, DCS or DCM).", show_default=False)],
    reference: Annotated[list[str] | None, typer.Option(help=REFERENCE)] = None,
    reference_contract: Annotated[
        list[Path] | None, typer.Option(help="The document of another contract that a --reference belongs to.")
    ] = None,
    parents: ParentPaths = None,
    dataset: Annotated[str | None, typer.Option(help="Which dataset, where the contract has several.")] = None,
    failing: Annotated[Path | None, typer.Option("--failures", help=FAILURES, show_default=False)] = None,
    page: Annotated[Path | None, typer.Option("--report", help=REPORT, show_default=False)] = None,
    show_values: Annotated[bool | None, typer.Option("--show-values/--mask", help=VALUES, show_default=False)] = None,
    show_all: Annotated[bool, typer.Option("--all", help="Show every check, not only failures.")] = False,
    against: Annotated[str | None, typer.Option("--against", help=AGAINST, show_default=False)] = None,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    measured_by: Annotated[EngineName, typer.Option("--engine", help=ENGINE)] = EngineName.NATIVE,
    form: Annotated[CheckFormat, typer.Option("--format", help=FORMATS)] = CheckFormat.TEXT,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """Say what the gate would say about files.

    Example: lakegate check --contract contracts/examples/weather.dcm.yaml samples/weather-clean.csv

    A file belongs to the dataset that it is named after (orders.csv, orders-2026.csv, orders/1.csv, or as {model} in the path of
    a server), unless --dataset chooses one. Rules that refer to another dataset of the contract use its files.

    Exit codes: 0 accepted, with or without warnings; 1 rejected; 2 the contract, a file or this machine cannot be used;
    3 undecided, because a check could not be measured; 130 interrupted by Ctrl-C.
    """
    form = CheckFormat.JSON if as_json else form
    inputs = documents.Inputs(contract, [DataFile(each) for each in data], reference or [])
    try:
        files = files_of(data)
        before = earlier(against, stack, local=local) if against is not None else None
        inputs = documents.Inputs(contract, files, reference or [])
        passed_on = form is not CheckFormat.TEXT or failing is not None or page is not None
        own = terminal.is_read_by_a_person() and not passed_on and all(each.pin is None for each in files)
        delivery = LocalDelivery(
            contract,
            dataset,
            files,
            reference or [],
            reference_contract or [],
            failing,
            own if show_values is None else show_values,
            measured_by,
            page,
            ParentPlaces.of(parents, stack, local=local),
        )
        with interruptible_folder() as folder:
            judged = judge_tables(delivery, folder)
            written = list(_written(delivery, [report for report, _ in judged]))
    except LakegateError as error:
        if form is CheckFormat.JSON:
            terminal.print_json(documents.refused(inputs, error))
        elif form is not CheckFormat.TEXT:
            write(form, [CheckAnswer(tuple(data), error=error)])
        raise
    outcomes = [outcome for report, _ in judged for outcome in report.judgement.outcomes]
    found = progress(before.findings, outcomes) if before is not None else None
    reports = [report for report, _ in judged]
    if form is CheckFormat.TEXT:
        for at, (report, advice) in enumerate(judged):
            if at:
                terminal.answers().print()
            show(terminal.answers(), report, show_all=show_all, advice=advice)
        if len(reports) > 1:
            terminal.answers().print()
            terminal.answers().print(escaped(_overview(reports)), markup=False, soft_wrap=True)
        for line in (*written, *(lines(before, found) if before and found else ())):
            print_wrapped(terminal.answers(), line)
    elif form is CheckFormat.JSON:
        more = {"against": as_document(before, found)} if before and found else {}
        terminal.print_json(documents.judged_tables(inputs, reports) | more)
    else:
        write(form, [CheckAnswer(each.files, each) for each in reports])
    codes = {Verdict.REJECTED: CheckExit.REJECTED, Verdict.UNDECIDED: CheckExit.UNDECIDED}
    raise typer.Exit(codes.get(worst(each.judgement.verdict for each in reports), CheckExit.ACCEPTED))


def _overview(reports: list[Report]) -> str:
    """The verdict on several tables, and which have it."""
    verdict = worst(each.judgement.verdict for each in reports)
    names = [each.plan.dataset for each in reports if each.judgement.verdict is verdict]
    return f"{WORDS[verdict][1]}: {len(names)} of {counted(len(reports), 'table')} ({listed(names)})"


def judge_tables(delivery: LocalDelivery, folder: Path) -> list[tuple[Report, tuple[str, ...]]]:
    """Each dataset that has files, judged, in the order of the contract; one alone where it is named, or the only one.

    Raises InputError for a file that belongs to no dataset.
    """
    document = load(delivery.contract, delivery.parents)
    if delivery.dataset is not None or len(document.datasets) == 1:
        return [judge_delivery(delivery, document, plan_of(document, delivery.dataset), folder)]
    tables = by_dataset(document, delivery.files)
    given = {each.partition("=")[0] for each in delivery.references}
    found: list[tuple[Report, tuple[str, ...]]] = []
    for name, files in tables.items():
        others = [
            f"{other}={each.name}"
            for other, its in tables.items()
            if other not in {name, *given}
            for each in its
            if each.pin is None
        ]
        place = folder / f"table-{len(found)}"
        place.mkdir()
        table = replace(delivery, dataset=name, files=files, references=[*delivery.references, *others])
        found.append(judge_delivery(table, document, plan_of(document, name), place))
    return found


def judge_delivery(
    delivery: LocalDelivery, document: Contract, plan: Plan, folder: Path
) -> tuple[Report, tuple[str, ...]]:
    """The delivery, judged by a plan of its contract, and what its producer may do next.

    Temporary files are written to the folder.
    """
    paths = [Path(each.name) for each in delivery.files if each.pin is None]
    inputs = [delivery.contract, *delivery.reference_contracts, *paths]
    if delivery.failures is not None:
        usable("--failures", delivery.failures, failures.SUFFIXES, inputs)
    if delivery.report is not None:
        usable("--report", delivery.report, (".html",), inputs)
    delivery = replace(delivery, files=complete(delivery.files, plan.policy.delivery))
    others = [load(each, delivery.parents) for each in delivery.reference_contracts]
    references = accepted(document, plan, delivery.references, others)
    report = _report(delivery, plan, references, folder)
    return report, tuple(_advice(delivery, report, references))


def _written(delivery: LocalDelivery, reports: list[Report]) -> Iterator[str]:
    """Write the files that options name; yields what was written, in words."""
    if delivery.failures is not None:
        yield failures.write("--failures", delivery.failures, reports)
    if delivery.report is not None:
        from lakegate.contracts.report.page import render, render_tables  # noqa: PLC0415 - jinja2, for this option alone

        page = render(reports[0]) if len(reports) == 1 else render_tables(reports)
        write_text("--report", delivery.report, page)
        yield f"{delivery.report}: report written"


def _report(delivery: LocalDelivery, plan: Plan, references: References, folder: Path) -> Report:
    shown = _unmasked(plan) if delivery.show_values else plan
    samples = documents.SAMPLES if delivery.failures is None else failures.MOST
    pins = {each.name: each.pin for each in delivery.files if each.pin is not None}
    asked = _request(shown, delivery.files, folder)
    request = replace(asked, references=referred(references, folder), slices=delivery.slices)
    result = measure(delivery.engine, request, shown, folder, samples, pins)
    return Report(plan, judge(plan, result), result, tuple(each.shown for each in delivery.files))


def _unmasked(plan: Plan) -> Plan:
    """The plan with every field public: its results show values as they are."""
    fields = tuple(replace(each, classification="public") for each in plan.fields)
    return replace(plan, fields=fields, policy=replace(plan.policy, samples=True))


def _advice(delivery: LocalDelivery, report: Report, references: References) -> Iterator[str]:
    skipped = {each.id for each in report.judgement.outcomes if each.status is Status.SKIP}
    lines = referred_lines(each for each in report.plan.checks if each.id in skipped)
    lacking = [each for each in lines if each not in references]
    if report.result.unreadable is None:
        yield from (f"To compare with accepted data: --reference {each}=FILE" for each in lacking)
    if any(each.samples for each in report.judgement.reasons):
        values = "--mask hides the values" if delivery.show_values else "--show-values shows the values"
        yield f"{values}, --failures FILE writes the failing rows."


def _request(plan: Plan, files: list[DataFile], folder: Path) -> Request:
    parts = tuple(part_of(file, folder / "staging", number) for number, file in enumerate(files))
    version = sha256("\n".join(map(_mark, files)).encode()).hexdigest()
    return Request(
        workload=version,
        attempt=1,
        plan_uri=(folder / "plan.json").as_uri(),
        plan_digest=plan.digest,
        source_version=version,
        parts=parts,
        judged_at=datetime.now(UTC).isoformat(timespec="seconds"),
        output_uri=(folder / "out").as_uri(),
    )


def part_of(file: DataFile, staging: Path, number: int) -> StagedPart:
    """A file as a part of a delivery; a local one is linked below `staging`."""
    if file.pin is not None:
        return StagedPart(file.name, file.pin.size, file.name)
    at = linked(Path(file.name), staging, number)
    return StagedPart(at.as_uri(), at.stat().st_size, file.name)


def _mark(file: DataFile) -> str:
    """A name and what changes with the content."""
    if file.pin is not None:
        return f"{file.name}:{file.pin.version}:{file.pin.etag}"
    path = Path(file.name).resolve()
    return f"{path}:{path.stat().st_mtime_ns}"
