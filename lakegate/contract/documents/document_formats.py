"""Reads contract documents. Each format has one module; the version that a document declares selects it.

::

    read(text)      the contract, or ContractError with every error at once
    examine(text)   all errors and warnings, and the contract as far as it can be read

A document that inherits is read by `lakegate.inheritance`, which passes a `complete` that adds what is inherited.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from lakegate.contract.contract_model import Contract
from lakegate.contract.documents import dcm, dcs, odcs
from lakegate.contract.documents.document_tree import Document, Notes
from lakegate.text import listed, shown


@dataclass(frozen=True, slots=True)
class DocumentFormat:
    """A contract format: the key that declares its version, the supported versions, and its reader."""

    name: str
    key: str
    versions: tuple[str, ...]
    read: Callable[[Document, Notes, Mapping[str, str]], Contract]


KIND = "DataContract"
DECLARED = re.compile(
    rb"""(?:^|[{,])[ \t]*["']?(apiVersion|dataContractSpecification|specVersion)["']?[ \t]*:""", re.MULTILINE
)
KINDS = re.compile(rb"""(?:^|[{,])[ \t]*["']?kind["']?[ \t]*:[ \t]*["']?([^"'\r\n#,}]+)""", re.MULTILINE)
SHARED_KEY = "apiVersion"
NO_VARIABLES: Mapping[str, str] = MappingProxyType({})
FORMATS = (
    DocumentFormat("ODCS", "apiVersion", odcs.VERSIONS, odcs.read),
    DocumentFormat("DCS", "dataContractSpecification", dcs.VERSIONS, dcs.read),
    DocumentFormat("DCM", "specVersion", dcm.VERSIONS, dcm.read),
)


def declares_format(text: bytes) -> bool:
    """Whether a text, even a broken one, has the version key of a format and so is meant as a contract.

    The key of ODCS, `apiVersion`, also occurs in documents with another `kind`.
    """
    found = {match[1].decode() for match in DECLARED.finditer(text)}
    kinds = [match[1].decode("utf-8", "replace").casefold().replace(" ", "") for match in KINDS.finditer(text)]
    is_other = bool(kinds) and not any(KIND.casefold() in kind for kind in kinds)
    return bool(found - {SHARED_KEY}) or (SHARED_KEY in found and not is_other)


def contract_of(document: Document, notes: Notes, variables: Mapping[str, str]) -> Contract | None:
    """The contract in a document of any known format; None where none reads it."""
    kind = document.top["kind"].text or KIND
    found = next((each for each in FORMATS if document.top[each.key].present), None)
    if found is None or KIND.casefold() not in kind.casefold().replace(" ", ""):
        notes.error(
            "unknown-format",
            document.top,
            f"This is not a contract: it must be of the kind `{KIND}` and declare {_known()}.",
        )
        return None
    version = document.top[found.key]
    if version.written not in found.versions:
        message = f"{found.name} {shown(version.written)} is not known; known versions are {listed(found.versions)}."
        notes.error("unknown-version", version, message)
        return None
    return found.read(document, notes, variables)


def _known() -> str:
    return " or ".join(f"`{each.key}` ({each.name} {', '.join(each.versions)})" for each in FORMATS)
