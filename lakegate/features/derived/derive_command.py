"""`lakegate derive`: datasets that are computed of others, on this machine or in a stack."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from shutil import copyfile
from typing import Annotated, Final

from lakegate.base.errors import InputError
from lakegate.base.json_codec import select_fields
from lakegate.base.text import join_words
from lakegate.cli import terminal
from lakegate.cli.click_commands import CommandGroup, Option
from lakegate.cli.command_runner import CommandResult, command, gate_command, interruptible_folder
from lakegate.cli.options import ContractFile, DatasetFilter, DatasetName, EveryCheck, OfDataset
from lakegate.cli.terminal import Word
from lakegate.contract.contract_model import DATASET_KEY, Contract, full_dataset_name
from lakegate.contract.delivery_policy import Derivation
from lakegate.contract.semantic_versions import major
from lakegate.engine.read.data_source import path_of
from lakegate.features.derived.derivation_settings import column_faults
from lakegate.features.derived.derivation_task import DerivationState, derived_datasets, run_now
from lakegate.gate.datasets.dataset_names import dataset_named, datasets_fitting
from lakegate.gate.dependencies import Dependencies
from lakegate.library.contract_files import load, plan_of
from lakegate.local_check.check_data import EngineName, LocalDelivery, judge_delivery
from lakegate.local_check.data_files import DataFile
from lakegate.report.delivery_report import Report
from lakegate.report.verdict_text import show
from lakegate.rules.compile_plan import compile_plan
from lakegate.verdict.verdict import Verdict

app = CommandGroup(help="Datasets that are computed of accepted data of others.")
EXIT_CODES: Final = {Verdict.REJECTED: 1, Verdict.UNDECIDED: 3}


@dataclass(frozen=True, slots=True)
class CheckedDerivation:
    """The rows of a query over local files, judged."""

    dataset: str = field(metadata=DATASET_KEY)
    verdict: str
    rows: int
    reasons: tuple[str, ...]
    output: tuple[str, ...]
    """Files that the rows were written to."""


@app.command("check")
@command
def check_derivation(  # noqa: PLR0913, PLR0917 - every option of the command is one
    contract: ContractFile,
    given: Annotated[list[str], Option("--input", help="An accepted file of an input: NAME=FILE, once for each file.")],
    documents: Annotated[list[Path], Option("--input-contract", help="The contract of an input: FILE, once for each.")],
    dataset: OfDataset = None,
    output: Annotated[Path | None, Option(help="Write the rows into this file (.parquet).")] = None,
    show_values: Annotated[
        bool | None,
        Option("--show-values/--mask", help="Show failing values, or their shapes; by default on a terminal."),
    ] = None,
    show_all: EveryCheck = False,
    engine: Annotated[EngineName, Option(help="native, or spark: the results are the same.")] = EngineName.NATIVE,
) -> CommandResult[CheckedDerivation]:
    """Run the query of a derived dataset over local files of its inputs, and say what the gate would say of its rows.

    Example: lakegate derive check --contract daily.odcs.yaml --input orders=orders.csv --input-contract orders.odcs.yaml

    Exit codes: 0 accepted, with or without warnings; 1 rejected; 2 a contract or a file cannot be used; 3 undecided.
    """
    document = load(contract)
    plan = plan_of(document, dataset)
    derivation = plan.policy.derive
    if derivation is None:
        raise InputError(f"{plan.dataset} is not derived: its contract has no `derive`")
    if output is not None and output.suffix != ".parquet":
        raise InputError(f"--output {output}: rows are written as Parquet: give a name that ends with .parquet")
    _compare_columns(derivation, [document, *map(load, documents)])
    with interruptible_folder() as folder:
        request = folder / "query"
        request.touch()
        delivery = LocalDelivery(
            contract,
            plan.dataset,
            [DataFile(str(request), label="the rows of the query")],
            list(_references(derivation, given)),
            documents,
            None,
            terminal.is_read_by_a_person() if show_values is None else show_values,
            engine,
            is_derived=True,
        )
        report, advice = judge_delivery(delivery, document, plan, folder)
        written = tuple(_written(report, output)) if output is not None else ()
    verdict = report.judgement.verdict
    reasons = tuple(report.message(each) for each in report.judgement.reasons)
    checked = CheckedDerivation(report.dataset, verdict.value, report.result.rows, reasons, written)
    words: list[Word] = [lambda console: show(console, report, show_all=show_all, advice=advice)]
    words += [f"The rows are in {each}." for each in written]
    return CommandResult(checked, words, exit_code=EXIT_CODES.get(verdict, 0))


def _compare_columns(derivation: Derivation, documents: list[Contract]) -> None:
    """Raise InputError where the columns of an input are not those of its contract, as publishing does."""
    plans = {
        full_dataset_name(each.id, one.name, major(each.version)): compile_plan(each, one)
        for each in documents
        for one in each.datasets
    }
    for each in derivation.inputs:
        if each.dataset not in plans:
            given = join_words(plans)
            raise InputError(f"{each.dataset}: give its contract with --input-contract FILE; given are {given}")
        if faults := list(column_faults(each, plans[each.dataset])):
            raise InputError(" ".join(faults))


def _references(derivation: Derivation, given: list[str]) -> Iterator[str]:
    """The files of inputs, each by the whole name of its dataset. InputError for a name that the query does not have."""
    datasets = {each.name: each.dataset for each in derivation.inputs}
    for each in given:
        name, _, path = each.partition("=")
        if not path or name not in datasets:
            raise InputError(f"--input {each}: write NAME=FILE, with an input of the query: {join_words(datasets)}")
        yield f"{datasets[name]}={path}"
    if absent := sorted(datasets.keys() - {each.partition("=")[0] for each in given}):
        raise InputError(f"the query reads {join_words(absent)}, too: name a file of each with --input")


def _written(report: Report, output: Path) -> Iterator[str]:
    """Copy the rows to a file, or to several of its name with a number."""
    parts = report.result.derived
    for number, each in enumerate(parts):
        target = output if len(parts) == 1 else output.with_stem(f"{output.stem}-{number:05}")
        copyfile(path_of(each.uri), target)
        yield str(target)


# ---- In a stack ----


@dataclass(frozen=True, slots=True)
class DerivedInput:
    """An input of a derived dataset, and the height up to which it was read."""

    dataset: str
    height: int


@dataclass(frozen=True, slots=True)
class DerivedDataset:
    """A derived dataset, and its latest request."""

    dataset: str = field(metadata=DATASET_KEY)
    version: str | None
    """Of the contract; null: it is not derived any more."""
    schedule: str | None
    next: str | None
    key: str | None
    """Of the latest request in landing, which `lakegate status` and `reasons` take."""
    at: str | None
    inputs: tuple[DerivedInput, ...]


@dataclass(frozen=True, slots=True)
class DerivedDatasets:
    """Derived datasets of a stack."""

    derived: tuple[DerivedDataset, ...]


@app.command("list")
@gate_command
def list_derived(
    dependencies: Dependencies,
    contract: DatasetFilter = None,
) -> CommandResult[DerivedDatasets]:
    """List derived datasets: of which heights of their inputs they were computed last, and when they are looked at next.

    Example: lakegate derive list
    """
    found = derived_datasets(dependencies, datasets_fitting(dependencies, contract) if contract is not None else None)
    words = [text for each in found for text in _lines(each)]
    nothing = "Nothing is derived: no published contract has `derive`, or the first sweep after it did not run yet."
    return CommandResult(DerivedDatasets(tuple(map(_document, found))), words or [nothing])


@app.command("run")
@gate_command
def run_derivation(
    dependencies: Dependencies,
    dataset: DatasetName,
) -> CommandResult[DerivedDataset]:
    """Compute a derived dataset with the next sweep, within five minutes, also where no input has anything new.

    Example: lakegate derive run daily
    """
    row = dependencies.run(run_now(dependencies, dataset_named(dependencies, dataset)))
    words = f"{row.dataset} is computed with the next sweep, within five minutes. lakegate derive list"
    return CommandResult(_document(row), [words])


def _document(row: DerivationState) -> DerivedDataset:
    return select_fields(DerivedDataset, row)


def _lines(row: DerivationState) -> Iterator[str]:
    yield f"{row.dataset}{f' {row.version}' if row.version else ', which is not derived any more'}"
    for each in row.inputs:
        yield f"  of {each.dataset} up to height {each.height}"
    if row.key:
        yield f"  last {row.at}: {row.key}"
    if row.next:
        yield f"  {row.schedule}: next at {row.next}"
