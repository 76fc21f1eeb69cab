"""The contracts that published contracts inherit from, and those that inherit from them.

A version is resolved when it is published: the documents of its parents are pinned by their digests, so that a later version of
a parent changes neither it nor its plans. Children that are weaker than a new version of their parent get notice
(`lakegate.functions.usecases.stricter_parents`); they never keep it from being published.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lakegate.contracts.errors import ContractError, InputError
from lakegate.contracts.inherit.resolve import ParentDocument, identity_of, pinned, resolve
from lakegate.contracts.lake.lifecycle import moment
from lakegate.contracts.lake.owners import EVERY_CONTRACT
from lakegate.contracts.lake.routes import line_of
from lakegate.contracts.lake.versions import is_release, major, precedence
from lakegate.contracts.model.contract import COMMON
from lakegate.functions.ports.objects import Address
from lakegate.functions.usecases.names import is_usable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lakegate.contracts.errors import Problem
    from lakegate.contracts.inherit.resolve import Parents, PinnedDocument
    from lakegate.functions.ports.registry import Publication, RegistrySnapshot
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.publish_contract import CompiledContract


@dataclass(frozen=True, slots=True)
class BrokenChild:
    """A published contract that could not inherit from a new version of its parent."""

    contract: str
    version: str
    owner: str
    problems: tuple[Problem, ...]
    """In the document of the child."""
    lines: tuple[str, ...] = ()
    """Its dataset lines; of a contract without datasets one line that stands for it."""


def document_key(text: bytes) -> str:
    """The key of a document in the lake bucket."""
    return f"contracts/{hashlib.sha256(text).hexdigest()}"


def newest_release(snapshot: RegistrySnapshot, line: int) -> Publication | None:
    """The highest published release of a major number that was not withdrawn; None if there is none."""
    found = (each for each in snapshot.standing if is_release(each.version) and major(each.version) == line)
    return max(found, key=lambda each: precedence(each.version), default=None)


def parent_in_force(snapshot: RegistrySnapshot, line: int, at: str) -> Publication | None:
    """The highest release of a major number that is inherited at a time (as `moment` writes it); None if there is none."""
    versions = tuple(each for each in snapshot.versions if each.inherited_from <= at)
    return newest_release(replace(snapshot, versions=versions), line)


def document_of(dependencies: Dependencies, publication: Publication) -> ParentDocument:
    """The document of a published version, with the parents that it was published with."""
    text = dependencies.objects.read(Address(dependencies.places.lake, publication.document))
    return ParentDocument(text, pinned_parents(dependencies, publication), is_published=True)


def pinned_parents(dependencies: Dependencies, publication: Publication) -> Parents:
    """The parents that a version was published with."""
    lake = dependencies.places.lake
    return pinned({name: dependencies.objects.read(Address(lake, key)) for name, key in publication.needs})


def identity(text: bytes) -> tuple[str, str]:
    """The id and the version that a document declares; empty for a text that is none."""
    try:
        return identity_of(text)
    except ContractError:
        return "", ""


def published_before(dependencies: Dependencies, text: bytes) -> Publication | None:
    """The version that was published with this very document; None if there is none."""
    contract, version = identity(text)
    versions = dependencies.registry.contract(contract).versions if is_usable(contract) else ()
    wanted = version, document_key(text)
    return next((each for each in versions if (each.version, each.document) == wanted), None)


def parents_of(
    dependencies: Dependencies, text: bytes, before: Publication | None, own: tuple[str, ...] = EVERY_CONTRACT
) -> Parents:
    """The parents of a document to publish: the newest ones, or, if it was published `before`, those that it had then.

    A contract that is neither among the publisher's `own` nor shared with the document's is not found.
    """
    if before is not None:
        return pinned_parents(dependencies, before)
    contract, _ = identity(text)

    def find(parent: str, line: int) -> ParentDocument | None:
        now = moment(dependencies.clock.now())
        found = parent_in_force(dependencies.registry.contract(parent), line, now) if is_usable(parent) else None
        return None if found is None or not found.is_open_to(contract, own) else document_of(dependencies, found)

    return find


def refuse_other_parent(parent: PinnedDocument, seen: RegistrySnapshot, now: str) -> None:
    """Raise InputError if the parent of a contract is not the newest in force any more."""
    _, _, version = parent.name.rpartition("@")
    newest = parent_in_force(seen, major(version), now)
    if newest is None or newest.version != version:
        raise InputError(
            f"a newer version than {parent.name}, from which it inherits, was published meanwhile: publish again"
        )


def broken_children(
    dependencies: Dependencies,
    seen: RegistrySnapshot,
    compiled: CompiledContract,
    at: str,
    children: Iterable[str],
) -> Iterator[BrokenChild]:
    """Those of the published `children` that could not inherit from a version of their parent, from a time on.

    `seen` is the parent, with or without this version.
    """
    version, line = compiled.version, major(compiled.version)
    others = replace(seen, versions=tuple(each for each in seen.versions if each.version != version))
    current = parent_in_force(others, line, at)
    if not is_release(version) or (current is not None and precedence(current.version) > precedence(version)):
        return
    parent = ParentDocument(
        compiled.document, pinned({each.name: each.text for each in compiled.needs}), is_published=True
    )
    before = document_of(dependencies, current) if current else None
    for child in children:
        yield from _broken(dependencies, child, inherits=(compiled.contract, line), parent=parent, before=before)


def _broken(
    dependencies: Dependencies,
    child: str,
    *,
    inherits: tuple[str, int],
    parent: ParentDocument,
    before: ParentDocument | None,
) -> Iterator[BrokenChild]:
    """The newest version of each line of a child that inherits from this line, if it would be weaker than the new parent.

    Errors that it has with its own parents are not new, and, once its owner has notice, those that it has with the parent before.
    """
    snapshot = dependencies.registry.contract(child)
    for line in sorted({major(each.version) for each in snapshot.versions}):
        publication = newest_release(snapshot, line)
        if publication is None or _parent_line(publication) != inherits:
            continue
        document = document_of(dependencies, publication)

        def errors(above: Parents, text: bytes = document.text) -> tuple[Problem, ...]:
            return resolve(text, above).examined.errors

        lines = tuple(line_of(child, each, line) for each in datasets_of(publication))
        notices = (each.version for name in lines for each in dependencies.lines.get(name).parents)
        has_notice = inherits[0] in {each.rpartition("@")[0] for each in notices}
        own = (*errors(document.parents), *(errors(only(inherits, before)) if before and has_notice else ()))
        known = {(each.code, each.path) for each in own}
        after = errors(only(inherits, parent))
        problems = tuple(each for each in after if (each.code, each.path) not in known)
        if problems:
            yield BrokenChild(child, publication.version, dict(publication.labels).get("owner", ""), problems, lines)


def datasets_of(publication: Publication) -> list[str]:
    """The datasets of a version; `*` (`Contract.common`) for one that has only what others inherit."""
    return [dataset for dataset, _plan in publication.plans] or [COMMON]


def only(inherits: tuple[str, int], parent: ParentDocument) -> Parents:
    """Finds this parent and no other."""
    return lambda *wanted: parent if wanted == inherits else None


def _parent_line(publication: Publication) -> tuple[str, int] | None:
    if not publication.needs:
        return None
    contract, _, version = publication.needs[0][0].rpartition("@")
    return contract, major(version)
