"""Reads contract documents. Each format has one module; the version that a document declares selects it.

The same bytes are parsed, validated and read once, whoever asks: `read_alone`. What a contract inherits and what its rules mean
is added by `lakegate.lints.linter`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from lakegate.base.errors import Problem
from lakegate.base.text import did_you_mean, join_words, quote
from lakegate.contract.contract_model import Contract
from lakegate.contract.documents import dcm, dcs, odcs
from lakegate.contract.documents.document_tree import Document, Notes, Place
from lakegate.contract.documents.read_document import KEPT, document_of
from lakegate.contract.documents.ref_definitions import embed_definitions


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
MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
"""Byte order marks of UTF-8 and UTF-16."""
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
    text = text.replace(b"\0", b"")  # UTF-16 is meant as a contract as well
    text = next((text.removeprefix(mark) for mark in MARKS if text.startswith(mark)), text)
    found = {match[1].decode() for match in DECLARED.finditer(text)}
    kinds = [match[1].decode("utf-8", "replace").casefold().replace(" ", "") for match in KINDS.finditer(text)]
    is_other = bool(kinds) and not any(KIND.casefold() in kind for kind in kinds)
    return bool(found - {SHARED_KEY}) or (SHARED_KEY in found and not is_other)


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """A document and the contract in it, without what it inherits."""

    document: Document
    contract: Contract | None
    """As far as it could be read; None if the format or version is unknown."""
    errors: tuple[Problem, ...]
    """The violations of the format and of its schema."""
    warnings: tuple[Problem, ...]


def read_alone(text: bytes, variables: Mapping[str, str] = NO_VARIABLES) -> ReadDocument:
    """Read a document; ContractError where it has no tree, or exceeds a limit.

    `variables` are the values of `${NAME}`, for versions that support variables.
    """
    return _read(text, tuple(sorted(variables.items())))


@lru_cache(KEPT)
def _read(text: bytes, variables: tuple[tuple[str, str], ...]) -> ReadDocument:
    document, notes = embed_definitions(document_of(text)), Notes()
    contract = _contract_of(document, notes, dict(variables))
    return ReadDocument(document, contract, tuple(notes.errors), tuple(notes.warnings))


def _contract_of(document: Document, notes: Notes, variables: Mapping[str, str]) -> Contract | None:
    kind = document.top["kind"].text or KIND
    found = _format_of(document.top)
    if found is None or KIND.casefold() not in kind.casefold().replace(" ", ""):
        keys = [entry.key for entry in FORMATS]
        near = next((key for key in document.top.entries if found is None and did_you_mean(key, keys)), None)
        place, hint = (document.top, "") if near is None else (document.top[near], did_you_mean(near, keys))
        words = f"This is not a contract: it must be of the kind `{KIND}` and declare {_list_formats()}."
        notes.error(
            "unknown-format", place, words if near is None else f"{words} {quote(near)} is no key of a format.{hint}"
        )
        return None
    version = document.top[found.key]
    if version.written not in found.versions:
        message = (
            f"{found.name} {quote(version.written)} is not known; known versions are {join_words(found.versions)}."
        )
        notes.error("unknown-version", version, message)
        return None
    return found.read(document, notes, variables)


def _format_of(top: Place) -> DocumentFormat | None:
    return next((entry for entry in FORMATS if top[entry.key].present), None)


def identity(top: Place) -> tuple[str, str]:
    """The contract's id and the version of a document that is not judged; empty where there are none."""
    found, written = _format_of(top), top["id"].text or ""
    version = top["version"].text or top["info"]["version"].text or ""
    is_dcm = found is not None and found.name == "DCM"
    return (dcm.contract_id(written, version) if is_dcm else "") or written, version


def _list_formats() -> str:
    return " or ".join(f"`{entry.key}` ({entry.name} {', '.join(entry.versions)})" for entry in FORMATS)
