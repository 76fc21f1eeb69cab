"""Contracts and their routes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from lakegate.contracts.lake.routes import Route


@dataclass(frozen=True, slots=True)
class Publication:
    """One contract version made valid: all its routes, in one transaction (at most 99)."""

    contract: str
    version: str
    status: str
    document: str
    """The key of the document in the lake bucket."""
    routes: tuple[Route, ...]
    retired: tuple[str, ...] = ()
    """Prefixes whose route this publication takes away."""
    plans: tuple[tuple[str, str], ...] = ()
    """Each dataset with the digest of its plan, so that a later route needs no compiler."""
    unmeasured_rules: int = 0
    """How many of its rules can never be measured; the publisher allowed that."""


@dataclass(frozen=True, slots=True)
class RegistrySnapshot:
    """All that the registry holds."""

    versions: tuple[Publication, ...] = ()
    """Without routes: those stand beside, as they are now."""
    routes: tuple[Route, ...] = ()


class Registry(Protocol):
    """Contracts and their routes."""

    def routes(self, bucket: str, prefixes: tuple[str, ...]) -> tuple[Route, ...]:
        """The routes that stand at these prefixes (at most 100): one strongly consistent batch."""
        ...

    def publish(self, publication: Publication) -> None:
        """Write version item and routes in one transaction.

        Raises ConditionFailed when the version is published with another content, or a prefix belongs to another line.
        """
        ...

    def snapshot(self) -> RegistrySnapshot:
        """Everything, for people: item by item, so it is no snapshot, but what was there before the call is in it."""
        ...
