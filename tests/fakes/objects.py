"""S3 in memory: versions, delete markers, ETags, checksums, and the conditions of put and copy."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from lakegate.base.errors import AccessDenied, ConditionFailed, InputError, NotFound, PortError
from lakegate.gate.ports import Address, ObjectVersion, VersionPage
from tests.fakes.fault_injector import FaultInjector, VirtualClock

MAX_KEY_BYTES = 1024
PAGE = 3


@lru_cache(1_000)
def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def checksum(body: bytes, algorithm: str) -> str:
    """As S3 describes it. Of 32 bits, all contents of one size share one: what two random ones do seldom, these always do."""
    value = str(len(body)) if algorithm.startswith("crc32") else _digest(body)
    return f"{algorithm}:{value}" if algorithm else ""


class Stored(NamedTuple):
    """One version; without description, a delete marker."""

    ordinal: int
    version: str
    described: ObjectVersion | None
    body: bytes = b""


class MemoryObjects:
    """Buckets of versions, the newest last."""

    def __init__(self, clock: VirtualClock, faults: FaultInjector, buckets: tuple[str, ...]) -> None:
        self._clock = clock
        self._faults = faults
        self.buckets: dict[str, dict[str, list[Stored]]] = {bucket: {} for bucket in buckets}
        self._written = 0
        self.touched: list[tuple[str, str]] = []
        """Bucket and key of every write and delete: for tests that check only what changed."""
        self._past: dict[str, ObjectVersion] = {}
        self._replaced: dict[str, datetime] = {}
        """Since when a version is not current."""
        self.expired: set[str] = set()
        """Versions that a rule of the lifecycle has removed."""
        self.read_hooks: list[Callable[[Address], None]] = []
        """Called after each read of bytes, of a description and of a last page of versions: what others do between two reads."""
        self.locked: dict[str, type[PortError]] = {}
        """Versions that nobody but their producer can read, and how S3 refuses: AccessDenied or Archived."""
        self.written_bytes = 0
        """By puts."""
        self.tags: dict[str, str] = {}
        """Of versions that have one."""
        self.content_types: dict[str, str] = {}
        """Likewise."""
        self.parts_above = 512 * 1024 * 1024
        """Bytes: larger copies go in parts, of which S3 computes a CRC of the whole object only."""

    def head(self, address: Address) -> ObjectVersion:
        """The description of a version; HeadObject answers for an archived one, too."""
        described = self._find(address)[0]
        if self.locked.get(described.version) is AccessDenied:
            raise AccessDenied
        if self.read_hooks:
            self._was_read(address)
        return described

    def read(self, address: Address, start: int = 0, length: int | None = None) -> bytes:
        """A range of a version's bytes."""
        body = self._readable(address)[1]
        if self.read_hooks:
            self._was_read(address)
        return body[start:] if length is None else body[start : start + length]

    def versions(self, bucket: str, prefix: str, after: str | None = None, limit: int = 1000) -> VersionPage:
        """Keys in the order of their bytes, the newest version first; a page continues after what was listed.

        S3 may give fewer than are asked for: here at most `PAGE`, so that every listing has several pages. Delete markers
        count, and are not shown: a page may be empty, and others follow it.
        """
        # Code points sort as their UTF-8 bytes do.
        keys = sorted([key for key in self.buckets[bucket] if key.startswith(prefix)])
        if not keys:
            return VersionPage((), None)
        page: list[ObjectVersion] = []
        last = "", 0
        for count, (key, stored, described) in enumerate(self._behind(bucket, keys, after)):
            if count == min(limit, PAGE):
                return VersionPage(tuple(page), f"{last[1]}/{last[0]}", last[0])
            if described is not None:
                page.append(described)
            last = key, stored.ordinal
        if self.read_hooks:
            for key in dict.fromkeys(each.key for each in page):
                self._was_read(Address(bucket, key))
        return VersionPage(tuple(page), None)

    def entries(self, bucket: str, prefix: str) -> tuple[str, ...]:
        """Keys and folders, as of now."""
        names: set[str] = set()
        for key in [each for each in self.buckets[bucket] if each.startswith(prefix)]:
            try:
                self._find(Address(bucket, key))
            except NotFound:
                continue
            name, slash, _ = key.removeprefix(prefix).partition("/")
            names.add(f"{prefix}{name}{slash}")
        return tuple(sorted(names))

    def put(  # noqa: PLR0913 - as the port
        self,
        to: Address,
        body: bytes,
        *,
        absent: bool = False,
        etag: str | None = None,
        tag: str = "",
        content_type: str = "",
    ) -> ObjectVersion:
        """A new version, if its conditions hold."""
        self._faults.pass_or_refuse()
        self._judge(to, absent=absent, etag=etag)
        self.written_bytes += len(body)
        written = self._write(to, body, f'"{_digest(body)[:32]}"', checksum(body, "sha256"))
        if tag:
            self.tags[written.version] = tag
        if content_type:
            self.content_types[written.version] = content_type
        return written

    def land(self, to: Address, body: bytes, algorithm: str, took: timedelta = timedelta()) -> ObjectVersion:
        """A producer's upload, with the checksum that its program chose; empty: one of each part, none of the whole.

        One in parts took some time, and Last-Modified says when it began.
        """
        parts = "" if algorithm and not took else "-2"
        return self._write(to, body, f'"{_digest(body)[:32]}{parts}"', checksum(body, algorithm), took)

    def copy(self, source: Address, etag: str, to: Address, *, absent: bool = False, tag: str = "") -> ObjectVersion:
        """A new version with the bytes of another, if its conditions hold."""
        self._faults.pass_or_refuse()
        described, body = self._readable(source)
        if described.etag != etag:
            raise ConditionFailed("etag")
        self._judge(to, absent=absent)
        algorithm = described.checksum.partition(":")[0]
        kept = algorithm in {"sha256", "sha1"} and len(body) <= self.parts_above
        copied = self._write(to, body, described.etag, checksum(body, algorithm if kept else "crc64nvme"))
        if tag:
            self.tags[copied.version] = tag
        return copied

    def delete(self, address: Address) -> None:
        """A version for ever, or the key behind a marker."""
        self._faults.pass_or_refuse()
        self.touched.append((address.bucket, address.key))
        keys = self.buckets[address.bucket]
        if address.version is None:
            if address.key in keys:
                self._replaced[keys[address.key][-1].version] = self._clock.now()
                keys[address.key].append(self._marker())
            return
        left = [stored for stored in keys.get(address.key, ()) if stored.version != address.version]
        if left:
            keys[address.key] = left
        else:
            keys.pop(address.key, None)

    def current(self, bucket: str, prefix: str = "") -> dict[str, bytes]:
        """What a reader without version ids sees: for tests."""
        found = {key: stored[-1] for key, stored in self.buckets[bucket].items() if key.startswith(prefix)}
        return {key: stored.body for key, stored in found.items() if stored.described}

    def _was_read(self, address: Address) -> None:
        for hook in tuple(self.read_hooks):  # one may end itself
            hook(address)

    def _find(self, address: Address) -> tuple[ObjectVersion, bytes]:
        stored = self.buckets[address.bucket].get(address.key, ())
        for each in reversed(stored):
            if address.version is None or each.version == address.version:
                if each.described is None:
                    break
                return each.described, each.body
        raise NotFound

    def _readable(self, address: Address) -> tuple[ObjectVersion, bytes]:
        described, body = self._find(address)
        if described.version in self.locked:
            raise self.locked[described.version]
        return described, body

    def _judge(self, to: Address, *, absent: bool, etag: str | None = None) -> None:
        if not 0 < len(to.key.encode()) <= MAX_KEY_BYTES:
            raise InputError("an object key has 1 to 1,024 bytes")
        stored = self.buckets[to.bucket].get(to.key)
        current = stored[-1].described if stored else None
        if absent and current is not None:
            raise ConditionFailed("absent")
        if etag is not None and (current is None or current.etag != etag):
            raise ConditionFailed("etag")

    def _write(
        self, to: Address, body: bytes, etag: str, checksum: str, took: timedelta = timedelta()
    ) -> ObjectVersion:
        self._written += 1
        self.touched.append((to.bucket, to.key))
        version = f"v{self._written}"
        now = self._clock.now()
        described = ObjectVersion(to.bucket, to.key, version, etag, len(body), checksum, now - took)
        stored = self.buckets[to.bucket].setdefault(to.key, [])
        if stored:
            self._replaced[stored[-1].version] = now
        stored.append(Stored(self._written, version, described, body))
        return described

    def expire(self, bucket: str, prefix: str, noncurrent: timedelta, current: timedelta | None = None) -> None:
        """Apply a rule of the lifecycle: versions that are not current, markers above nothing, old objects."""
        now, keys = self._clock.now(), self.buckets[bucket]
        for key in [key for key in keys if key.startswith(prefix)]:
            *below, top = keys[key]
            if current is not None and top.described is not None and now - top.described.modified > current:
                self._replaced[top.version] = now
                below, top = [*below, top], self._marker()
            left = [each for each in below if now - self._replaced[each.version] <= noncurrent]
            self.expired.update(each.version for each in below if each not in left)
            if top.described is not None or left:
                keys[key] = [*left, top]
            else:
                del keys[key]
            self.touched.append((bucket, key))

    def _marker(self) -> Stored:
        self._written += 1
        return Stored(self._written, f"v{self._written}", None)

    def _behind(
        self, bucket: str, keys: list[str], after: str | None
    ) -> Iterator[tuple[str, Stored, ObjectVersion | None]]:
        """Versions, and delete markers without a description."""
        ordinal, _, behind = (after or "").partition("/")
        for key in keys:
            if key < behind:
                continue
            versions = self.buckets[bucket][key]
            for stored in reversed(versions):
                seen = key == behind and after is not None and stored.ordinal >= int(ordinal)
                if not seen:
                    described = stored.described
                    is_below = stored is not versions[-1] and described is not None
                    yield key, stored, self._noncurrent(described) if is_below and described else described

    def _noncurrent(self, described: ObjectVersion) -> ObjectVersion:
        """The same version below a newer one, made once."""
        if described.version not in self._past:
            self._past[described.version] = described._replace(current=False)
        return self._past[described.version]
