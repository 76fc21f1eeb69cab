"""`lakegate dataset slice`: the accepted rows of local files as slices of Open Data Fabric."""

from __future__ import annotations

import shutil
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import typer

from lakegate.cli import terminal
from lakegate.cli.check import CheckExit, LocalDelivery, judge_delivery
from lakegate.cli.contracts import load, plan_of
from lakegate.cli.deliveries import files_of
from lakegate.cli.escape import escaped
from lakegate.cli.interrupts import interruptible_folder
from lakegate.cli.judgement_text import show
from lakegate.cli.options import DEFAULT_STACK
from lakegate.cli.parents import ParentPlaces
from lakegate.contracts.compile.slices import event_time_misfit, misfits
from lakegate.contracts.errors import InputError
from lakegate.contracts.judge.verdict import Verdict
from lakegate.contracts.plan.slices import SliceOrder, WrittenSlice
from lakegate.contracts.words import counted
from lakegate.engine.read.local import path_of

if TYPE_CHECKING:
    from pathlib import Path

    from lakegate.cli.engine import EngineName
    from lakegate.contracts.model.contract import Contract
    from lakegate.contracts.plan.plan import Plan
    from lakegate.contracts.report.delivery import Report

CODES = {Verdict.REJECTED: CheckExit.REJECTED, Verdict.UNDECIDED: CheckExit.UNDECIDED}


@dataclass(frozen=True, slots=True)
class Slicing:
    """What the command is given."""

    contract: Path
    data: list[str]
    into: Path
    dataset: str | None
    offset: int
    event_time: str | None
    parents: list[Path] | None
    engine: EngineName


def write(given: Slicing, *, as_json: bool) -> int:
    """Judge the files, write their slices, and print both; returns the exit code."""
    places = ParentPlaces.of(given.parents, DEFAULT_STACK, local=False)
    document, plan = _checked(given, places)
    delivery = LocalDelivery(
        given.contract,
        given.dataset,
        files_of(given.data),
        [],
        [],
        None,
        show_values=False,
        engine=given.engine,
        parents=places,
        slices=SliceOrder(given.offset, given.event_time),
    )
    with interruptible_folder() as folder:
        report, advice = judge_delivery(delivery, document, plan, folder)
        slices = _moved(report.result.slices, given.into)
    verdict = report.judgement.verdict
    if as_json:
        found = [{"file": str(path), **_described(each)} for path, each in slices]
        terminal.print_json({"verdict": verdict.value, "rows": report.judgement.rows, "slices": found})
    else:
        _print(report, advice, slices)
    return CODES.get(verdict, CheckExit.ACCEPTED)


def _checked(given: Slicing, places: ParentPlaces) -> tuple[Contract, Plan]:
    """The contract and its plan. InputError where the dataset has columns that no slice has, or no such times."""
    document = load(given.contract, places)
    plan = plan_of(document, given.dataset)
    dataset = next(each for each in document.datasets if each.name == plan.dataset)
    for field, reason in misfits(dataset):
        raise InputError(f"{given.contract}: {field}: {reason}")
    if given.event_time is not None:
        wrong = event_time_misfit(plan.fields, given.event_time)
        if wrong is not None:
            raise InputError(f"--event-time {given.event_time}: {wrong}; name a column of {given.contract}")
    return document, plan


def _moved(slices: tuple[WrittenSlice, ...], into: Path) -> list[tuple[Path, WrittenSlice]]:
    """The slices in their folder, by the offsets of their first rows."""
    found = [(into / f"{each.offset:020}.parquet", each) for each in slices]
    for path, _ in found:
        if path.exists():
            raise InputError(f"{path} exists: name another folder, or the --offset that follows the last slice")
    try:
        into.mkdir(parents=True, exist_ok=True)
        for path, each in found:
            shutil.copyfile(path_of(each.uri), path)
    except OSError as error:
        raise InputError(f"--into {into} cannot be written: {error.strerror}") from error
    return found


def _described(each: WrittenSlice) -> dict[str, object]:
    own = asdict(each)
    return {name: own[name] for name in ("rows", "offset", "event_times", "size", "logical", "physical")}


def _print(report: Report, advice: tuple[str, ...], slices: list[tuple[Path, WrittenSlice]]) -> None:
    show(terminal.answers(), report, show_all=False, advice=advice)
    for path, each in slices:
        typer.echo(
            f"{escaped(str(path))}: offsets {each.offset} to {each.offset + each.rows - 1}, {counted(each.size, 'byte')}"
        )
        typer.echo(f"  event times  {' to '.join(each.event_times)}")
        typer.echo(f"  logical      {each.logical}")
        typer.echo(f"  physical     {each.physical}")
