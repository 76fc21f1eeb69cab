"""Sources that data is fetched from, and the landing bucket that it is written to in parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from lakegate.functions.ports.errors import PortError

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from datetime import datetime

    from lakegate.contracts.lake.pulls import PullingLine, SourceIdentity
    from lakegate.contracts.model.policy import Pull


class SourceChanged(PortError):  # noqa: N818 - the name is what happened
    """The source is not any more what was begun, or cannot continue: what is fetched of it is of no use."""


@dataclass(frozen=True, slots=True)
class OpenedSource:
    """A source that is being read."""

    identity: SourceIdentity
    size: int | None
    """Bytes of the whole source; None if it does not say."""
    resumable: bool
    """Whether it can be opened again in its middle, and would say if it is another one."""
    read: Callable[[int], bytes]
    """Up to so many bytes; fewer only at the end. Raises Unanswered where it breaks off."""


class Transfer(Protocol):
    """Sources of pulls."""

    def open(
        self, contract: str, pull: Pull, unless: SourceIdentity, begun: SourceIdentity | None = None, at: int = 0
    ) -> AbstractContextManager[OpenedSource | None]:
        """Read a source of a contract; None if it is as `unless` says. With `begun`, go on from byte `at` of that one.

        Raises SourceChanged, Unanswered and Throttled, where another attempt is right, and PortError with a code else.
        """
        ...


class LandedPart(NamedTuple):
    """A part that arrived."""

    number: int
    size: int
    etag: str


class LandingParts(Protocol):
    """Objects of the landing bucket that are written in parts; parts of an upload that ended raise NotFound."""

    def begin(self, key: str) -> str:
        """Begin an upload; its id."""
        ...

    def add(self, key: str, upload: str, number: int, body: bytes) -> None:
        """Write a part. The same part again replaces it."""
        ...

    def arrived(self, key: str, upload: str) -> tuple[LandedPart, ...]:
        """The parts that are there, by number."""
        ...

    def complete(self, key: str, upload: str) -> None:
        """Make the object of all parts. Raises ConditionFailed if there is one already."""
        ...

    def abort(self, key: str, upload: str) -> None:
        """End an upload without an object. One that is not there is done."""
        ...


class Pulls(Protocol):
    """Pulls by line. `get` is strongly consistent, `due` reads an index that lags."""

    def get(self, line: str) -> PullingLine:
        """The pull of a line; one that nobody has written has revision 0."""
        ...

    def write(self, line: PullingLine) -> None:
        """Replace it if it is one revision older. Raises ConditionFailed."""
        ...

    def due(self, now: datetime, limit: int) -> tuple[str, ...]:
        """Names of lines that are due, the oldest first."""
        ...
