"""Files of one delivery measured and judged in this process."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

from lakegate.contract_files import ALONE, ParentPlaces, load
from lakegate.local_check import check_result
from lakegate.local_check.data_files import DataFile, accepted, complete, linked, referred, referred_lines
from lakegate.plan.request import Request, StagedPart
from lakegate.report import failing_rows_file
from lakegate.report.delivery_report import Report
from lakegate.verdict.check_status import Status
from lakegate.verdict.verdict import judge

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lakegate.contract.contract_model import Contract
    from lakegate.job.job_storage import PinnedObject
    from lakegate.local_check.data_files import References
    from lakegate.plan.plan import Plan
    from lakegate.plan.result import Result
    from lakegate.plan.slice_order import SliceOrder

# ---- The engines on this machine: a request and a plan in, a result out --------------------------------------------


STEPS = {
    "start": "starting the engine",
    "open": "reading the header",
    "read": "reading every record",
    "measure": "measuring the checks",
    "explain": "looking up failing rows",
    "split": "splitting good rows from bad ones",
    "ask": "asking the contract's own queries",
    "slice": "writing the accepted rows as slices",
}


class EngineName(StrEnum):
    """What measures a delivery; both give the same results."""

    NATIVE = "native"
    """This process, without a JVM."""
    SPARK = "spark"
    """The gate's own job, with Spark and Deequ."""


def measure(  # noqa: PLR0913, PLR0917 - a request and its plan, and where and how they are measured
    engine: EngineName, request: Request, plan: Plan, folder: Path, samples: int, pins: Mapping[str, PinnedObject]
) -> Result:
    """Measure a delivery; the engine writes only below `folder`, and so many failing rows are named of each check at most.

    `pins`: the versions of objects of S3, by address.
    SetUpError where the engine cannot finish.
    """
    found: Result = import_module(f"{__package__}.{engine}_engine").measure(request, plan, folder, samples, pins)
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
    report: Path | None = None
    """The HTML file to write."""
    parents: ParentPlaces = ALONE
    """Of the contract and of the reference contracts."""
    slices: SliceOrder | None = None
    """Where slices of the accepted rows begin, if some are to be written."""


def judge_delivery(
    delivery: LocalDelivery, document: Contract, plan: Plan, folder: Path
) -> tuple[Report, tuple[str, ...]]:
    """The delivery, judged by a plan of its contract, and what its producer may do next.

    Temporary files are written to the folder.
    """
    from lakegate.cli.command_runner import usable  # noqa: PLC0415 - a feature

    paths = [Path(each.name) for each in delivery.files if each.pin is None]
    inputs = [delivery.contract, *delivery.reference_contracts, *paths]
    if delivery.failures is not None:
        usable("--failures", delivery.failures, failing_rows_file.SUFFIXES, inputs)
    if delivery.report is not None:
        usable("--report", delivery.report, (".html",), inputs)
    delivery = replace(delivery, files=complete(delivery.files, plan.policy.delivery))
    others = [load(each, delivery.parents) for each in delivery.reference_contracts]
    references = accepted(document, plan, delivery.references, others)
    report = _report(delivery, plan, references, folder)
    return report, tuple(_advice(delivery, report, references))


def _report(delivery: LocalDelivery, plan: Plan, references: References, folder: Path) -> Report:
    shown = _unmasked(plan) if delivery.show_values else plan
    samples = check_result.SAMPLES if delivery.failures is None else failing_rows_file.MOST
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


# ---- Ctrl-C, SIGTERM or a closed terminal during a command that works in a folder of its own -----------------------


ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What ends a command: the folder holds values of the data in clear text, so it never stays."""


@contextmanager
def interruptible_folder() -> Iterator[Path]:
    """An empty temporary folder; while it exists, these signals end this process and its children at once, and remove the folder.

    No exception could do that reliably: an extension module that is being imported turns KeyboardInterrupt into ImportError,
    DuckDB into RuntimeError, destructors lose it, and Spark's own handler talks to the JVM in the middle of another call.
    """
    from lakegate.cli import terminal  # noqa: PLC0415 - a feature

    folder = Path(tempfile.gettempdir(), f"lakegate-{token_hex(8)}")

    def end(sent: int, _frame: object) -> None:
        terminal.say_interrupted()
        # other threads print tracebacks when their JVM or their files are gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), terminal.STANDARD_ERROR)
        for child in _descendants():
            with suppress(ProcessLookupError, ChildProcessError):  # no child of ours, or another thread waited for it
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(terminal.INTERRUPTED - signal.SIGINT + sent)

    before = {each: signal.signal(each, end) for each in ENDING}
    try:
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        for each, handler in before.items():
            signal.signal(each, handler)


def _descendants(process: int | str = "self") -> list[int]:
    """Processes that one started, and theirs; where the system lists none, a JVM ends by itself when its standard input does."""
    with suppress(OSError):
        lists = Path(f"/proc/{process}/task").glob("*/children")
        own = [int(child) for each in lists for child in each.read_text().split()]
        return [each for child in own for each in (child, *_descendants(child))]
    return []
