"""Registered validators: documents in the registry, beside contracts and workflows and in the same way.

A rule is bound to a validator by its name, in the plan that is pinned. Address and secret are those of the stack when an attempt
begins: a service that moves needs no new contract version, and one that is removed gets no data any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lakegate.contracts.lake.lifecycle import LineStatus
from lakegate.contracts.lake.validators import read_service
from lakegate.contracts.lake.versions import precedence
from lakegate.functions.ports.objects import Address

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lakegate.contracts.lake.validators import ValidatorService
    from lakegate.functions.ports.registry import Publication
    from lakegate.functions.usecases.dependencies import Dependencies

PREFIX: Final = "_validator:"
"""Of the ids of validators in the registry."""


def validators(dependencies: Dependencies) -> tuple[ValidatorService, ...]:
    """The registered validators, by name."""
    versions: dict[str, list[Publication]] = {}
    for each in dependencies.registry.snapshot(PREFIX).versions:
        versions.setdefault(each.contract, []).append(each)
    found = (_active(dependencies, versions[name]) for name in sorted(versions))
    return tuple(each for each in found if each is not None)


def validator_named(dependencies: Dependencies, name: str) -> ValidatorService | None:
    """A registered validator as it is now; None if none has this name."""
    return _active(dependencies, dependencies.registry.contract(f"{PREFIX}{name}").versions)


def newest(versions: Iterable[Publication]) -> Publication | None:
    """The latest version of a validator; None of one that was never registered."""
    return max(versions, key=lambda each: precedence(each.version), default=None)


def _active(dependencies: Dependencies, versions: Iterable[Publication]) -> ValidatorService | None:
    found = newest(versions)
    if found is None or found.status != LineStatus.ACTIVE.value:
        return None
    return read_service(dependencies.objects.read(Address(dependencies.places.lake, found.document)))
