"""Document of `check --json`; difference to an earlier check."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import file_digest
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from lakegate.base.errors import ContractError, InputError, LakegateError, Problem, SetUpError
from lakegate.base.json_codec import UNWRITTEN, Bounds, Count, Permitted, Sha256, encode, omit_default
from lakegate.base.text import plural
from lakegate.plan.billed_cost import Amount
from lakegate.plan.result import MASKED_MISTAKES, Sample
from lakegate.report.dcm_results import MeasuringTechnology, technologies
from lakegate.report.delivery_report import CheckChange, CheckFinding, Progress, Report, is_masked, is_raw
from lakegate.verdict.check_status import CheckOutcome, Status
from lakegate.verdict.verdict import Verdict, counts_of, worst

if TYPE_CHECKING:
    from lakegate.gate.registry.version_in_use import VersionBeside
    from lakegate.local_check.data_files import DataFile

# ---- `lakegate check --against` ----


SHOWN_CHECKS = 20
"""Checks of a group on the terminal."""
WORDS = {
    "fixed": "fixed",
    "still_broken": "still broken",
    "newly_broken": "newly broken",
    "not_measured": "not measured any more",
}


@dataclass(frozen=True, slots=True)
class Earlier:
    """The earlier result of a comparison."""

    name: str
    verdict: str
    findings: Mapping[str, CheckFinding]


def earlier(name: str, stack: str, *, local: bool) -> Earlier:
    """The earlier result: a file that `check --json` or `reasons --json` wrote, else a delivery of a stack.

    InputError where there is none, or it was not judged.
    """
    path = Path(name)
    return _of_file(path) if path.suffix == ".json" and path.is_file() else _of_delivery(name, stack, local=local)


def _of_file(path: Path) -> Earlier:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        checks, verdict = document["checks"], document["verdict"]
        findings = {
            str(check["id"]): CheckFinding(Status(check["status"]), _rows(check["failing_rows"])) for check in checks
        }
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(
            f"--against {path}: this is no answer of `lakegate check --json` or `lakegate reasons --json`"
        ) from error
    if verdict is None or not findings:
        raise InputError(f"--against {path}: nothing was measured then")
    return Earlier(str(path), str(verdict), findings)


def _rows(value: Any) -> int | None:  # noqa: ANN401 - of a document
    return value if isinstance(value, int) else None


def _of_delivery(name: str, stack: str, *, local: bool) -> Earlier:
    # a stack needs the extra `aws`, and its imports take longer than a check
    from lakegate.admission.refusals import code_of  # noqa: PLC0415
    from lakegate.aws.open_stack import open_deployed  # noqa: PLC0415
    from lakegate.gate.delivery.find_deliveries import find_delivery  # noqa: PLC0415
    from lakegate.library.described_deliveries import LATEST, delivery_status  # noqa: PLC0415 - a feature

    with open_deployed(stack, local=local) as there:
        dependencies = there.dependencies()
        delivery = find_delivery(dependencies, name, LATEST)
        one = delivery_status(dependencies, delivery)
    row = delivery.row
    if one.measured is not None:
        outcomes = one.measured.judgement.outcomes
        findings = {outcome.id: CheckFinding(outcome.status, outcome.failing_rows) for outcome in outcomes}
    elif row is not None and row.decision is not None:
        findings = {code_of(reason): CheckFinding(Status.FAIL) for reason in row.decision.reasons}
    else:
        raise InputError(f"--against {name}: {one.key} was not judged yet")
    return Earlier(f"{one.key} (workload {one.workload[:12]})", one.verdict or "undecided", findings)


def lines(before: Earlier, found: Progress) -> Iterator[str]:
    """The comparison for people."""
    counts = ", ".join(
        f"{len(getattr(found, name)):,} {words}"
        for name, words in WORDS.items()
        if name != "not_measured" or found.not_measured
    )
    yield f"Against {before.name}, {before.verdict.replace('_', ' ')}: {counts}"
    for name, words in WORDS.items():
        group: tuple[CheckChange, ...] = getattr(found, name)
        for each in group[:SHOWN_CHECKS]:
            yield f"  {words}: {each.id}{_numbers(each)}"
        if len(group) > SHOWN_CHECKS:
            yield f"  {words}: {len(group) - SHOWN_CHECKS:,} more"


def _numbers(each: CheckChange) -> str:
    before, now = (None if one is None else one.rows for one in (each.before, each.after))
    return "" if before is None or now is None else f" ({plural(before, 'failing row')} before, {now:,} now)"


@dataclass(frozen=True, slots=True)
class Against:
    """The checks that are, or were, broken, beside an earlier result."""

    name: str
    verdict: str
    fixed: tuple[CheckChange, ...]
    still_broken: tuple[CheckChange, ...]
    newly_broken: tuple[CheckChange, ...]
    not_measured: tuple[CheckChange, ...]


def against(before: Earlier, found: Progress) -> Against:
    """The comparison for programs."""
    return Against(before.name, before.verdict, *(getattr(found, name) for name in WORDS))


# ---- The document of `check --json` ----


SAID: Final = {
    Verdict.ACCEPTED: "accepted",
    Verdict.ACCEPTED_WITH_WARNINGS: "accepted with warnings",
    Verdict.REJECTED: "rejected",
    Verdict.UNDECIDED: "left undecided",
}
CHECK_VERSION: Final = "lakegate/check/1"
TABLES_VERSION: Final = "lakegate/check-tables/1"
MAX_SAMPLES = 20
"""Failing rows of a check in the document."""
StatusName = Annotated[str, Permitted(tuple(each.value for each in Status))]


@dataclass(frozen=True, slots=True)
class Tool:
    """The program that wrote the document."""

    name: Literal["lakegate"]
    version: str


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """A data file."""

    file: str
    size: Count | None
    """Bytes; null where the file cannot be read, and of a table."""
    sha256: Sha256 | None
    """Null where the file cannot be read, of an object of S3, and of a table."""
    etag: str = omit_default("")
    """The ETag of an object of S3; files have none."""
    snapshot: str = omit_default("")
    """Of a table of Iceberg the id of the snapshot that was judged, of Delta the version; others have none."""


@dataclass(frozen=True, slots=True)
class CheckInputs:
    """The inputs of the command."""

    contract: str
    """The contract document as it was named."""
    files: Annotated[tuple[CheckedFile, ...], Bounds(1)]
    references: tuple[str, ...]
    """`NAME=FILE`, as given with --reference."""


@dataclass(frozen=True, slots=True)
class UnusableInput:
    """An input that cannot be used."""

    kind: Annotated[str, Permitted(("contract", "input", "set-up"))]
    """The contract document, a file or option, or this machine."""
    message: str
    problems: tuple[Problem, ...]
    """Of a contract, as `lint --json` lists them."""


@dataclass(frozen=True, slots=True)
class CheckedContract:
    """The contract by which the files were judged."""

    id: str
    version: str
    plan: Sha256
    """Digest of the compiled plan: the same at the gate."""


@dataclass(frozen=True, slots=True)
class CheckReason:
    """A reason of the verdict."""

    id: str
    message: str
    explains: tuple[str, ...]
    """Ids of the checks that a cause of the file explains; empty where the reason is a check itself."""


@dataclass(frozen=True, slots=True)
class CheckMeasurement:
    """The measurement of a check."""

    text: str
    value: float | None
    """The number that is compared with the threshold; null where there was no value to take it of."""
    unit: str
    """`rows`, `elements`, `columns`, `values`, `characters`, `answers`, `seconds`, `percent`, `share` or `value`."""
    rows: Count | None
    """Rows (or elements, or keys) that break the rule, where such are counted."""
    of: Count
    """Rows (or elements, or keys) the number was taken over."""


@dataclass(frozen=True, slots=True)
class SampledRow:
    """One failing row in documents."""

    file: str
    part: Count
    """Place of the file among the inputs, from 0."""
    row: Annotated[int, Bounds(1)]
    """Line of the file, the header included; the record's number, where there are no lines."""
    at: str = omit_default("")
    """The place in the row, for an element of a list or a map: `items[2]`."""
    record: Annotated[str, Permitted(("header", "blank", "total"))] | None = omit_default(None)
    """The kind of a record without data: the header line once more, or no values."""
    mistake: Annotated[str, Permitted(MASKED_MISTAKES)] | None = omit_default(None)
    """What is wrong with the one value, where its shape is that of a good one."""
    values: tuple[str | None, ...] = field(kw_only=True)
    """Values of the check's fields: shapes (`aaa-99`) where masked; null where there is none."""
    masked: tuple[bool, ...] = field(kw_only=True)
    """Of each value whether it is masked."""


@dataclass(frozen=True, slots=True)
class CheckDetails:
    """One check: what was wanted, what was measured, and the first failing rows."""

    id: str
    rule: str
    field: str | None
    """Several fields are joined by `, `."""
    status: StatusName
    metric: str | None
    """The metric, e.g. `failing_rows`; null for properties of the file itself, and where nothing is measured."""
    threshold: str
    """The requirement, in words."""
    measured: CheckMeasurement | None
    """Null where nothing was measured."""
    technology: str | None
    """The technology that measured: Deequ, Spark, DuckDB, Lakegate, or that of a validator; null where nothing was measured."""
    version: str | None
    """Of the technology."""
    failing_rows: Count | None
    message: str
    samples: Annotated[tuple[SampledRow, ...], Bounds(most=MAX_SAMPLES)]
    """The first failing rows."""
    good_shapes: tuple[str, ...]
    """The commonest shapes of values that pass."""


@dataclass(frozen=True, slots=True)
class VerdictBeside:
    """What a version says of the files that takes effect later, or judges what lands below other prefixes."""

    version: str
    takes_effect: str | None
    """The time from which it is in force (RFC 3339, UTC); null: it is."""
    prefixes: tuple[str, ...]
    """Prefixes that deliver to it."""
    verdict: Verdict | None
    """Null where the files cannot be judged by it."""
    because: str | None
    """The first reason; null where they are accepted."""
    note: str = field(default="", compare=False, metadata=UNWRITTEN)
    """When, and where, the version judges."""

    def in_words(self, files: int) -> str:
        """A sentence for people; of so many files."""
        what = "this file" if files == 1 else "these files"
        ending = "cannot be judged by it" if self.verdict is None else f"would be {SAID[self.verdict]} by it"
        return f"{self.note}: {what} {ending}{f' ({self.because})' if self.because else ''}."


def verdict_beside(version: VersionBeside, note: str, reports: Sequence[Report], unusable: str = "") -> VerdictBeside:
    """What a version says of files that were judged by it; `unusable`: why they cannot be."""
    verdict = worst(report.judgement.verdict for report in reports) if reports else None
    reasons = [report.message(each) for report in reports for each in report.judgement.reasons]
    because = unusable or (reasons[0] if reasons else "")
    return VerdictBeside(
        version.version, version.takes_effect, version.prefixes, verdict, because.rstrip(".") or None, note
    )


@dataclass(frozen=True, slots=True)
class CheckDocument:
    """The result of `lakegate check --json`. What is judged is null, or empty, where nothing was."""

    version: Literal["lakegate/check/1"]
    tool: Tool
    inputs: CheckInputs
    verdict: Verdict | None
    """Null where nothing was judged: see `error`."""
    error: UnusableInput | None
    """The reason why there is no verdict; exit code 2."""
    dataset: str | None
    contract: CheckedContract | None
    rows: Count | None
    """Records of all files, malformed ones included."""
    published_rows: Count | None
    """Rows that the gate would publish."""
    rejected_rows: Count | None
    """Rows that the gate would put into quarantine."""
    breaking_rows: Count | None
    """Rows that break a rule that single rows can break, or are malformed."""
    counts: Annotated[dict[StatusName, Count], Bounds(len(Status))] | None
    """Checks by status; `skip` was not measured."""
    reasons: tuple[CheckReason, ...]
    """Reasons of the verdict, the worst first."""
    checks: tuple[CheckDetails, ...]
    timings: dict[str, Amount]
    """Seconds by step."""
    against: Against | None = omit_default(None)
    """With --against only."""
    beside: tuple[VerdictBeside, ...] = omit_default(())
    """What other versions say, of a published contract without a version."""


@dataclass(frozen=True, slots=True)
class CheckTablesDocument:
    """The result of `lakegate check --json` for several datasets of a contract."""

    version: Literal["lakegate/check-tables/1"]
    verdict: Verdict
    """Rejected where one table is, else undecided where one is."""
    tables: Annotated[tuple[CheckDocument, ...], Bounds(2)]
    """One document of check.json for each dataset that has files, in the order of the contract."""
    against: Against | None = omit_default(None)
    """Improvements on an earlier result."""
    beside: tuple[VerdictBeside, ...] = omit_default(())
    """As that of a table."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """The inputs of the command."""

    contract: Path | str
    """The file, or the name of what is published."""
    files: list[DataFile]
    references: list[str]

    def document(self) -> CheckInputs:
        """The contract's file, and every data file with its size and SHA-256."""
        return CheckInputs(str(self.contract), tuple(map(_file, self.files)), tuple(self.references))


def judged(inputs: Inputs, report: Report) -> CheckDocument:
    """The document of a delivery that was judged."""
    plan, judgement = report.plan, report.judgement
    counts = counts_of(plan, judgement)
    return replace(
        _document(inputs),
        verdict=judgement.verdict,
        dataset=plan.dataset,
        contract=CheckedContract(plan.contract, plan.contract_version, plan.digest),
        rows=counts.rows,
        published_rows=counts.published_rows,
        rejected_rows=counts.rejected_rows,
        breaking_rows=judgement.rejected_rows,
        counts=counts.checks,
        reasons=_reasons(report),
        checks=_checks(report),
        timings=report.result.timings,
    )


def judged_tables(inputs: Inputs, reports: Sequence[Report]) -> CheckDocument | CheckTablesDocument:
    """The document of one dataset; of several, one with the documents of all."""
    if len(reports) == 1:
        return judged(inputs, reports[0])
    files = {file.shown: file for file in inputs.files}
    tables = tuple(judged(replace(inputs, files=[files[name] for name in report.files]), report) for report in reports)
    verdict = worst(report.judgement.verdict for report in reports)
    return CheckTablesDocument(TABLES_VERSION, verdict, tables)


def refused(inputs: Inputs, error: LakegateError) -> CheckDocument:
    """The document where contract, data or machine cannot be used."""
    kind = {ContractError: "contract", SetUpError: "set-up"}.get(type(error), "input")
    problems = error.problems if isinstance(error, ContractError) else ()
    return replace(_document(inputs), error=UnusableInput(kind, str(error), problems))


def _reasons(report: Report) -> tuple[CheckReason, ...]:
    """Causes with the checks that they explain, and the checks that no cause explains."""
    explains = {cause.as_outcome(): tuple(cause.explains) for cause in report.judgement.causes}
    reasons = report.judgement.reasons
    return tuple(CheckReason(reason.id, report.message(reason), explains.get(reason, ())) for reason in reasons)


def checks(report: Report) -> list[dict[str, object]]:
    """Every check with what was wanted, what was measured, and the first failing rows."""
    return [encode(check) for check in _checks(report)]


def _checks(report: Report) -> tuple[CheckDetails, ...]:
    metrics = {check.id: check.metric.value for check in report.plan.checks if check.skip is None}
    by = technologies(report.plan, report.judgement, report.result)
    return tuple(
        _check(report, outcome, metrics.get(outcome.id), by.get(outcome.id)) for outcome in report.judgement.outcomes
    )


def _document(inputs: Inputs) -> CheckDocument:
    """The keys of every document before there is a verdict."""
    unknown = (None,) * 9
    return CheckDocument(CHECK_VERSION, Tool("lakegate", version("lakegate")), inputs.document(), *unknown, (), (), {})


def _file(file: DataFile) -> CheckedFile:
    if file.pin is not None:
        return CheckedFile(file.shown, file.pin.size, None, file.pin.etag)
    try:
        with Path(file.name).open("rb") as opened:
            digest = file_digest(opened, "sha256").hexdigest()
            return CheckedFile(file.shown, opened.tell(), digest)
    except OSError:
        return CheckedFile(file.shown, None, None, snapshot=file.snapshot)


def _check(report: Report, outcome: CheckOutcome, metric: str | None, by: MeasuringTechnology | None) -> CheckDetails:
    numbers = outcome.numbers
    return CheckDetails(
        id=outcome.id,
        rule=outcome.rule,
        field=", ".join(outcome.fields) or None,
        status=outcome.status.value,
        metric=metric,
        threshold=outcome.wanted,
        measured=CheckMeasurement(outcome.measured, **asdict(numbers)) if numbers else None,
        technology=by.name if by else None,
        version=by.version if by else None,
        failing_rows=outcome.failing_rows,
        message=report.message(outcome),
        samples=tuple(sample_of(report, sample) for sample in outcome.samples[:MAX_SAMPLES]),
        good_shapes=tuple(outcome.good),
    )


def sample_of(report: Report, sample: Sample) -> SampledRow:
    """One failing row: its place, and its values, and whether each is masked."""
    masked = tuple(is_masked(sample, at) for at in range(len(sample.shapes)))
    values = tuple(text if masked[at] or is_raw(sample, at) else None for at, text in enumerate(sample.shapes))
    place = report.files[sample.part], sample.part, sample.row, sample.at
    return SampledRow(*place, sample.record, sample.mistake, values=values, masked=masked)
