"""Deliveries that a producer has announced, before their data lands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Announcement:
    """An announced delivery. It is no workload yet: what lands at its key becomes one."""

    id: str
    """Chosen at random: 64 hexadecimal digits that nobody can guess."""
    contract: str
    version: str
    """Of the contract, whose rules its summary was judged by."""
    dataset: str
    key: str
    """Where the data is to land; no other announcement has it."""
    size: int | None
    """Bytes; None where the producer uploads by its own rights."""
    sha256: str
    """Of the data, in Base64 as S3 has it; empty likewise."""
    until: str
    """When its upload URL ends: RFC 3339, UTC."""
    by: str
    """Who announced it: an ARN, or issuer and subject of a token."""


class Announcements(Protocol):
    """Announced deliveries. `get` is strongly consistent."""

    def create(self, announcement: Announcement) -> None:
        """Put if absent. Raises ConditionFailed when the id is taken."""
        ...

    def get(self, announcement: str) -> Announcement | None:
        """The announcement with this id."""
        ...
