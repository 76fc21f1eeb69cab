"""The object that a workload is about: its address, its bytes, and what identifies its content."""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lakegate.contracts.errors import LakegateError
from lakegate.functions.ports.errors import AccessDenied, Archived, NotFound
from lakegate.functions.ports.objects import Address
from lakegate.functions.usecases.grouping import staging_key
from lakegate.functions.workload import FailureCause, SourceObject

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.functions.ports.objects import ObjectVersion
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.workload import Workload

IDENTIFYING = frozenset({"crc64nvme", "sha256", "sha1"})
"""Checksums long enough that two contents of one size do not share one; every staged copy has one of them."""


class UnreadableSource(LakegateError):  # noqa: N818 - the name is what was observed
    """What landed cannot be read before a person grants a right or restores the object."""

    def __init__(self, cause: FailureCause) -> None:
        super().__init__(cause)
        self.cause = cause


def address(source: SourceObject) -> Address:
    """The address of one version."""
    return Address(source.bucket, source.key, source.version)


def described(version: ObjectVersion) -> SourceObject:
    """One version as the store describes it."""
    return SourceObject(version.bucket, version.key, version.version, version.etag, version.size, version.checksum)


def content(workload: Workload, data: SourceObject) -> str:
    """What two deliveries share when they bring the same bytes to the same line; empty where no checksum identifies them."""
    if workload.pin is None or data.checksum.partition(":")[0] not in IDENTIFYING:
        return ""
    return hashlib.sha256(f"{workload.pin.chain}\0{data.size}\0{data.checksum}".encode()).hexdigest()


def data_of(dependencies: Dependencies, workload: Workload) -> ObjectVersion | None:
    """The version to judge, or its staged copy where the producer deleted it since; None: there are no bytes left.

    Raises UnreadableSource.
    """
    staged = Address(dependencies.places.lake, staging_key(dependencies, workload))
    try:
        with of_the_source():
            return dependencies.objects.head(address(workload.source))
    except NotFound:
        pass
    try:
        return dependencies.objects.head(address(workload.staged) if workload.staged else staged)
    except NotFound:
        return None


@contextmanager
def of_the_source() -> Iterator[None]:
    """A refusal inside concerns what landed: another caller, key policy or storage class is needed, and no repetition."""
    try:
        yield
    except AccessDenied:
        raise UnreadableSource(FailureCause.ACCESS_DENIED) from None
    except Archived:
        raise UnreadableSource(FailureCause.ARCHIVED) from None
