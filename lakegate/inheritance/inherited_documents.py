"""Documents that inherit from parents, which are found and read; `lakegate.inheritance.inherited_parts` merges and compares them.

That module, and all that compares contracts, is imported for a document that inherits.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from lakegate.base.errors import InputError
from lakegate.base.text import quote
from lakegate.contract.contract_model import Contract, Dataset, ParentReference
from lakegate.contract.documents.document_formats import NO_VARIABLES, identity
from lakegate.contract.documents.document_tree import Document, Notes, Place
from lakegate.contract.documents.read_document import document_of
from lakegate.contract.semantic_versions import major
from lakegate.lints.linter import UNKNOWN_PARENT, WHERE_PARENTS_ARE, Examined, examine
from lakegate.rules.compile_plan import with_parts

# Where parents are found is the caller's: `Parents` finds them in files, in the registry, or among the pinned documents of a
# published version. Nothing else is read.


CIRCULAR, BROKEN = "circular-inheritance", "broken-parent"
OF_PARENTS = (UNKNOWN_PARENT, CIRCULAR, BROKEN)
MAX_PARENTS = 8
"""The largest number of contracts that inherit in a row; ADR-0029 has three tiers."""


@dataclass(frozen=True, slots=True)
class ParentDocument:
    """The document of a parent."""

    text: bytes
    parents: Parents
    """The finder of its own parent."""
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
    found: list[PinnedDocument] = dataclasses.field(default_factory=list)
    """The parent, the parent of that, and so on, as far as they were read."""

    def complete(self, contract: Contract, document: Document, notes: Notes) -> Contract:
        """The contract with what it inherits; what is wrong with that is an error at `inherits`, or where it is weaker."""
        if contract.inherits is None:
            return contract
        place = document.at(contract.inherits.origin.path)
        parent = self._parent(contract.inherits, (*self.chain, contract.id), place, notes)
        if parent is None:
            return contract
        from lakegate.diff.compared_versions import ContractVersion  # noqa: PLC0415 - for such documents alone
        from lakegate.inheritance.inherited_parts import inherit_parts, weaknesses  # noqa: PLC0415 - likewise

        merged = inherit_parts(parent[0], contract)
        if not notes.errors:
            notes.errors.extend(weaknesses(parent[0], ContractVersion(merged, document), parent[1]))
        return merged

    def _parent(
        self, wanted: ParentReference, chain: tuple[str, ...], place: Place, notes: Notes
    ) -> tuple[Contract, Document] | None:
        name = quote(wanted.name)
        if wanted.contract in chain or len(chain) > MAX_PARENTS:
            reason = "leads back to this contract" if wanted.contract in chain else f"is more than {MAX_PARENTS} deep"
            notes.error(CIRCULAR, place, f"{name} {reason}: inherit from another contract.")
            return None
        try:
            parent = self.parents(wanted.contract, wanted.major)
        except InputError as error:
            notes.error(UNKNOWN_PARENT, place, f"{name} cannot be read: {error}.")
            return None
        if parent is None:
            notes.error(UNKNOWN_PARENT, place, f"{name} is not known: {WHERE_PARENTS_ARE}.")
            return None
        inner = Resolver(parent.parents, chain)
        examined = examine(parent.text, complete=inner.complete)
        contract = examined.contract
        is_broken = not parent.is_published or any(entry.code in OF_PARENTS for entry in examined.errors)
        if contract is None or (examined.errors and is_broken):
            first = f" {examined.errors[0].message}" if examined.errors else ""
            notes.error(BROKEN, place, f"{name} is not valid: correct it first.{first}")
            return None
        if (contract.id, major(contract.version)) != (wanted.contract, wanted.major):
            notes.error(BROKEN, place, f"{name} was found as {quote(f'{contract.id}@{contract.version}')}.")
            return None
        self.found += [PinnedDocument(f"{contract.id}@{contract.version}", parent.text), *inner.found]
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
    """The contract's id and the version of a document, read without judging the document; ContractError for no document."""
    return identity(document_of(text).top)


def parents_by_name(needs: Mapping[str, bytes]) -> Parents:
    """The parents among pinned documents, by their names."""

    def find(contract: str, number: int) -> ParentDocument | None:
        for name, text in needs.items():
            found, _, version = name.rpartition("@")
            if found == contract and major(version) == number:
                return ParentDocument(text, find, is_published=True)
        return None

    return find


Inherited: TypeAlias = dict[str, list[dict[str, str]]]
"""By dataset: each inherited field and rule, with the version and the address where it is declared."""


def inherited_elements(document: ParentDocument) -> Inherited:
    """The inherited elements of a published document's datasets; empty if it inherits nothing."""
    contract = resolve(document.text, document.parents).examined.contract
    datasets = () if contract is None or contract.inherits is None else contract.datasets
    return {dataset.name: list(_elements(contract, dataset)) for dataset in datasets if contract is not None}


def _elements(contract: Contract, dataset: Dataset) -> Iterator[dict[str, str]]:
    from lakegate.inheritance.inherited_parts import source_of  # noqa: PLC0415 - likewise

    fields = [(f"field {part.name}", part.origin) for part in with_parts(dataset.fields)]
    rules = [(f"rule {rule.id}", rule.origin) for rule in dataset.rules]
    for element, origin in (*fields, *rules):
        source = source_of(contract, origin)
        if source is not None:
            yield {"element": element, "version": source.version, "path": source.path}
