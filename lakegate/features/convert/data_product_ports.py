"""Contracts from the output ports of a data product: `floe.yaml`, or ODPS."""

from __future__ import annotations

import yaml

from lakegate.base.errors import ContractError, InputError
from lakegate.contract.contract_model import Contract
from lakegate.contract.documents.data_products import generate_contract, named_contracts
from lakegate.lints.linter import examine


def read(text: bytes, name: str) -> tuple[Contract, tuple[str, ...]]:
    """A draft with a dataset for each output port that has columns, and the ports that have contracts of their own.

    Raises InputError, with every problem of the ports.
    """
    examined = examine(document(text, name))
    if examined.contract is None or examined.errors:
        raise InputError("; ".join(error.message for error in examined.errors))
    made = {dataset.name for dataset in examined.contract.datasets}
    lost = (
        f"{contract.port}: it has the contract {contract.id}"
        for contract in named_contracts(text)[1]
        if contract.port not in made
    )
    return examined.contract, tuple(lost)


def document(text: bytes, name: str) -> bytes:
    """The draft as a document of ODCS. `name`: of the contract, where it is not that of the product. Raises InputError."""
    try:
        found = generate_contract(text)
    except ContractError as error:
        raise InputError(str(error)) from None
    if not name:
        return found
    named = yaml.safe_load(found) | {"id": name, "name": name}
    return yaml.safe_dump(named, sort_keys=False, allow_unicode=True, width=120).encode()
