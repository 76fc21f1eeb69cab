"""Semantic versions are enforced: a published version is compatible with the version that it follows, or has a higher number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.contracts.compare.compare import compare
from lakegate.contracts.compare.version import read_version
from lakegate.contracts.errors import ContractError, InputError
from lakegate.contracts.inherit.resolve import Resolver
from lakegate.contracts.lake.versions import is_release, major, precedence
from lakegate.contracts.words import listed
from lakegate.functions.ports.objects import Address
from lakegate.functions.usecases.parents import pinned_parents

if TYPE_CHECKING:
    from lakegate.contracts.compare.change import VersionComparison
    from lakegate.contracts.compare.version import ContractVersion
    from lakegate.contracts.inherit.resolve import Parents
    from lakegate.functions.ports.registry import Publication, RegistrySnapshot
    from lakegate.functions.usecases.dependencies import Dependencies


class IncompatibleVersion(InputError):  # noqa: N818 - the name is what happened
    """The number of a version is too low for its changes."""

    def __init__(self, comparison: VersionComparison) -> None:
        changes = [f"{each.kind} at {each.path}" for each in comparison.responsible]
        super().__init__(
            f"{comparison.new} follows {comparison.old}, and its changes need {comparison.bump.value.upper()}:"
            f" use {comparison.sufficient} or higher. Responsible: {listed(changes)}"
        )
        self.comparison = comparison


def followed(seen: RegistrySnapshot, version: str) -> Publication | None:
    """The version that a new one follows: the highest lower release of the same major number that was not withdrawn.

    None for the first version of a major number, which is a line of its own, and if only pre-releases precede it: they promise
    nothing (semver.org 2.0.0, 9).
    """
    lower = (
        each
        for each in seen.standing
        if is_release(each.version)
        and major(each.version) == major(version)
        and precedence(each.version) < precedence(version)
    )
    return max(lower, key=lambda each: precedence(each.version), default=None)


def compared_with_followed(
    dependencies: Dependencies, seen: RegistrySnapshot, version: str, document: bytes, parents: Parents
) -> VersionComparison | None:
    """The changes since the version that this one follows, with what both inherit; None if it follows none.

    Raises ContractError for a document that cannot be read, and InputError if the published one cannot be.
    """
    before = followed(seen, version)
    if before is None:
        return None
    old = read_published(dependencies, before)
    return compare(old, read_version(document, complete=Resolver(parents).complete))


def read_published(dependencies: Dependencies, publication: Publication) -> ContractVersion:
    """A published version with what it inherits. Raises InputError if it cannot be read any more."""
    text = dependencies.objects.read(Address(dependencies.places.lake, publication.document))
    try:
        inherited = Resolver(pinned_parents(dependencies, publication))
        return read_version(text, published=True, complete=inherited.complete)
    except ContractError as error:
        raise InputError(f"the published version {publication.version} cannot be read any more: {error}") from error


def refuse_incompatible(
    dependencies: Dependencies, seen: RegistrySnapshot, version: str, document: bytes, parents: Parents
) -> VersionComparison | None:
    """The changes of a new version; None if it follows none. Raises IncompatibleVersion."""
    comparison = compared_with_followed(dependencies, seen, version, document, parents)
    if comparison is not None and not comparison.ok:
        raise IncompatibleVersion(comparison)
    return comparison
