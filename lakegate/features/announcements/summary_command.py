"""`lakegate summary`: what `lakegate deliver --summary` states of a file, measured by the contract's own engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final

from lakegate.aws.open_stack import DEFAULT_STACK
from lakegate.base.errors import InputError
from lakegate.base.json_codec import encode
from lakegate.base.text import printable, quote
from lakegate.cli import terminal
from lakegate.cli.click_commands import Argument, Option
from lakegate.cli.command_runner import CommandResult, command, interruptible_folder
from lakegate.cli.options import ApiUrl, DefinitionRoot, Local, OfDataset, ParentPaths, StackName
from lakegate.contract.contract_model import Shape
from lakegate.contract.delivery_policy import Policy
from lakegate.contract.field_paths import column_name
from lakegate.contract.file_formats import Format
from lakegate.contract.logical_types import LogicalType
from lakegate.features.announcements.wanted_delivery import ColumnSummary, DataSummary
from lakegate.library import contract_files
from lakegate.library.contract_files import ParentPlaces, plan_of
from lakegate.local_check.check_data import EngineName, LocalDelivery, judge_delivery
from lakegate.local_check.data_files import DataFile
from lakegate.plan.check import NONE, Check, Tier, Unit
from lakegate.plan.metrics import Metric
from lakegate.plan.plan import Plan, PlanField
from lakegate.plan.predicates import Present, Within
from lakegate.plan.result import Result

OF_NUMBERS: Final = (LogicalType.INTEGER, LogicalType.NUMBER)
EXACT: Final = 2**53
"""Whole numbers below it are measured exactly."""


@command
def summary(  # noqa: PLR0913 - a command has these options
    file: Annotated[Path, Argument(help="The file that is to be delivered.")],
    *,
    contract: Annotated[str, Option(help="The contract document, or a published ID[@VERSION].")],
    dataset: OfDataset = None,
    parents: ParentPaths = None,
    root: DefinitionRoot = None,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    api: ApiUrl = None,
) -> CommandResult[DataSummary]:
    """Print the summary of a file as a JSON document: rows, columns, missing values, smallest and largest numbers.

    It is read as the contract says, and has no value of a column that the contract classifies. `lakegate deliver --summary`
    announces the file with it.

    Example: lakegate summary samples/weather-clean.csv --contract contracts/examples/weather.dcm.yaml
    """
    places = ParentPlaces.of(parents, stack, local=local, root=root)
    document = contract_files.load_named(contract, places, stack, local=local, api=api).contract
    plan = plan_of(document, dataset)
    fields = [column for column in plan.columns if column.shape is Shape.VALUE]
    checks = tuple(check for each in fields for check in _checks(each))
    measured = replace(plan, checks=checks, scheduled=(), policy=Policy(allow_empty=True, samples=False))
    delivery = LocalDelivery(
        Path(contract), dataset, [DataFile(str(file))], [], [], None, show_values=False, engine=EngineName.NATIVE
    )
    with interruptible_folder() as folder:
        report, _ = judge_delivery(delivery, document, measured, folder, terminal.bytes_arriving)
    found = _summary(plan, report.result, file)
    return CommandResult(found, terminal.json_words(encode(found)))


def _checks(field: PlanField) -> Iterator[Check]:
    """Counts missing values, and observes the smallest and the largest number, whatever they are."""
    of_nulls = Check(
        f"nulls/{field.alias}", "nulls", "required", (field.name,), Metric.FAILING_ROWS, Unit.ROWS, Tier(NONE)
    )
    yield replace(of_nulls, accept=Tier(NONE, Present(field.name)))
    if field.type in OF_NUMBERS:
        bound = Tier(NONE, Within(field.name, low="0"))
        yield replace(of_nulls, id=f"extremes/{field.alias}", rule="extremes", kind="min", accept=bound)


def _summary(plan: Plan, result: Result, file: Path) -> DataSummary:
    if result.unreadable is not None or result.columns is None:
        reason = result.unreadable.message if result.unreadable is not None else "it has no columns"
        raise InputError(f"{quote(printable(str(file)))} cannot be read: {reason}")
    columns = tuple(_column(plan, result, each) for each in result.columns.found)
    storage = plan.storage
    return DataSummary(
        rows=result.rows,
        columns=columns,
        format=None if storage.format is Format.ANY_JSON else storage.format,
        compression=storage.compression if storage.format.is_text else None,
        size=file.stat().st_size,
        shape=(result.rows, len(columns)),
    )


def _column(plan: Plan, result: Result, path: str) -> ColumnSummary:
    """A column of the file; of one that the contract does not name, the name alone."""
    field = next((column for column in plan.columns if column.name == path), None)
    known = result.measured
    nulls = known.get(f"nulls/{field.alias}") if field else None
    stated = ColumnSummary(column_name(path), nulls=nulls.accept.failing if nulls and nulls.accept else None)
    seen = known.get(f"extremes/{field.alias}") if field else None
    if field is None or seen is None or seen.observed is None or (field.classification and not field.public):
        return stated
    low, high = (_written(field, each) for each in (seen.observed.least, seen.observed.greatest))
    return replace(stated, minimum=low, maximum=high)


def _written(field: PlanField, value: float | None) -> str | float | None:
    """A number as the file may have it; None for a whole one that is not exact."""
    if value is None or field.type is LogicalType.NUMBER:
        return value
    return str(int(value)) if abs(value) < EXACT else None
