"""`lakegate drift`: the contract of a line against what is really in `accepted/`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.table import Table
from rich.text import Text

from lakegate.aws.open_stack import DEFAULT_STACK, opened
from lakegate.cli import terminal
from lakegate.cli.command_runner import AsJson, Line, Local, StackName
from lakegate.features.drift.schema_drift import OBJECTS, WORDS
from lakegate.features.drift.schema_drift import drift as report_of
from lakegate.gate.datasets.dataset_names import line_named
from lakegate.text import counted
from lakegate.text import printable as escaped

if TYPE_CHECKING:
    from lakegate.features.drift.schema_drift import DriftReport

DRIFTED = 1
SHOWN: Final = 20
"""Objects that the table lists."""


def drift(  # noqa: PLR0913 - a command has these options
    dataset: Line,
    *,
    contract_version: Annotated[
        str, typer.Option(help="The published version to compare with; by default the current one.")
    ] = "",
    objects: Annotated[
        int, typer.Option(min=1, max=1_000, help="How many accepted objects, the newest first.")
    ] = OBJECTS,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Compare the contract with the schemas of the newest accepted objects: declared fields must be there, others are free.

    Of each object only the head or the footer is read. Nested and repeated fields are compared, too.

    Example: lakegate drift orders --contract-version 1.2.0

    Exit code: 0 no drift, 1 drift, 2 it cannot be compared.
    """
    from lakegate.features.drift.schema_drift import EngineSchemas  # noqa: PLC0415 - pyarrow is for this command alone

    with opened(stack, local=local) as there:
        dependencies = there.dependencies()
        line = line_named(dependencies, dataset)
        report = report_of(dependencies, EngineSchemas(dependencies.objects), line, contract_version, objects)
    if as_json:
        terminal.print_json(_as_document(report))
    else:
        _print(report)
    if report.drifted:
        raise typer.Exit(DRIFTED)


def _as_document(report: DriftReport) -> dict[str, object]:
    return {
        "line": report.line,
        "contract_version": report.version,
        "compared": report.objects,
        "fields": [
            {"difference": kind, "field": field or None, "objects": count} for kind, field, count in report.fields
        ],
        "drifted": [
            {
                **asdict(each),
                "differences": [
                    {"difference": one.kind, "field": one.field or None, "found": one.found or None}
                    for one in each.differences
                ],
            }
            for each in report.drifted
        ],
    }


def _print(report: DriftReport) -> None:
    console = terminal.answers()
    what = f"{report.line} against version {report.version}"
    if not report.objects:
        console.print(escaped(f"{what}: nothing was accepted yet."), markup=False, soft_wrap=True)
        return
    objects = counted(report.objects, "object")
    count = counted(len(report.drifted), f"of {objects} differs", f"of {objects} differ")
    console.print(
        escaped(f"{what}: {count if report.drifted else f'{objects}, no drift'}."),
        soft_wrap=True,
    )
    if report.drifted:
        terminal.wide().print(_table(report))
    if (more := len(report.drifted) - SHOWN) > 0:
        console.print(f"{counted(more, 'more object')}: --json lists all.")


def _table(report: DriftReport) -> Table:
    grid = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("height", "version", "object", "field", "difference"):
        grid.add_column(name, overflow="fold")
    for each in report.drifted[:SHOWN]:
        for one in each.differences:
            words = f"{WORDS[one.kind]}: {one.found}" if one.found else WORDS[one.kind]
            cells = (str(each.height), each.version, each.key.partition("/ingest_date=")[2], one.field, words)
            grid.add_row(*(Text(escaped(cell)) for cell in cells))
    return grid
