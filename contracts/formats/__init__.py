"""Reads contract documents: one module for each format, found by the version a document declares.

::

    read(text)      the contract, or ContractError with every error at once
    examine(text)   the contract as far as it can be read, with all errors and warnings
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from contracts.document import Document, parse
from contracts.errors import ContractError
from contracts.formats import dcm, odcs
from contracts.formats.breaches import listed, shown
from contracts.formats.notes import Notes
from contracts.model import Contract


@dataclass(frozen=True, slots=True)
class Examined:
    """A document that was read, whatever it is worth."""

    document: Document
    notes: Notes
    contract: Contract | None
    """None where the document is of no known format or version."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format: the key that declares its version, the versions known, and who reads it."""

    name: str
    key: str
    versions: tuple[str, ...]
    read: Callable[[Document, Notes], Contract]


FORMATS = (
    Format("ODCS", "apiVersion", odcs.VERSIONS, odcs.read),
    Format("DCM", "specVersion", dcm.VERSIONS, dcm.read),
)


def examine(text: bytes) -> Examined:
    """Everything that is known of a document; ContractError only where it is neither YAML nor JSON."""
    document, notes = parse(text), Notes()
    found = next((each for each in FORMATS if document.top[each.key].present), None)
    if found is None:
        notes.error("unknown-format", document.top, f"This is no contract: none of {_known()} stands in it.")
        return Examined(document, notes, None)
    version = document.top[found.key]
    if version.written not in found.versions:
        message = f"{found.name} {shown(version.written)} is not known; known versions are {listed(found.versions)}."
        notes.error("unknown-version", version, message)
        return Examined(document, notes, None)
    return Examined(document, notes, found.read(document, notes))


def read(text: bytes) -> Contract:
    """The contract in a document; ContractError with every error at once."""
    examined = examine(text)
    if examined.contract is None or examined.notes.errors:
        raise ContractError(tuple(sorted(examined.notes.errors, key=lambda problem: problem.line or 0)))
    return examined.contract


def _known() -> str:
    return ", ".join(f"`{each.key}` ({each.name} {', '.join(each.versions)})" for each in FORMATS)
