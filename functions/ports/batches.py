"""Batches: deliveries that one job run judges, each separately."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from datetime import datetime


class Member(NamedTuple):
    """An attempt of a workload, in a batch."""

    workload: str
    attempt: int
    size: int
    """Bytes."""


class Batch(NamedTuple):
    """A batch. It is open until a request is stored with it; after that its members never change."""

    id: str
    files: int
    """The most members."""
    bytes: int
    """With so many bytes, or more, it takes no further member."""
    closes_at: datetime
    """After this time the next worker that reads it closes it."""
    members: tuple[Member, ...] = ()
    request: str = ""
    """The whole request of StartJobRun as JSON, stored when the batch was closed."""
    run: str = ""
    """Id of its job run, once that is known."""

    @property
    def is_full(self) -> bool:
        """Whether it takes no further member."""
        return len(self.members) >= self.files or sum(each.size for each in self.members) >= self.bytes


class Batches(Protocol):
    """The items of batches. `get` is strongly consistent."""

    def get(self, batch: str) -> Batch:
        """The batch. Raises NotFound."""
        ...

    def join(self, batch: Batch, member: Member) -> None:
        """Add a member; the first one creates the batch, with the limits of `batch`, which are ignored afterwards.

        Raises ConditionFailed where it is closed or full, or has the member.
        """
        ...

    def close(self, batch: Batch, request: str) -> None:
        """Store the request, if the batch is open and has exactly the members of `batch`. Raises ConditionFailed."""
        ...

    def started(self, batch: str, run: str) -> None:
        """Store the id of the job run."""
        ...
