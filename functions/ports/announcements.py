"""Deliveries that a producer has announced, before their data lands."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Protocol

from lakegate.contracts.lake.lifecycle import instant_of

if TYPE_CHECKING:
    from datetime import datetime

ARRIVES: Final = timedelta(days=1)
"""How long after the end of its URL the data of an announcement may land: uploads that began in time, and uploads in parts."""


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


def is_unused(announcement: Announcement, now: datetime) -> bool:
    """Whether the time of an announcement for which nothing has landed is over.

    Computed when it is read, and kept nowhere: what lands still later is its delivery, so no order of events can lose data.
    """
    return now >= instant_of(announcement.until) + ARRIVES


class Announcements(Protocol):
    """Announced deliveries. `get` is strongly consistent."""

    def create(self, announcement: Announcement) -> None:
        """Put if absent. Raises ConditionFailed when the id is taken."""
        ...

    def get(self, announcement: str) -> Announcement | None:
        """The announcement with this id."""
        ...
