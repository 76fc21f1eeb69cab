"""Parents and children in the registry; stricter parents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import takewhile
from typing import Final

from lakegate.base.errors import AccessDenied, ContractError, InputError, Problem
from lakegate.base.text import printable
from lakegate.contract.contract_model import full_dataset_name, is_usable, parts_of
from lakegate.contract.semantic_versions import is_release, major, precedence
from lakegate.gate.datasets.dataset_states import DatasetState, ParentNotice
from lakegate.gate.datasets.lifecycle import PARENT, announce_parent, change
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Steps
from lakegate.gate.person_decisions import LONGEST_REASON
from lakegate.gate.registry.contract_owners import EVERY_CONTRACT, are_named
from lakegate.gate.registry.contract_versions import CompiledContract, document_key, newest_release, pinned_parents
from lakegate.gate.registry.registry_rows import Publication, RegistrySnapshot, WeakerChild
from lakegate.inheritance.inherited_documents import (
    ParentDocument,
    Parents,
    PinnedDocument,
    identity_of,
    parents_by_name,
    resolve,
)

# ---- Parents and children ----
# A version is resolved when it is published: the documents of its parents are pinned by their digests, so that a later version
# of a parent changes neither it nor its plans. Children that are weaker than a new version of their parent get notice
# (`lakegate.gate.registry.parent_contracts`); they never keep it from being published.


def parent_in_force(snapshot: RegistrySnapshot, number: int, at: str) -> Publication | None:
    """The highest release of a major number that is inherited at a time (as `moment` writes it); None if there is none."""
    versions = tuple(version for version in snapshot.versions if version.inherited_from <= at)
    return newest_release(replace(snapshot, versions=versions), number)


def document_of(dependencies: Dependencies, publication: Publication) -> ParentDocument:
    """The document of a published version, with the parents that it was published with."""
    text = dependencies.read_lake(publication.document)
    return ParentDocument(text, pinned_parents(dependencies, publication.needs), is_published=True)


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
    return next(
        (publication for publication in versions if (publication.version, publication.document) == wanted), None
    )


def parents_of(
    dependencies: Dependencies, text: bytes, before: Publication | None, own: tuple[str, ...] = EVERY_CONTRACT
) -> Parents:
    """The parents of a document to publish: the newest ones, or, if it was published `before`, those that it had then.

    A contract that is neither among the publisher's `own` nor shared with the document's is not found.
    """
    if before is not None:
        return pinned_parents(dependencies, before.needs)
    contract, _ = identity(text)

    def find(parent: str, number: int) -> ParentDocument | None:
        now = dependencies.moment
        publication = (
            parent_in_force(dependencies.registry.contract(parent), number, now) if is_usable(parent) else None
        )
        return (
            None
            if publication is None or not publication.is_open_to(contract, own)
            else document_of(dependencies, publication)
        )

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
) -> Iterator[WeakerChild]:
    """Those of the published `children` that could not inherit from a version of their parent, from a time on.

    `seen` is the parent, with or without this version.
    """
    version, number = compiled.version, compiled.major
    others = replace(
        seen, versions=tuple(publication for publication in seen.versions if publication.version != version)
    )
    current = parent_in_force(others, number, at)
    if not is_release(version) or (current is not None and current.precedence > precedence(version)):
        return
    parent = ParentDocument(
        compiled.document, parents_by_name({need.name: need.text for need in compiled.needs}), is_published=True
    )
    before = document_of(dependencies, current) if current else None
    for child in children:
        yield from _broken(dependencies, child, inherits=(compiled.contract, number), parent=parent, before=before)


def _broken(
    dependencies: Dependencies,
    child: str,
    *,
    inherits: tuple[str, int],
    parent: ParentDocument,
    before: ParentDocument | None,
) -> Iterator[WeakerChild]:
    """The newest version for each major number of a child that inherits from this one, if it would be weaker than the new parent.

    Errors that it has with its own parents are not new, and, once its owner has notice, those that it has with the parent before.
    """
    snapshot = dependencies.registry.contract(child)
    for number in sorted({version.major for version in snapshot.versions}):
        publication = newest_release(snapshot, number)
        if publication is None or _parent_major(publication) != inherits:
            continue
        document = document_of(dependencies, publication)

        def errors(above: Parents, text: bytes = document.text) -> tuple[Problem, ...]:
            return resolve(text, above).examined.errors

        datasets = tuple(full_dataset_name(child, dataset, number) for dataset in publication.datasets)
        notices = (notice.version for name in datasets for notice in dependencies.datasets.get(name).parents)
        has_notice = inherits[0] in {notice.rpartition("@")[0] for notice in notices}
        own = (*errors(document.parents), *(errors(only(inherits, before)) if before and has_notice else ()))
        known = {(problem.code, problem.path) for problem in own}
        after = errors(only(inherits, parent))
        problems = tuple(problem for problem in after if (problem.code, problem.path) not in known)
        if problems:
            yield WeakerChild(child, publication.version, dict(publication.labels).get("owner", ""), problems, datasets)


def only(inherits: tuple[str, int], parent: ParentDocument) -> Parents:
    """Finds this parent and no other."""
    return lambda *wanted: parent if wanted == inherits else None


def _parent_major(publication: Publication) -> tuple[str, int] | None:
    if not publication.needs:
        return None
    contract, _, version = publication.needs[0][0].rpartition("@")
    return contract, major(version)


# ---- Parents that children are weaker than ----
# `lakegate publish --from DAY` stores the version at once. Until the day, contracts are published with the version before.
# Children never block a parent: the version is written first, whatever they are and however many. Then each dataset of a contract
# that is weaker gets the notice in its item; the same transaction has the record and the message of the outbox
# (`lakegate.gate.datasets.lifecycle`). Who publishes a contract before the day is warned at each place that is weaker.


NEEDED: Final = 10.0
"""Seconds that looking at one more contract may take."""


def weaker_later(dependencies: Dependencies, seen: RegistrySnapshot, compiled: CompiledContract) -> tuple[Problem, ...]:
    """Places where a document is weaker than versions of its parent that are announced and will be in force.

    There are none for a release with a higher one in its dataset, and for a pre-release, as for published contracts.
    """
    newest = newest_release(seen, compiled.major)
    is_older = newest is not None and newest.precedence > compiled.precedence
    if not compiled.needs or is_older or not is_release(compiled.version):
        return ()
    return tuple(_problems_to_come(dependencies, compiled))


def _problems_to_come(dependencies: Dependencies, compiled: CompiledContract) -> Iterator[Problem]:
    number = major(compiled.needs[0].name.rpartition("@")[2])
    own = resolve(compiled.document, parents_by_name({need.name: need.text for need in compiled.needs})).examined.errors
    known = {(problem.code, problem.path) for problem in own}
    for parent in _announced(dependencies, compiled.parent, number):
        if not parent.is_open_to(compiled.contract, compiled.own):
            continue
        above = only((compiled.parent, number), document_of(dependencies, parent))
        errors = resolve(compiled.document, above).examined.errors
        start = f"From {parent.inherited_from[:10]} on, when `{parent.contract}@{parent.version}` is inherited: "
        yield from (
            replace(error, message=start + error.message) for error in errors if (error.code, error.path) not in known
        )


def _announced(dependencies: Dependencies, contract: str, number: int) -> Iterator[Publication]:
    """The releases of a major number that are inherited from a day to come, and are the highest on that day."""
    above, now = dependencies.registry.contract(contract), dependencies.moment
    for day in sorted({version.inherited_from for version in above.versions if version.inherited_from > now}):
        publication = parent_in_force(above, number, day)
        if publication is not None and publication.inherited_from == day:
            yield publication


def children_to_notify(
    dependencies: Dependencies, seen: RegistrySnapshot, compiled: CompiledContract
) -> tuple[WeakerChild, ...]:
    """The publisher's own contracts that are weaker than the version; none if it is published already.

    Others are not shown: they are of owners of their own.
    """
    if compiled.version in seen.by_number:
        return ()
    own = (each for each in seen.children if are_named(compiled.own, each))
    at = compiled.inherited_from or dependencies.moment
    return tuple(broken_children(dependencies, seen, compiled, at, own))


def announce(dependencies: Dependencies, compiled: CompiledContract, published: Publication) -> Steps[None]:
    """Give notice of a published version to the datasets of all contracts that are weaker, once: the publisher's own first.

    As many as there is time for: publishing the version again goes on. Raises AccessDenied for a caller who may not write
    datasets, if the version is inherited from a day on; one that is inherited at once is published without notice.
    """
    seen = dependencies.registry.contract(compiled.contract)
    ordered = sorted(seen.children, key=lambda each: not are_named(compiled.own, each))
    children = takewhile(lambda _: dependencies.remaining() > NEEDED, ordered)
    at = published.inherited_from or dependencies.moment
    for child in broken_children(dependencies, seen, compiled, at, children):
        notice = ParentNotice(f"{published.contract}@{published.version}", at, printable(child.owner)[:LONGEST_REASON])
        for dataset in child.datasets:
            try:
                yield from change(dependencies, dataset, PARENT, partial(announce_parent, notice=notice))
            except AccessDenied:
                if published.inherited_from:
                    raise
                return


def still_weaker(dependencies: Dependencies, dataset: DatasetState) -> tuple[ParentNotice, ...]:
    """The notices of a dataset that hold: what its contract inherited from before is older than the version of the notice."""
    contract, _, number = parts_of(dataset.name)
    newest = newest_release(dependencies.registry.contract(contract), number)
    parent, _, version = newest.needs[0][0].rpartition("@") if newest and newest.needs else ("", "", "")
    named = ((notice, *notice.version.rpartition("@")) for notice in dataset.parents)
    return tuple(notice for notice, of, _, new in named if of == parent and precedence(version) < precedence(new))
