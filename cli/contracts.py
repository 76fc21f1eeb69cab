"""Contracts on this machine's disk: from a file's name to a compiled plan."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from cli.seen import seen
from contracts.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from contracts.errors import ContractError
    from contracts.model import Contract, Dataset
    from contracts.plan import Plan


def load(path: Path) -> Contract:
    """The contract in a file; ContractError or InputError where it cannot be used."""
    from contracts.formats import read  # noqa: PLC0415 - start-up is paid by every command

    try:
        text = path.read_bytes()
    except OSError as error:
        raise InputError(f"the contract {path} cannot be read: {error.strerror}") from error
    return read(text)


def tell(error: ContractError) -> None:
    """Say on standard error why a contract is refused: a line for each problem, as `lakegate lint` has it."""
    for problem in error.problems:
        where = f"line {problem.line}: " if problem.line else ""
        sys.stderr.write(f"lakegate: {where}{problem.code}: {seen(problem.message)} @ {seen(problem.path)}\n")
    sys.stderr.write("lakegate: the contract is refused; `lakegate lint` shows its lines\n")


def plan_of(contract: Contract, dataset: str | None) -> Plan:
    """The plan of a dataset; where the contract has only one, its name may be left out."""
    from contracts.compile import compile_plan  # noqa: PLC0415 - start-up is paid by every command

    return compile_plan(contract, _chosen(contract, dataset))


def _chosen(contract: Contract, name: str | None) -> Dataset:
    names = ", ".join(each.name for each in contract.datasets)
    if name is None and len(contract.datasets) == 1:
        return contract.datasets[0]
    found = contract.dataset(name) if name is not None else None
    if found is None:
        problem = f"has no dataset {name}" if name is not None else "has several datasets"
        raise InputError(f"the contract {problem}: choose one with --dataset ({names or 'it has none'})")
    return found
