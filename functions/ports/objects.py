"""The objects of the two buckets."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from datetime import datetime


class Address(NamedTuple):
    """Where an object is; without `version`, the current one."""

    bucket: str
    key: str
    version: str | None = None


class ObjectVersion(NamedTuple):
    """One version of one object as the store describes it. Delete markers are never described."""

    bucket: str
    key: str
    version: str
    """`null` where the bucket was not versioned when the object was written."""
    etag: str
    size: int
    """Bytes."""
    checksum: str
    """`<algorithm>:<value>` of the full object; empty where the writer gave none."""
    modified: datetime
    current: bool = True
    """The version a read without version id would see."""


def agree(one: str, other: str) -> bool:
    """Whether two checksums show no difference. Those of different algorithms cannot be compared."""
    return one == other or one.partition(":")[0] != other.partition(":")[0]


class VersionPage(NamedTuple):
    """Some versions of a listing and where it continues; `after` is None on the last page."""

    versions: tuple[ObjectVersion, ...]
    after: str | None


class ObjectReader(Protocol):
    """S3, read. Strongly consistent."""

    def head(self, address: Address) -> ObjectVersion:
        """Describe one version. Raises NotFound (also for a delete marker)."""
        ...

    def read(self, address: Address, start: int = 0, length: int | None = None) -> bytes:
        """Up to `length` bytes from `start`. Raises NotFound."""
        ...

    def versions(self, bucket: str, prefix: str, after: str | None = None, limit: int = 1000) -> VersionPage:
        """List versions by key, newest first within a key, going on behind `after`, the opaque end of a page."""
        ...


class ObjectWriter(Protocol):
    """S3, written."""

    def put(  # noqa: PLR0913 - the request has these parts
        self,
        to: Address,
        body: bytes,
        *,
        absent: bool = False,
        etag: str | None = None,
        tag: str = "",
        content_type: str = "",
    ) -> ObjectVersion:
        """Write an object. `absent`: If-None-Match `*`; `etag`: If-Match; `tag`: of the name `lakegate`, for lifecycle rules.

        `content_type`: as which a browser gets it; empty: bytes.

        Raises ConditionFailed (412), TransactionConflict (409), Throttled.
        """
        ...

    def copy(self, source: Address, etag: str, to: Address, *, absent: bool = False, tag: str = "") -> ObjectVersion:
        """Copy one version whose ETag is `etag`; `absent`: If-None-Match `*` on the destination; `tag`: as of `put`.

        The copy has a checksum of the whole object that identifies its content: the source's own (SHA-256, SHA-1, CRC-64/NVME)
        where the store can compute it of a copy of this size, else CRC-64/NVME.
        Raises NotFound (no such source version), ConditionFailed (another ETag, or the destination exists), Unfinished.
        """
        ...

    def delete(self, address: Address) -> None:
        """Delete: with a version that version for ever, without one by a delete marker. Absent is done."""
        ...


class ObjectStore(ObjectReader, ObjectWriter, Protocol):
    """The two buckets."""
