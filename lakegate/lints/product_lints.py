"""A data product: the contract that its ports make, and the contracts that they name."""

from __future__ import annotations

from collections.abc import Collection

from lakegate.base.errors import ContractError, Problem
from lakegate.base.text import quote
from lakegate.contract.documents.data_products import generate_contract, has_ports_to_generate, named_contracts
from lakegate.lints.linter import Examined, examine

UNKNOWN_CONTRACT = "unknown-port-contract"


def examined_product(text: bytes, known: Collection[str], *, has_document: bool = False) -> Examined:
    """Problems of a product. `known`: ids of contracts; `has_document`: its contract lies beside it, and none is made."""
    try:
        inputs, outputs = named_contracts(text)
        made = (
            examine(generate_contract(text)) if not has_document and has_ports_to_generate(text) else Examined((), ())
        )
    except ContractError as error:
        return Examined(error.problems, ())
    absent = tuple(
        Problem(
            UNKNOWN_CONTRACT,
            entry.place.path,
            entry.place.mark.line,
            f"The port {quote(entry.port)} names the contract {quote(entry.id)}, which is none of the linted documents.",
        )
        for entry in (*inputs, *outputs)
        if entry.id not in known
    )
    return Examined(made.errors, (*made.warnings, *absent), made.lines if made.errors else (), made.contract)
