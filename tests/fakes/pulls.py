"""Sources and landing in parts, in memory: a source that changes, breaks off, lies and refuses; uploads that end."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from lakegate.base.errors import NotFound, PortError, Unanswered
from lakegate.contract.delivery_policy import Pull
from lakegate.features.pull.pull_sources import OpenedSource, SourceChanged, SourceIdentity
from lakegate.features.pull.pull_task import LandedPart
from lakegate.gate.ports import Address
from tests.fakes.objects import MemoryObjects


def etag_of(body: bytes) -> str:
    """As web servers write it."""
    return f'"{hashlib.sha256(body).hexdigest()[:8]}"'


@dataclass
class MemorySource:
    """Transfer: one source, whatever its address is."""

    body: bytes = b""
    says: bool = True
    """Whether it has an ETag."""
    resumes: bool = True
    size: Callable[[bytes], int | None] = len
    """What it says of its length."""
    failure: PortError | None = None
    breaks_at: int | None = None
    """The byte at which the connection breaks, once."""
    ends_at: int | None = None
    """The byte at which it ends without an error, once."""
    checks: bool = True
    """Whether a continued source has to be the same one."""
    on_read: Callable[[int], None] = lambda _: None
    """Called before each read, with the place."""
    opened: list[tuple[SourceIdentity | None, int]] = field(default_factory=list)
    read: int = 0
    """Bytes."""

    @contextmanager
    def open(
        self, _contract: str, _pull: Pull, unless: SourceIdentity, begun: SourceIdentity | None = None, at: int = 0
    ) -> Iterator[OpenedSource | None]:
        """As a web server with strong ETags."""
        self.opened.append((begun, at))
        if self.failure is not None:
            raise self.failure
        body = self.body
        identity = SourceIdentity(etag_of(body)) if self.says else SourceIdentity()
        if begun is not None and self.checks and identity != begun:
            raise SourceChanged("source-changed")
        if begun is None and identity.is_as(unless):
            yield None
            return
        place = at

        def read(length: int) -> bytes:
            nonlocal place
            self.on_read(place)
            if self.breaks_at is not None and place + length > self.breaks_at:
                self.breaks_at = None
                raise Unanswered("ConnectionResetError")
            if self.ends_at is not None and place + length > self.ends_at:
                length, self.ends_at = max(0, self.ends_at - place), None
            found = body[place : place + length]
            place += len(found)
            self.read += len(found)
            return found

        yield OpenedSource(begun or identity, self.size(body), self.says and self.resumes, read)


@dataclass
class MemoryLandingParts:
    """LandingParts over the memory's objects."""

    objects: MemoryObjects
    bucket: str
    uploads: dict[str, tuple[str, dict[int, bytes]]] = field(default_factory=dict)
    begun: int = 0

    def begin(self, key: str) -> str:
        """An upload."""
        self.begun += 1
        self.uploads[f"u{self.begun}"] = (key, {})
        return f"u{self.begun}"

    def add(self, key: str, upload: str, number: int, body: bytes) -> None:
        """A part."""
        self._parts(key, upload)[number] = body

    def arrived(self, key: str, upload: str) -> tuple[LandedPart, ...]:
        """All parts."""
        return tuple(LandedPart(each, len(body), "") for each, body in sorted(self._parts(key, upload).items()))

    def complete(self, key: str, upload: str) -> None:
        """A conditional put of all parts, which ends the upload."""
        body = b"".join(body for _, body in sorted(self._parts(key, upload).items()))
        self.objects.put(Address(self.bucket, key), body, absent=True)
        del self.uploads[upload]

    def abort(self, key: str, upload: str) -> None:
        """End it."""
        with suppress(NotFound):
            self._parts(key, upload)
            del self.uploads[upload]

    def _parts(self, key: str, upload: str) -> dict[int, bytes]:
        of_key, parts = self.uploads.get(upload, ("", {}))
        if of_key != key:
            raise NotFound("NoSuchUpload")
        return parts
