"""Lints of what a contract must declare because it, or a contract that it inherits from, requires it (ADR-0029)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.contracts.lint.names import unclassified

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.contracts.documents.document import Document
    from lakegate.contracts.lint.finding import Finding
    from lakegate.contracts.model.contract import Contract

OWNER, CLASSIFIED = "owner", "classified-personal-data"
OWNER_KEYS = {"ODCS": "$.team.name", "DCS": "$.info.owner", "DCM": "$.ownerGroup"}


def required_owner(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A contract has an owner, if it or a contract that it inherits from requires one."""
    if OWNER in contract.require and not (contract.about.owner or "").strip():
        path = OWNER_KEYS[contract.format.split()[0]]
        yield path, f"An owner is required: write the team into `{path.removeprefix('$.')}`."


def required_classification(contract: Contract, document: Document) -> Iterator[Finding]:
    """Personal data is classified, if the contract or one that it inherits from requires it."""
    if CLASSIFIED in contract.require:
        for path, message in unclassified(contract, document):
            yield path, f"Personal data must be classified. {message}"
