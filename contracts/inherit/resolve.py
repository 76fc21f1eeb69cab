"""Reads a document that inherits: its parent, the parent of that, and so on, are read first.

Where parents are found is the caller's: `Parents` finds them in files, in the registry, or among the pinned documents of a
published version. Nothing else is read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from lakegate.contracts.compare.version import ContractVersion
from lakegate.contracts.documents.document import parse
from lakegate.contracts.errors import InputError
from lakegate.contracts.inherit.merge import inherited
from lakegate.contracts.inherit.weaker import weaknesses
from lakegate.contracts.lake.versions import major
from lakegate.contracts.lint.examine import NO_VARIABLES, UNKNOWN_PARENT, WHERE_PARENTS_ARE, Examined, examine
from lakegate.contracts.words import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakegate.contracts.documents.document import Document
    from lakegate.contracts.documents.nodes import Place
    from lakegate.contracts.documents.notes import Notes
    from lakegate.contracts.model.contract import Contract, ParentReference

CIRCULAR, BROKEN = "circular-inheritance", "broken-parent"
OF_PARENTS = (UNKNOWN_PARENT, CIRCULAR, BROKEN)
MAX_PARENTS = 8
"""How many contracts may inherit in a row; ADR-0029 has three tiers."""


@dataclass(frozen=True, slots=True)
class ParentDocument:
    """The document of a parent."""

    text: bytes
    parents: Parents
    """Where its own parent is found."""
    is_published: bool = False
    """A published document was valid when it was published, and is read as far as possible."""


Parents: TypeAlias = Callable[[str, int], ParentDocument | None]
"""Finds the document of a contract by id and major number; None where there is none. May raise InputError."""


@dataclass(frozen=True, slots=True)
class PinnedDocument:
    """A document on which a contract version depends."""

    name: str
    """e.g. `acme-policies@1.2.0`"""
    text: bytes


@dataclass(slots=True)
class Resolver:
    """Completes one document by its parents."""

    parents: Parents
    chain: tuple[str, ...] = ()
    """The contracts that led here."""
    found: list[PinnedDocument] = field(default_factory=list)
    """The parent, the parent of that, and so on, as far as they were read."""

    def complete(self, contract: Contract, document: Document, notes: Notes) -> Contract:
        """The contract with what it inherits; what is wrong with that is an error at `inherits`, or where it is weaker."""
        if contract.inherits is None:
            return contract
        place = document.at(contract.inherits.origin.path)
        parent = self._parent(contract.inherits, (*self.chain, contract.id), place, notes)
        if parent is None:
            return contract
        merged = inherited(parent[0], contract)
        if not notes.errors:
            notes.errors.extend(weaknesses(parent[0], ContractVersion(merged, document), parent[1]))
        return merged

    def _parent(
        self, wanted: ParentReference, chain: tuple[str, ...], place: Place, notes: Notes
    ) -> tuple[Contract, Document] | None:
        name = shown(wanted.name)
        if wanted.contract in chain or len(chain) > MAX_PARENTS:
            reason = "leads back to this contract" if wanted.contract in chain else f"is more than {MAX_PARENTS} deep"
            notes.error(CIRCULAR, place, f"{name} {reason}: inherit from another contract.")
            return None
        try:
            found = self.parents(wanted.contract, wanted.major)
        except InputError as error:
            notes.error(UNKNOWN_PARENT, place, f"{name} cannot be read: {error}.")
            return None
        if found is None:
            notes.error(UNKNOWN_PARENT, place, f"{name} is not known: {WHERE_PARENTS_ARE}.")
            return None
        inner = Resolver(found.parents, chain)
        examined = examine(found.text, complete=inner.complete)
        contract = examined.contract
        is_broken = not found.is_published or any(each.code in OF_PARENTS for each in examined.errors)
        if contract is None or (examined.errors and is_broken):
            first = f" {examined.errors[0].message}" if examined.errors else ""
            notes.error(BROKEN, place, f"{name} is not valid: correct it first.{first}")
            return None
        if (contract.id, major(contract.version)) != (wanted.contract, wanted.major):
            notes.error(BROKEN, place, f"{name} was found as {shown(f'{contract.id}@{contract.version}')}.")
            return None
        self.found += [PinnedDocument(f"{contract.id}@{contract.version}", found.text), *inner.found]
        assert examined.document is not None
        return contract, examined.document


@dataclass(frozen=True, slots=True)
class Resolved:
    """A document with its parents."""

    examined: Examined
    """Its contract has everything that it inherits."""
    needs: tuple[PinnedDocument, ...] = ()
    """The documents that were read beside it, the nearest first."""


def resolve(text: bytes, parents: Parents, variables: Mapping[str, str] = NO_VARIABLES) -> Resolved:
    """Read a document with its parents; the problems of both are in `examined`."""
    resolver = Resolver(parents)
    examined = examine(text, variables, resolver.complete)
    return Resolved(examined, tuple(resolver.found))


def identity_of(text: bytes) -> tuple[str, str]:
    """The id and the version that a document declares, read without judging the document; ContractError for no document."""
    top = parse(text).top
    version = top["version"].text or top["info"]["version"].text
    return top["id"].text or "", version or ""


def pinned(needs: Mapping[str, bytes]) -> Parents:
    """The parents among pinned documents, by their names."""

    def find(contract: str, line: int) -> ParentDocument | None:
        for name, text in needs.items():
            found, _, version = name.rpartition("@")
            if found == contract and major(version) == line:
                return ParentDocument(text, find, is_published=True)
        return None

    return find
