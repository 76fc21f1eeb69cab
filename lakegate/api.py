"""The public API: what `lakegate lint` and `lakegate check` do, as functions with typed results."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from os import PathLike, fspath
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from lakegate.cli import documents
from lakegate.cli.check import LocalDelivery, judge_delivery
from lakegate.cli.deliveries import files_of
from lakegate.cli.engine import EngineName
from lakegate.cli.escape import escaped
from lakegate.cli.inputs import below, with_definitions
from lakegate.cli.lint import as_document
from lakegate.cli.parents import ParentPlaces
from lakegate.contracts.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakegate.contracts.errors import Problem
    from lakegate.contracts.judge.outcomes import CheckOutcome
    from lakegate.contracts.judge.verdict import Verdict

Place = str | PathLike[str]
"""The path of a file."""


@dataclass(frozen=True, slots=True)
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

    def _repr_html_(self) -> str:
        problems = [(level, each) for level in ("error", "warning") for each in getattr(self, f"{level}s")]
        rows = [(level, str(each.line or ""), each.code, each.message) for level, each in problems]
        return _html("valid" if self.valid else "refused", ("level", "line", "code", "message"), rows)


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The verdict on data and the outcome of every check. A notebook shows them as a table."""

    verdict: Verdict
    checks: tuple[CheckOutcome, ...]
    """Every check, in the order of the contract."""
    reasons: tuple[CheckOutcome, ...]
    """What explains the verdict, the worst first."""
    rows: int
    """Rows of all files together."""
    _document: dict[str, object] = field(repr=False)

    def to_json(self) -> dict[str, object]:
        """The document that `lakegate check --json` prints (contracts/schemas/check.json)."""
        return self._document

    def _repr_html_(self) -> str:
        rows = [(each.status.value, each.rule, ", ".join(each.fields), each.message) for each in self.checks]
        return _html(f"{self.verdict.value}, {self.rows:,} rows", ("status", "rule", "field", "message"), rows)


def lint(contract: Place, *, parents: Sequence[Place] = ()) -> LintResult:
    """Judge a contract document: its syntax, the schema of its version and its meaning.

    `parents`: files and folders with contracts to inherit from; by default the folder of the document.
    InputError where the file cannot be read. A document that is refused is a result, not an error.
    """
    from lakegate.contracts.inherit.resolve import resolve  # noqa: PLC0415 - `check` imports it only for a document that it can read

    try:
        text = with_definitions(Path(contract).read_bytes(), below(Path(contract).parent))
        found = ParentPlaces(tuple(map(Path, parents))).parents(fspath(contract), text)
        examined = resolve(text, found).examined
    except OSError as error:
        raise InputError(f"the contract {fspath(contract)} cannot be read: {error.strerror}") from error
    return LintResult(examined.valid, examined.errors, examined.warnings, as_document({fspath(contract): examined}))


def check(  # noqa: PLR0913 - the options of `lakegate check`
    contract: Place,
    data: Place | Sequence[Place],
    *,
    dataset: str | None = None,
    references: Sequence[str] = (),
    reference_contracts: Sequence[Place] = (),
    show_values: bool = False,
    parents: Sequence[Place] = (),
) -> CheckResult:
    """Measure local files, together one delivery, and return the verdict of the contract.

    `data`: files, folders, patterns such as `part-*.csv`, and `s3://` addresses (with the extra `aws`).
    `dataset`: which dataset, where the contract has several.
    `references`: accepted data that rules refer to, each `DATASET=FILE`; `reference_contracts`: the documents of other contracts.
    `show_values`: samples show values instead of shapes.
    `parents`: files and folders with contracts to inherit from; by default the folder of the document.

    ContractError where the contract is refused, InputError where a file cannot be used, SetUpError where memory or disk do
    not suffice; all are LakegateError.
    """
    several = [data] if isinstance(data, str | PathLike) else list(data)
    files = files_of([str(each) for each in several])
    inputs = documents.Inputs(Path(contract), files, list(references))
    delivery = LocalDelivery(
        contract=Path(contract),
        dataset=dataset,
        files=files,
        references=list(references),
        reference_contracts=[Path(each) for each in reference_contracts],
        failures=None,
        show_values=show_values,
        engine=EngineName.NATIVE,
        parents=ParentPlaces(tuple(map(Path, parents))),
    )
    with TemporaryDirectory(prefix="lakegate-") as folder:
        report, _ = judge_delivery(delivery, Path(folder))
    judgement = report.judgement
    return CheckResult(
        judgement.verdict, judgement.outcomes, judgement.reasons, judgement.rows, documents.judged(inputs, report)
    )


def _html(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; texts of contracts and data are escaped, control characters included."""
    head = "".join(f"<th>{escape(each)}</th>" for each in columns)
    body = "".join("<tr>" + "".join(f"<td>{escape(escaped(each))}</td>" for each in row) + "</tr>" for row in rows)
    return f"<table><caption>{escape(title)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
