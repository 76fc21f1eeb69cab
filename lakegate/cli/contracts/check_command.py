"""lakegate check."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum
from functools import partial
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import click

from lakegate.aws.open_stack import DEFAULT_STACK
from lakegate.base.errors import ContractError, InputError, LakegateError
from lakegate.base.json_codec import encode
from lakegate.base.text import dataset_name, join_words, plural
from lakegate.cli import terminal
from lakegate.cli.click_commands import Argument, Option
from lakegate.cli.command_runner import (
    CommandResult,
    command,
    interruptible_folder,
    name_rows_file,
    next_command,
    render,
    usable,
    write_text,
)
from lakegate.cli.options import (
    DATA,
    ApiUrl,
    AsJson,
    DefinitionRoot,
    EveryCheck,
    Local,
    OfDataset,
    ParentPaths,
    StackName,
)
from lakegate.cli.terminal import Word
from lakegate.contract.contract_model import Contract
from lakegate.library import contract_files
from lakegate.library.contract_files import ParentPlaces, plan_of
from lakegate.local_check import check_result
from lakegate.local_check.check_data import EngineName, LocalDelivery, decided_by_status, judge_delivery
from lakegate.local_check.check_result import CheckDocument, CheckTablesDocument, VerdictBeside, against, earlier, lines
from lakegate.local_check.contract_servers import ServedData, named_table, served_tables, without_files
from lakegate.local_check.data_files import DataFile, by_dataset, files_of
from lakegate.report.delivery_report import Report, progress
from lakegate.report.verdict_text import WORDS, CheckedDelivery, print_wrapped, show
from lakegate.verdict.verdict import Verdict, counts_of, worst

if TYPE_CHECKING:
    from lakegate.library.published_contracts import ContractDocument


class CheckFormat(StrEnum):
    """The form of the output."""

    TEXT = "text"
    JSON = "json"
    JUNIT = "junit"
    SARIF = "sarif"
    GITHUB = "github"
    MARKDOWN = "markdown"


WRITERS: Final[dict[CheckFormat, str]] = {
    CheckFormat.JUNIT: "lakegate.report.junit:junit",
    CheckFormat.SARIF: "lakegate.report.sarif:sarif",
    CheckFormat.GITHUB: "lakegate.report.github_output:github",
    CheckFormat.MARKDOWN: "lakegate.report.github_output:summary",
}
"""Module and function of each form, from deliveries to lines; imported when it is wanted."""


def write(form: CheckFormat, deliveries: Sequence[CheckedDelivery]) -> None:
    """Write the results, one for each table, to standard output."""
    module, _, function = WRITERS[form].partition(":")
    lines: Iterable[str] = getattr(import_module(module), function)(deliveries)
    sys.stdout.writelines(f"{line}\n" for line in lines)


# ---- `lakegate check` ----


REFERENCE = (
    "What was accepted of a dataset that rules refer to: DATASET=FILE or CONTRACT/DATASET=FILE, once for each file."
)
ENGINE = "native runs in this process; spark runs the gate's own job, with Spark and Deequ. The results are the same."
REPORT = "Write an HTML report into a file, to pass on: the verdict, what to change first, every check, failing rows."
FORMATS = "text for people; json; junit, sarif, github and markdown for continuous integration."
CONTRACT = (
    "The contract document (ODCS, DCS or DCM), - for standard input, or what is published: CONTRACT for what the gate says now,"
    " CONTRACT@VERSION or CONTRACT@latest for the rules of a version."
)
AGAINST = (
    "What the files improve on an earlier result: a workload of the stack (its id or landing key), or a .json file that"
    " `check --json` or `reasons --json` wrote."
)
SERVER = (
    "A server of the contract, by its name: its data is read and checked, where no file is named. Credentials are those of the"
    " environment."
)
TABLE = (
    "A table of Iceberg or Delta whose current rows are checked, where no file is named: its folder, also as s3://BUCKET/FOLDER,"
    " a file *.metadata.json, or CATALOG.NAMESPACE.TABLE of a catalog that pyiceberg's configuration describes."
)
SNAPSHOT = (
    "Of --table, another state than the current one: of Iceberg the id of a snapshot, or the name of a branch or tag; of Delta a"
    " version."
)
VALUES = (
    "Show failing values, or their shapes. On a terminal values of local files are shown, unless a report or failing rows are"
    " written; everywhere else shapes."
)
FAILURES = (
    "Write all rows that fail, whole, into a file: .csv or .jsonl (of such a delivery as they came), .excel.csv"
    " for spreadsheets, .parquet. Several tables get a file each."
)


class CheckExit(IntEnum):
    """The meaning of the command's exit code."""

    ACCEPTED = 0
    REJECTED = 1
    UNDECIDED = 3


@dataclass(frozen=True, slots=True)
class DataSource:
    """What a person has named as data: files, a server of the contract, or a table."""

    files: list[str]
    server: str | None
    table: str | None
    snapshot: str | None

    @property
    def is_files(self) -> bool:
        """Whether files alone are named."""
        return bool(self.files) and self.server is self.table is self.snapshot is None

    @property
    def asked(self) -> list[str]:
        """The files, or what was named instead."""
        return self.files or [self.table if self.table is not None else f"--server {self.server}"]

    def read(self, contract: Contract, dataset: str | None, folder: Path) -> ServedData:
        """The data of the server, or of the table. Raises InputError, SetUpError."""
        if bool(self.files) + (self.server is not None) + (self.table is not None) > 1:
            raise InputError("name files, a server with --server, or a table with --table")
        if self.table is not None:
            return named_table(contract, self.table, self.snapshot, dataset, folder)
        if self.snapshot is not None:
            raise InputError("--snapshot is that of a table: name it with --table")
        if self.server is None:
            raise without_files(contract)
        return served_tables(contract, self.server, dataset, folder)


@command
def check(  # noqa: PLR0913, PLR0917 - every option of the command is one
    contract: Annotated[str, Option(help=CONTRACT)],
    data: Annotated[list[str] | None, Argument(help=f"{DATA} None with --server and --table.")] = None,
    server: Annotated[str | None, Option(help=SERVER)] = None,
    table: Annotated[str | None, Option(help=TABLE)] = None,
    snapshot: Annotated[str | None, Option(help=SNAPSHOT)] = None,
    reference: Annotated[list[str] | None, Option(help=REFERENCE)] = None,
    reference_contract: Annotated[
        list[Path] | None, Option(help="The document of another contract that a --reference belongs to.")
    ] = None,
    parents: ParentPaths = None,
    root: DefinitionRoot = None,
    dataset: OfDataset = None,
    failing: Annotated[Path | None, Option("--failures", help=FAILURES)] = None,
    page: Annotated[Path | None, Option("--report", help=REPORT)] = None,
    show_values: Annotated[bool | None, Option("--show-values/--mask", help=VALUES)] = None,
    show_all: EveryCheck = False,
    baseline: Annotated[str | None, Option("--against", help=AGAINST)] = None,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    api: ApiUrl = None,
    measured_by: Annotated[EngineName, Option("--engine", help=ENGINE)] = EngineName.NATIVE,
    form: Annotated[CheckFormat, Option("--format", help=FORMATS)] = CheckFormat.TEXT,
    as_json: AsJson = False,
) -> CommandResult[CheckDocument | CheckTablesDocument]:
    """Say what the gate would say about files, or a table.

    Example: lakegate check --contract contracts/examples/weather.dcm.yaml samples/weather-clean.csv

    A file belongs to the dataset that it is named after (orders.csv, orders-2026.csv, orders/1.csv, or as {model} in the path of
    a server), unless --dataset chooses one. Rules that refer to another dataset of the contract use its files. With --server the
    contract says where the data is; nothing is read from a server without it. With --table one snapshot of a table is judged.

    A published contract is read from the stack, or from its HTTP API; the data stays here.

    Exit codes: 0 accepted, with or without warnings; 1 rejected; 2 the contract, a file or this machine cannot be used;
    3 undecided, because a check could not be measured; 130 interrupted by Ctrl-C.
    """
    form = CheckFormat.JSON if as_json else form
    named = data or []
    source = DataSource(named, server, table, snapshot)
    asked = source.asked
    inputs = check_result.Inputs(contract, [DataFile(each) for each in asked], reference or [])
    try:
        with interruptible_folder() as folder:
            files, served = files_of(named), None
            _judge_outputs(failing, page, [Path(contract), *(reference_contract or [])], files)
            before = earlier(baseline, stack, local=local) if baseline is not None else None
            places = ParentPlaces.of(parents, stack, local=local, root=root)
            loaded = contract_files.load_named(contract, places, stack, local=local, api=api)
            document = loaded.contract
            if not source.is_files:
                served = source.read(document, dataset, folder)
                document = served.judged_by(document)
                files = [each for its in served.files.values() for each in its]
            tables = None if served is None else served.files
            inputs = check_result.Inputs(contract, files, reference or [])
            passed_on = form is not CheckFormat.TEXT or page is not None
            own = terminal.is_read_by_a_person() and not passed_on and served is None
            delivery = LocalDelivery(
                Path(contract),
                dataset,
                files,
                reference or [],
                reference_contract or [],
                failing,
                own and all(file.pin is None for file in files) if show_values is None else show_values,
                measured_by,
                places,
            )
            judged = _by_status(judge_tables(delivery, document, folder, tables), loaded.found)
            beside = list(
                _by_others(delivery, loaded.found, folder, tables, partial(_published, stack, local, api, served))
            )
            written = list(_written(page, [report for report, _ in judged]))
    except LakegateError as error:
        if form is CheckFormat.JSON:
            render(CommandResult(check_result.refused(inputs, error)), as_json=True)
        elif form is not CheckFormat.TEXT:
            write(form, [CheckedDelivery(tuple(asked), error=error)])
        raise
    return _result(form, inputs, judged, beside, written, before, show_all=show_all, has_rows=failing is not None)


def _published(stack: str, local: bool, api: str | None, served: ServedData | None, name: str) -> Contract:
    contract = contract_files.load_published(name, stack, local=local, api=api).contract
    return contract if served is None else served.judged_by(contract)


def _result(  # noqa: PLR0913, PLR0917 - what the command has found
    form: CheckFormat,
    inputs: check_result.Inputs,
    judged: list[tuple[Report, tuple[str, ...]]],
    beside: list[VerdictBeside],
    written: list[str],
    before: check_result.Earlier | None,
    *,
    show_all: bool,
    has_rows: bool,
) -> CommandResult[CheckDocument | CheckTablesDocument]:
    """The result of all tables in a form, compared with an earlier one.

    `written`: the files, in words; `has_rows`: one has failing rows.
    """
    reports = [report for report, _ in judged]
    outcomes = [outcome for report in reports for outcome in report.judgement.outcomes]
    found = progress(before.findings, outcomes) if before is not None else None

    def output_document() -> CheckDocument | CheckTablesDocument:  # it needs checksums of all files
        document = replace(check_result.judged_tables(inputs, reports), beside=tuple(beside))
        return replace(document, against=against(before, found)) if before and found else document

    codes = {Verdict.REJECTED: CheckExit.REJECTED, Verdict.UNDECIDED: CheckExit.UNDECIDED}
    exit_code = codes.get(worst(each.judgement.verdict for each in reports), CheckExit.ACCEPTED)
    refused = [
        each
        for each in reports
        if each.judgement.verdict is Verdict.REJECTED or counts_of(each.plan, each.judgement).rejected_rows
    ]
    if form is CheckFormat.JSON:
        words: Iterable[Word] = [lambda _: terminal.print_json(encode(output_document()))]
    elif form is CheckFormat.TEXT:
        compared = lines(before, found) if before and found else ()
        notes = (each.in_words(len(inputs.files)) for each in beside)
        following = _next(refused, wrote_rows=has_rows) if refused else ()
        words = chain(_in_words(judged, (*notes, *written, *compared), show_all=show_all), following)
    else:
        words = [lambda _: write(form, [CheckedDelivery(each.files, each) for each in reports])]
    return CommandResult(output_document, words, exit_code)


def _next(refused: list[Report], *, wrote_rows: bool) -> Iterator[str]:
    """The command to go on with: failing rows into a file, or what the first reason means where no row is to blame."""
    blamed = next((each for each in refused if each.judgement.rejected_rows), None)
    if blamed is None:
        first = refused[0].judgement.by_harm[0]
        yield next_command("lakegate", "explain", first.id if first.kind == "file" else first.kind, of=())
    elif not wrote_rows:
        given = {each.name or "" for each in click.get_current_context().command.params} - {"show_all", "page", "form"}
        file = name_rows_file(blamed.plan.storage.rows_suffix, blamed.files)
        yield next_command("lakegate", "check", "--failures", file, of=given)


def _in_words(judged: list[tuple[Report, tuple[str, ...]]], more: Iterable[str], *, show_all: bool) -> Iterator[Word]:
    """The report of each table, the verdict on several, and what was written or compared."""
    for at, (report, advice) in enumerate(judged):
        yield from [""] * bool(at)
        yield lambda console, report=report, advice=advice: show(console, report, show_all=show_all, advice=advice)  # type: ignore[misc]  # of this table
    if len(judged) > 1:
        yield from ("", _overview([report for report, _ in judged]))
    yield from (lambda console, line=line: print_wrapped(console, line) for line in more)


def _overview(reports: list[Report]) -> str:
    """The verdict on several tables, and which have it."""
    verdict = worst(report.judgement.verdict for report in reports)
    names = [report.plan.dataset for report in reports if report.judgement.verdict is verdict]
    return f"{WORDS[verdict][1]}: {len(names)} of {plural(len(reports), 'table')} ({join_words(names)})"


def judge_tables(
    delivery: LocalDelivery, document: Contract, folder: Path, tables: Mapping[str, list[DataFile]] | None = None
) -> list[tuple[Report, tuple[str, ...]]]:
    """Each dataset that has files, judged, in the order of the contract; one alone where it is named, or the only one.

    `tables`: the files of each dataset, where they are known. Raises InputError for a file that belongs to no dataset.
    """
    if delivery.dataset is not None or len(document.datasets) == 1:
        return [
            judge_delivery(delivery, document, plan_of(document, delivery.dataset), folder, terminal.bytes_arriving)
        ]
    if tables is None:
        tables = by_dataset(document, delivery.files)
    given = {reference.partition("=")[0] for reference in delivery.references}
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
        own = delivery.failures
        if own is not None:
            own = own.with_name(f"{own.name.partition('.')[0]}-{dataset_name(name)}.{own.name.partition('.')[2]}")
            usable("--failures", own, (own.suffix,), [Path(each.name) for each in delivery.files])
        references = [*delivery.references, *others]
        table = replace(delivery, dataset=name, files=files, references=references, failures=own)
        found.append(judge_delivery(table, document, plan_of(document, name), place, terminal.bytes_arriving))
    return found


def _by_status(
    judged: list[tuple[Report, tuple[str, ...]]], found: ContractDocument | None
) -> list[tuple[Report, tuple[str, ...]]]:
    """What was judged, with what the statuses of the datasets decide at the gate."""
    decisions = {each.dataset: each for each in found.decisions} if found else {}
    return [(decided_by_status(report, decisions.get(report.dataset)), advice) for report, advice in judged]


def _by_others(
    delivery: LocalDelivery,
    found: ContractDocument | None,
    folder: Path,
    tables: Mapping[str, list[DataFile]] | None,
    load: Callable[[str], Contract],
) -> Iterator[VerdictBeside]:
    """The verdicts of the versions that take effect later, or judge what lands below other prefixes."""
    for number, (version, note) in enumerate(zip(found.beside, found.notes(), strict=True) if found else ()):
        assert found is not None  # it has a version
        place = folder / f"beside-{number}"
        place.mkdir()
        try:
            document = load(f"{found.contract}@{version.version}")
            reports = [report for report, _ in judge_tables(replace(delivery, failures=None), document, place, tables)]
        except (InputError, ContractError) as error:
            yield check_result.verdict_beside(version, note, (), str(error))
        else:
            yield check_result.verdict_beside(version, note, reports)


def _judge_outputs(failures: Path | None, report: Path | None, documents: list[Path], files: list[DataFile]) -> None:
    """InputError where a file that an option names cannot be written, before any work is done for it."""
    inputs = [*documents, *(Path(file.name) for file in files if file.pin is None)]
    if failures is not None:
        from lakegate.local_check.failing_rows_file import SUFFIXES  # noqa: PLC0415 - pyarrow, for this option alone

        usable("--failures", failures, SUFFIXES, inputs)
    if report is not None:
        usable("--report", report, (".html",), inputs)


def _written(report: Path | None, reports: list[Report]) -> Iterator[str]:
    """Write the files that options name; yields what was written, in words."""
    if report is not None:
        from lakegate.report.delivery_report import render, render_tables  # noqa: PLC0415 - jinja2, for this option alone

        page = render(reports[0]) if len(reports) == 1 else render_tables(reports)
        write_text("--report", report, page)
        yield f"{report}: report written"
