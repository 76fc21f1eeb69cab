"""Contracts on this machine's disk: from a file's name to a compiled plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.cli.inputs import below, with_definitions
from lakegate.cli.parents import ParentPlaces
from lakegate.contracts.compile.dataset import compile_plan
from lakegate.contracts.errors import ContractError, InputError
from lakegate.contracts.inherit.resolve import resolve

if TYPE_CHECKING:
    from pathlib import Path

    from lakegate.contracts.model.contract import Contract, Dataset
    from lakegate.contracts.plan.plan import Plan


ALONE = ParentPlaces()
"""Parents are files beside the document."""


def load(path: Path, places: ParentPlaces = ALONE) -> Contract:
    """The contract in a file, with what it inherits; ContractError or InputError where it cannot be used."""
    text = read_text(path)
    examined = resolve(text, places.parents(str(path), text)).examined
    if examined.contract is None or examined.errors:
        raise ContractError(examined.errors)
    return examined.contract


def read_text(path: Path) -> bytes:
    """The document in a file; InputError where it cannot be read."""
    try:
        return with_definitions(path.read_bytes(), below(path.parent))
    except OSError as error:
        raise InputError(f"the contract {path} cannot be read: {error.strerror}") from error


def plan_of(contract: Contract, dataset: str | None) -> Plan:
    """The plan of a dataset; where the contract has only one, its name may be left out."""
    return compile_plan(contract, _chosen(contract, dataset))


def _chosen(contract: Contract, name: str | None) -> Dataset:
    names = ", ".join(each.name for each in contract.datasets)
    if name is None and len(contract.datasets) == 1:
        return contract.datasets[0]
    found = contract.dataset(name) if name is not None else None
    if found is None:
        problem = f"has no dataset {name}" if name is not None else "has several datasets"
        raise InputError(
            f"the contract {problem}: choose one with --dataset, in Python dataset= ({names or 'it has none'})"
        )
    return found
