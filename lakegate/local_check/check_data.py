"""Files of one delivery measured and judged in this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from lakegate.contract.contract_model import Contract
from lakegate.job.job_storage import PinnedObject
from lakegate.library.contract_files import ParentPlaces, load
from lakegate.local_check import check_result
from lakegate.local_check.data_files import DataFile, complete, files_by_dataset, link_file, link_references
from lakegate.plan.check import referred_datasets
from lakegate.plan.plan import Plan
from lakegate.plan.request import Request, StagedPart
from lakegate.plan.result import Result
from lakegate.plan.slice_order import SliceOrder
from lakegate.report.delivery_report import Report, names_of_parts
from lakegate.verdict.check_status import CheckOutcome, Status
from lakegate.verdict.reasons import in_words
from lakegate.verdict.verdict import Verdict, judge

if TYPE_CHECKING:
    from lakegate.engine.attempt import KeepRejected
    from lakegate.gate.registry.version_in_use import StatusDecision
    from lakegate.local_check.data_files import References


STEPS = {
    "start": "starting the engine",
    "derive": "running the query of the dataset",
    "open": "reading the header",
    "read": "reading every record",
    "measure": "measuring the checks",
    "explain": "looking up failing rows",
    "split": "splitting good rows from bad ones",
    "ask": "asking the contract's own queries",
    "slice": "writing the accepted rows as slices",
}


class EngineName(StrEnum):
    """The engine that measures a delivery; both give the same results."""

    NATIVE = "native"
    """This process, without a JVM."""
    SPARK = "spark"
    """The gate's own job, with Spark and Deequ."""


class TaskProgress(Protocol):
    """Receives the progress of a task."""

    def __call__(self, count: int) -> None:
        """So many more bytes were read."""
        ...

    def during(self, what: str) -> None:
        """Name the activity from now on."""
        ...


class _Silent:
    def __call__(self, count: int) -> None: ...

    def during(self, what: str) -> None: ...


ShowProgress = Callable[[str, int | None], AbstractContextManager[TaskProgress]]
"""Shows progress while a task is done: what is done first, and how many bytes it reads, if that is known."""


def silent(_what: str, _size: int | None) -> AbstractContextManager[TaskProgress]:
    """Show nothing."""
    return nullcontext(_Silent())


def measure(  # noqa: PLR0913, PLR0917 - a request and its plan, and where and how they are measured
    engine: EngineName,
    request: Request,
    plan: Plan,
    folder: Path,
    samples: int,
    pins: Mapping[str, PinnedObject],
    show: ShowProgress,
    keep_rejected: KeepRejected | None = None,
) -> Result:
    """Measure a delivery; the engine writes only below `folder`, and so many failing rows are named of each check at most.

    `pins`: the versions of objects of S3, by address. `keep_rejected` is given the rejected records.
    SetUpError where the engine cannot finish.
    """
    found: Result = import_module(f"{__package__}.{engine}_engine").measure(
        request, plan, folder, samples, pins, show, keep_rejected
    )
    return found


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
    parents: ParentPlaces = field(default_factory=ParentPlaces)
    """Of the contract and of the reference contracts."""
    slices: SliceOrder | None = None
    """The beginning of the slices of accepted rows, if some are to be written."""
    is_derived: bool = False
    """Whether the rows are those of the contract's query over the references, and not in the files."""


def judge_delivery(
    delivery: LocalDelivery, document: Contract, plan: Plan, folder: Path, show: ShowProgress = silent
) -> tuple[Report, tuple[str, ...]]:
    """The delivery, judged by a plan of its contract, and what its producer may do next.

    Temporary files are written to the folder.
    """
    delivery = replace(delivery, files=complete(delivery.files, plan.policy.delivery))
    others = [load(contract, delivery.parents) for contract in delivery.reference_contracts]
    references = files_by_dataset(document, plan, delivery.references, others)
    written = None
    if delivery.failures is not None:
        from lakegate.local_check.failing_rows_file import FailingRowsFile  # noqa: PLC0415 - pyarrow

        written = FailingRowsFile("--failures", delivery.failures, plan)
    report = _report(delivery, plan, references, folder, show, written.keep if written else None)
    return report, (*_advice(delivery, report, references), *((written.words,) if written else ()))


def decided_by_status(report: Report, decision: StatusDecision | None) -> Report:
    """The report with what the status of the dataset decides at the gate, whatever is delivered."""
    if decision is None or not (decision.refused or decision.warning):
        return report
    judgement, status = report.judgement, Status.FAIL if decision.refused else Status.WARN
    texts = (in_words(each).partition(": ") for each in decision.refused or (decision.warning,))
    outcomes = tuple(CheckOutcome(code, code, "status", (), status, "", "", None, text) for code, _, text in texts)
    warned = Verdict.ACCEPTED_WITH_WARNINGS if judgement.verdict is Verdict.ACCEPTED else judgement.verdict
    verdict = Verdict.REJECTED if decision.refused else warned
    return replace(report, judgement=replace(judgement, verdict=verdict, outcomes=(*outcomes, *judgement.outcomes)))


def _report(  # noqa: PLR0913, PLR0917 - a delivery, and how it is measured
    delivery: LocalDelivery,
    plan: Plan,
    references: References,
    folder: Path,
    show: ShowProgress,
    keep_rejected: KeepRejected | None,
) -> Report:
    shown = _unmasked(plan) if delivery.show_values else plan
    if not delivery.is_derived:
        shown = replace(shown, derived=None)
    pins = {file.name: file.pin for file in delivery.files if file.pin is not None}
    asked = _request(shown, delivery.files, folder)
    request = replace(asked, references=link_references(references, folder), slices=delivery.slices)
    result = measure(delivery.engine, request, shown, folder, check_result.MAX_SAMPLES, pins, show, keep_rejected)
    return Report(
        plan, judge(plan, result), result, names_of_parts(tuple(file.shown for file in delivery.files), result)
    )


def _unmasked(plan: Plan) -> Plan:
    """The plan with every field public: its results show values as they are."""
    fields = tuple(replace(field, classification="public") for field in plan.fields)
    return replace(plan, fields=fields, policy=replace(plan.policy, samples=True))


def _advice(delivery: LocalDelivery, report: Report, references: References) -> Iterator[str]:
    skipped = {outcome.id for outcome in report.judgement.outcomes if outcome.status is Status.SKIP}
    lines = referred_datasets(check for check in report.plan.checks if check.id in skipped)
    lacking = [line for line in lines if line not in references]
    if report.result.unreadable is None:
        yield from (f"To compare with accepted data: --reference {each}=FILE" for each in lacking)
    if any(reason.samples for reason in report.judgement.reasons):
        yield "--mask hides the values." if delivery.show_values else "--show-values shows the values."


def _request(plan: Plan, files: list[DataFile], folder: Path) -> Request:
    parts = tuple(part_of(file, folder / "staging", number) for number, file in enumerate(files))
    version = sha256(os.fsencode("\n".join(map(_mark, files)))).hexdigest()
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
    at = link_file(Path(file.name), staging, number)
    return StagedPart(at.as_uri(), at.stat().st_size, file.name)


def _mark(file: DataFile) -> str:
    """A name and what changes with the content."""
    if file.pin is not None:
        return f"{file.name}:{file.pin.version}:{file.pin.etag}"
    path = Path(file.name).resolve()
    return f"{path}:{path.stat().st_mtime_ns}"
