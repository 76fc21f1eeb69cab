"""Reads contract documents. Each format has one module; the version that a document declares selects it.

::

    read(text)      the contract, or ContractError with every error at once
    examine(text)   all errors and warnings, and the contract as far as it can be read

A document that inherits is read by `lakegate.contracts.inherit`, which passes a `complete` that adds what is inherited.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from lakegate.contracts.compile.rules.build import NEVER_MEASURED
from lakegate.contracts.documents import dcm, dcs, odcs
from lakegate.contracts.documents.definition_files import embedded
from lakegate.contracts.documents.document import Document, parse
from lakegate.contracts.documents.notes import Notes
from lakegate.contracts.errors import ContractError, Problem
from lakegate.contracts.lint.lint import lint
from lakegate.contracts.model.contract import Contract
from lakegate.contracts.words import limited_hints, listed, shown


@dataclass(frozen=True, slots=True)
class Examined:
    """The result of reading a document; problems in order of lines."""

    errors: tuple[Problem, ...]
    warnings: tuple[Problem, ...]
    lines: tuple[str, ...] = ()
    """The lines of the document, to show them beside problems; empty if it could not be parsed."""
    contract: Contract | None = None
    """The contract as far as it could be read; None if the format or version is unknown."""
    document: Document | None = None
    """None if it could not be parsed."""

    @property
    def valid(self) -> bool:
        """Whether the document has no errors."""
        return not self.errors

    @property
    def unmeasured(self) -> tuple[Problem, ...]:
        """The warnings about rules that can never be measured: their checks are always skipped."""
        return tuple(each for each in self.warnings if each.code in NEVER_MEASURED)


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
Complete = Callable[[Contract, Document, Notes], Contract]
"""Adds to a contract what it inherits, and to the notes what is weaker than that."""
UNKNOWN_PARENT = "unknown-parent"
WHERE_PARENTS_ARE = "parents are read from `--parents` and from the registry"
NO_VARIABLES: Mapping[str, str] = MappingProxyType({})
FORMATS = (
    DocumentFormat("ODCS", "apiVersion", odcs.VERSIONS, odcs.read),
    DocumentFormat("DCS", "dataContractSpecification", dcs.VERSIONS, dcs.read),
    DocumentFormat("DCM", "specVersion", dcm.VERSIONS, dcm.read),
)


def without_parents(contract: Contract, document: Document, notes: Notes) -> Contract:
    """The contract, with an error if it inherits."""
    if contract.inherits is not None:
        place = document.at(contract.inherits.origin.path)
        notes.error(UNKNOWN_PARENT, place, f"{shown(contract.inherits.name)} is not known here: {WHERE_PARENTS_ARE}.")
    return contract


def examine(text: bytes, variables: Mapping[str, str] = NO_VARIABLES, complete: Complete = without_parents) -> Examined:
    """Check the syntax, the schema and the semantics of a document, and return all problems at once.

    `variables` are the values of `${NAME}`, for versions that support variables.
    """
    notes = Notes()
    with limited_hints():
        try:
            document = embedded(parse(text))
            contract = _read(document, notes, variables)
        except ContractError as error:
            return Examined(error.problems, ())
        if contract is not None:
            contract = complete(contract, document, notes)
            lint(contract.with_own_common, document, notes)
    errors, warnings = _in_order(document, notes.errors), _in_order(document, notes.warnings)
    return Examined(errors, warnings, document.lines, contract, document)


def declares_format(text: bytes) -> bool:
    """Whether a text, even a broken one, has the version key of a format and so is meant as a contract.

    The key of ODCS, `apiVersion`, also occurs in documents with another `kind`.
    """
    found = {match[1].decode() for match in DECLARED.finditer(text)}
    kinds = [match[1].decode("utf-8", "replace").casefold().replace(" ", "") for match in KINDS.finditer(text)]
    is_other = bool(kinds) and not any(KIND.casefold() in kind for kind in kinds)
    return bool(found - {SHARED_KEY}) or (SHARED_KEY in found and not is_other)


def read(text: bytes, variables: Mapping[str, str] = NO_VARIABLES) -> Contract:
    """The contract in a document; ContractError with every error at once."""
    examined = examine(text, variables)
    if examined.contract is None or examined.errors:
        raise ContractError(examined.errors)
    return examined.contract


def _read(document: Document, notes: Notes, variables: Mapping[str, str]) -> Contract | None:
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


def _in_order(document: Document, problems: list[Problem]) -> tuple[Problem, ...]:
    placed = dict.fromkeys(_placed(document, problem) for problem in problems)
    return tuple(sorted(placed, key=lambda problem: (problem.line or 0, problem.path)))


def _placed(document: Document, problem: Problem) -> Problem:
    """The problem with its column, if its path leads to its line."""
    mark = document.at(problem.path).mark
    return replace(problem, column=mark.column) if mark.line == problem.line else problem


def _known() -> str:
    return " or ".join(f"`{each.key}` ({each.name} {', '.join(each.versions)})" for each in FORMATS)
