"""The contracts that published contracts inherit from, and those that inherit from them.

A version is resolved when it is published: the documents of its parents are pinned by their digests, so that a later version of
a parent changes neither it nor its plans. A parent is published only if the newest version of each child could inherit from it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakegate.contracts.errors import ContractError, InputError
from lakegate.contracts.inherit.resolve import ParentDocument, identity_of, pinned, resolve
from lakegate.contracts.lake.versions import is_release, major, precedence
from lakegate.contracts.words import listed
from lakegate.functions.ports.objects import Address
from lakegate.functions.usecases.names import is_usable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.contracts.errors import Problem
    from lakegate.contracts.inherit.resolve import Parents, PinnedDocument
    from lakegate.functions.ports.registry import Publication, RegistrySnapshot
    from lakegate.functions.usecases.dependencies import Dependencies


@dataclass(frozen=True, slots=True)
class BrokenChild:
    """A published contract that could not inherit from a new version of its parent."""

    contract: str
    version: str
    owner: str
    problems: tuple[Problem, ...]
    """In the document of the child."""


class BreaksChildren(InputError):  # noqa: N818 - the name is what happened
    """A new version of a parent is stricter than published contracts that inherit from it."""

    def __init__(self, children: tuple[BrokenChild, ...]) -> None:
        names = listed(f"{each.contract} {each.version}" for each in children)
        super().__init__(
            f"contracts that inherit from it would be weaker: {names}; publish stricter versions of them first"
        )
        self.children = children


def document_key(text: bytes) -> str:
    """The key of a document in the lake bucket."""
    return f"contracts/{hashlib.sha256(text).hexdigest()}"


def newest_release(snapshot: RegistrySnapshot, line: int) -> Publication | None:
    """The highest published release of a major number; None if there is none."""
    found = (each for each in snapshot.versions if is_release(each.version) and major(each.version) == line)
    return max(found, key=lambda each: precedence(each.version), default=None)


def document_of(dependencies: Dependencies, publication: Publication) -> ParentDocument:
    """The document of a published version, with the parents that it was published with."""
    text = dependencies.objects.read(Address(dependencies.places.lake, publication.document))
    return ParentDocument(text, pinned_parents(dependencies, publication), is_published=True)


def pinned_parents(dependencies: Dependencies, publication: Publication) -> Parents:
    """The parents that a version was published with."""
    lake = dependencies.places.lake
    return pinned({name: dependencies.objects.read(Address(lake, key)) for name, key in publication.needs})


def parents_of(dependencies: Dependencies, text: bytes) -> Parents:
    """The parents of a document to publish: the newest ones, or, if it is published already, those that it was published with."""
    try:
        contract, version = identity_of(text)
    except ContractError:
        contract, version = "", ""
    for each in dependencies.registry.contract(contract).versions if is_usable(contract) else ():
        if (each.version, each.document) == (version, document_key(text)):
            return pinned_parents(dependencies, each)

    def find(parent: str, line: int) -> ParentDocument | None:
        newest = newest_release(dependencies.registry.contract(parent), line) if is_usable(parent) else None
        return None if newest is None else document_of(dependencies, newest)

    return find


def refuse_other_parent(parent: PinnedDocument, seen: RegistrySnapshot) -> None:
    """Raise InputError if the parent of a contract is not the newest any more."""
    _, _, version = parent.name.rpartition("@")
    newest = newest_release(seen, major(version))
    if newest is None or newest.version != version:
        raise InputError(
            f"a newer version than {parent.name}, from which it inherits, was published meanwhile: publish again"
        )


def refuse_breaking(
    dependencies: Dependencies, seen: RegistrySnapshot, version: str, text: bytes, needs: tuple[PinnedDocument, ...]
) -> None:
    """Raise BreaksChildren if a new version of a parent is stricter than the newest version of a child."""
    newest = newest_release(seen, major(version))
    is_older = newest is not None and precedence(newest.version) >= precedence(version)
    if is_older or not is_release(version) or not seen.children:
        return
    contract, line = identity_of(text)[0], major(version)
    parent = ParentDocument(text, pinned({each.name: each.text for each in needs}), is_published=True)
    broken = tuple(each for child in seen.children for each in _broken(dependencies, child, (contract, line), parent))
    if broken:
        raise BreaksChildren(broken)


def _broken(
    dependencies: Dependencies, child: str, inherits: tuple[str, int], parent: ParentDocument
) -> Iterator[BrokenChild]:
    """The newest version of each line of a child that inherits from this line, if it would be weaker than the new parent."""
    snapshot = dependencies.registry.contract(child)
    for line in sorted({major(each.version) for each in snapshot.versions}):
        publication = newest_release(snapshot, line)
        if publication is None or _parent_line(publication) != inherits:
            continue
        document = document_of(dependencies, publication)
        before = resolve(document.text, document.parents).examined.errors
        known = {(each.code, each.path) for each in before}
        after = resolve(document.text, lambda *wanted: parent if wanted == inherits else None).examined.errors
        problems = tuple(each for each in after if (each.code, each.path) not in known)
        if problems:
            yield BrokenChild(child, publication.version, dict(publication.labels).get("owner", ""), problems)


def _parent_line(publication: Publication) -> tuple[str, int] | None:
    if not publication.needs:
        return None
    contract, _, version = publication.needs[0][0].rpartition("@")
    return contract, major(version)
