"""`lakegate check`: the job itself on local files, and the verdict the gate would give."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from enum import IntEnum
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli import report, terminal
from cli.contracts import load, plan_of
from cli.referring import accepted, linked, referred
from contracts.errors import SetUpError

if TYPE_CHECKING:
    from contracts.plan import Plan
    from contracts.request import Request
    from contracts.result import Result

STEPS = {
    "start": "starting Spark",
    "open": "reading the header",
    "read": "reading every record",
    "measure": "measuring the checks with Deequ",
    "explain": "looking up failing rows",
    "split": "splitting good rows from bad ones",
    "ask": "asking the contract's own queries",
}


class Exit(IntEnum):
    """What the command's exit code says."""

    ACCEPTED = 0
    REJECTED = 1
    UNDECIDED = 3


def check(  # noqa: PLR0913, PLR0917 - every option of the command is one
    data: Annotated[list[Path], typer.Argument(help="The files of one delivery.", show_default=False)],
    contract: Annotated[Path, typer.Option(help="The contract document (ODCS, DCS or DCM).", show_default=False)],
    reference: Annotated[
        list[str] | None,
        typer.Option(help="What was accepted of a dataset that rules refer to: DATASET=FILE, once for each file."),
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="Which dataset, where the contract has several.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
    show_all: Annotated[bool, typer.Option("--all", help="Show every passed check on a line of its own.")] = False,
) -> None:
    """Say what the gate would say about files, with Spark on this machine.

    Example: lakegate check --contract contracts/examples/weather.dcm.yaml samples/weather-clean.csv
    """
    document = load(contract)
    plan = plan_of(document, dataset)
    result = _measured(plan, data, accepted(document, reference or []))
    from contracts.verdict import Verdict, judge  # noqa: PLC0415 - start-up is paid by every command

    judgement = judge(plan, result)
    if as_json:
        terminal.print_json(report.as_document(plan, judgement, result))
    else:
        report.show(terminal.wide(), plan, judgement, result, show_all=show_all)
    codes = {Verdict.REJECTED: Exit.REJECTED, Verdict.UNDECIDED: Exit.UNDECIDED}
    raise typer.Exit(codes.get(judgement.verdict, Exit.ACCEPTED))


def _measured(plan: Plan, data: list[Path], references: dict[str, tuple[Plan, list[Path]]]) -> Result:
    from infra.local.spark import LOG, use_local_spark  # noqa: PLC0415 - start-up is paid by every command

    folder = Path(tempfile.mkdtemp(prefix="lakegate-"))
    try:
        request = replace(_request(plan, _staged(data, folder), folder), references=referred(references, folder))
        use_local_spark(folder, sum(part.size for part in request.parts))
        return _with_progress(request, plan)
    except _spark_failures() as error:
        kept = shutil.copy(folder / LOG, Path(tempfile.gettempdir()) / f"{folder.name}.log")
        raise SetUpError(f"Spark could not finish ({type(error).__name__}); its log is {kept}") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _with_progress(request: Request, plan: Plan) -> Result:
    with terminal.errors().status("starting Spark") as status:
        from spark_jobs.validate import validate  # noqa: PLC0415 - Spark's imports, under the spinner

        return validate(request, plan, lambda step: status.update(STEPS[step]))


def _spark_failures() -> tuple[type[Exception], ...]:
    from py4j.protocol import Py4JError  # noqa: PLC0415 - start-up is paid by every command
    from pyspark.errors import PySparkException  # noqa: PLC0415 - likewise

    return Py4JError, PySparkException


def _staged(data: list[Path], folder: Path) -> list[Path]:
    return [linked(path, folder / "staging", number) for number, path in enumerate(data)]


def _request(plan: Plan, staged: list[Path], folder: Path) -> Request:
    from contracts.request import Part, Request  # noqa: PLC0415 - start-up is paid by every command

    version = sha256("\n".join(f"{path.resolve()}:{path.stat().st_mtime_ns}" for path in staged).encode()).hexdigest()
    return Request(
        workload=version,
        attempt=1,
        plan_uri=(folder / "plan.json").as_uri(),
        plan_digest=plan.digest,
        source_version=version,
        parts=tuple(Part(path.as_uri(), path.stat().st_size) for path in staged),
        judged_at=datetime.now(UTC).isoformat(timespec="seconds"),
        output_uri=(folder / "out").as_uri(),
    )
