"""The public API: what `lakegate lint` and `lakegate check` do, as functions with typed results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from io import StringIO
from os import PathLike, fspath
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from lakegate.base.errors import InputError, Problem
from lakegate.base.json_codec import encode
from lakegate.base.text import plural
from lakegate.base.text import printable as escaped
from lakegate.library.contract_files import DefinitionFiles, ParentPlaces, load, plan_of, with_definitions
from lakegate.library.notebook_tables import report_in_html, table_in_html
from lakegate.library.written_tables import is_table, write_table
from lakegate.lints.linter import lint_report
from lakegate.local_check import check_result
from lakegate.local_check.check_data import EngineName, LocalDelivery, judge_delivery
from lakegate.local_check.data_files import DataFile, files_of
from lakegate.report.delivery_report import Report
from lakegate.report.verdict_text import show
from lakegate.verdict.check_status import CheckOutcome, Status
from lakegate.verdict.verdict import Verdict

Place = str | PathLike[str]
"""The path of a file."""
WIDTH: Final = 100
"""Characters of a line of `print(result)`."""


@dataclass(frozen=True, slots=True, repr=False)
class LintResult:
    """The errors and warnings of a contract document, in order of lines. A notebook shows them as a table."""

    valid: bool
    """Whether there is no error."""
    errors: tuple[Problem, ...]
    warnings: tuple[Problem, ...]
    _document: dict[str, object] = field(repr=False)

    def to_json(self) -> dict[str, object]:
        """The document that `lakegate lint --json` prints."""
        return self._document

    def __repr__(self) -> str:
        counts = f"{plural(len(self.errors), 'error')}, {plural(len(self.warnings), 'warning')}"
        return f"<LintResult {self._state}, {counts}>"

    def __str__(self) -> str:
        rows = (f"line {each.line}: {level} {each.code}: {each.message}" for level, each in self._problems())
        return "\n".join([*map(escaped, rows), self._state])

    @property
    def _state(self) -> str:
        return "valid" if self.valid else "refused"

    def _problems(self) -> list[tuple[str, Problem]]:
        return [*(("error", error) for error in self.errors), *(("warning", warning) for warning in self.warnings)]

    def _repr_html_(self) -> str:
        rows = [(level, str(each.line or ""), each.code, each.message) for level, each in self._problems()]
        return table_in_html(self._state, ("level", "line", "code", "message"), rows)


@dataclass(frozen=True, slots=True, repr=False)
class CheckResult:
    """The verdict on data and the outcome of every check.

    `print` shows what the command prints; a notebook shows causes and failures as a table, and folds what passed.
    """

    verdict: Verdict
    checks: tuple[CheckOutcome, ...]
    """Every check, in the order of the contract."""
    reasons: tuple[CheckOutcome, ...]
    """Reasons of the verdict, the worst first."""
    rows: int
    """Rows of all files together."""
    notes: tuple[str, ...]
    """What of a frame was compared by its values, because pandas had changed its types."""
    _document: dict[str, object]
    _report: Report

    def to_json(self) -> dict[str, object]:
        """The document that `lakegate check --json` prints (lakegate/schemas/check.json)."""
        return self._document

    def to_html(self) -> str:
        """The page that `lakegate check --report` writes, to pass on."""
        from lakegate.report.delivery_report import render  # noqa: PLC0415 - jinja2, for this page alone

        return render(self._report)

    def __repr__(self) -> str:
        failed = sum(each.status is Status.FAIL for each in self.checks)
        checks = f"{failed} of {plural(len(self.checks), 'check')} failed"
        return f"<CheckResult {self.verdict.value}, {plural(self.rows, 'row')}, {checks}>"

    def __str__(self) -> str:
        from rich.console import Console  # noqa: PLC0415 - only a result that is printed needs it

        text = StringIO()
        console = Console(file=text, highlight=False, no_color=True, width=WIDTH)
        show(console, self._report, show_all=False, advice=self.notes)
        return text.getvalue().rstrip("\n")

    def _repr_html_(self) -> str:
        return report_in_html(self._report, f"{self.verdict.value}, {plural(self.rows, 'row')}", self.notes)


def lint(contract: Place, *, parents: Sequence[Place] = (), root: Place | None = None) -> LintResult:
    """Judge a contract document: its syntax, the schema of its version and its meaning.

    `parents`: files and folders with contracts to inherit from; by default the folder of the document.
    `root`: the folder that `$ref` may read files from; by default that of the document.
    InputError where the file cannot be read. A document that is refused is a result, not an error.
    """
    from lakegate.inheritance.inherited_documents import resolve  # noqa: PLC0415 - `check` imports it only for a document that it can read

    try:
        places = _places(parents, root)
        files = DefinitionFiles(Path(contract).parent, places.root)
        text = with_definitions(Path(contract).read_bytes(), files, above=files.above)
        found = places.parents(fspath(contract), text)
        examined = resolve(text, found).examined
    except OSError as error:
        raise InputError(f"the contract {fspath(contract)} cannot be read: {error.strerror}") from error
    document = encode(lint_report({fspath(contract): examined}))
    return LintResult(examined.valid, examined.errors, examined.warnings, document)


def check(  # noqa: PLR0913 - the options of `lakegate check`
    contract: Place,
    data: Any,  # noqa: ANN401 - a path, paths, or a table of a library that is not required
    *,
    dataset: str | None = None,
    references: Sequence[str] = (),
    reference_contracts: Sequence[Place] = (),
    show_values: bool = False,
    parents: Sequence[Place] = (),
    root: Place | None = None,
) -> CheckResult:
    """Measure a table or local files, together one delivery, and return the verdict of the contract.

    `data`: files, folders, patterns such as `part-*.csv`, and `s3://` addresses (with the extra `aws`); or a table: a DataFrame
    of pandas, an Arrow table, or anything that exports an Arrow stream (polars, DuckDB). A table is measured as the file that
    its library writes of it in the format of the contract: a DataFrame without its index, with the contract's delimiter.
    `dataset`: which dataset, where the contract has several.
    `references`: accepted data that rules refer to, each `DATASET=FILE`; `reference_contracts`: the documents of other contracts.
    `show_values`: samples show values instead of shapes.
    `parents`: files and folders with contracts to inherit from; by default the folder of the document.
    `root`: the folder that `$ref` may read files from; by default that of the document.

    ContractError where the contract is refused, InputError where a file cannot be used, SetUpError where memory or disk do
    not suffice; all are LakegateError.
    """
    places = _places(parents, root)
    with TemporaryDirectory(prefix="lakegate-") as folder:
        files = [] if is_table(data) else _files(data)
        loaded = load(Path(contract), places)
        plan = plan_of(loaded, dataset)
        notes: tuple[str, ...] = ()
        if is_table(data):
            path, notes = write_table(data, plan, Path(folder))
            files = [DataFile(str(path), label=type(data).__name__)]
        inputs = check_result.Inputs(Path(contract), files, list(references))
        delivery = LocalDelivery(
            contract=Path(contract),
            dataset=dataset,
            files=files,
            references=list(references),
            reference_contracts=[Path(each) for each in reference_contracts],
            failures=None,
            show_values=show_values,
            engine=EngineName.NATIVE,
            parents=places,
        )
        report, _ = judge_delivery(delivery, loaded, plan, Path(folder))
        document = encode(check_result.judged(inputs, report))
    judgement = report.judgement
    return CheckResult(
        judgement.verdict, judgement.outcomes, judgement.reasons, judgement.rows, notes, document, report
    )


def _places(parents: Sequence[Place], root: Place | None) -> ParentPlaces:
    """Where parents and the files of references are searched."""
    return ParentPlaces(tuple(map(Path, parents)), root=None if root is None else Path(root))


def _files(data: object) -> list[DataFile]:
    """The files of a path or of paths. InputError where it is neither, or a file does not exist."""
    if isinstance(data, str | PathLike):
        return files_of([str(data)])
    if isinstance(data, Iterable):
        return files_of([str(each) for each in data])
    raise InputError(f"data is a path, a list of paths or a table, not {type(data).__name__}")
