"""Where ODF datasets lie: folders, S3 and web servers, by the simple transfer protocol (RFC-007).

`refs/head` names the last block, `blocks/HASH` and `data/HASH` are the others. A writer writes data, then blocks, then the head:
who reads at any moment sees a whole dataset. Every name but the head's is a hash that was computed or read as one.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request

from lakegate.cli.destination import S3
from lakegate.cli.over_http import OPENER, SECONDS
from lakegate.contracts.errors import InputError
from lakegate.functions.adapters.clients import client
from lakegate.functions.adapters.errors import port_errors
from lakegate.functions.ports.errors import ConditionFailed, NotFound

if TYPE_CHECKING:
    from collections.abc import Iterator

HEAD: Final = "refs/head"
PIECE: Final = 1 << 20
LONGEST_HEAD: Final = 1024
ABSENT: Final = frozenset({404, 410})


class OdfHead(NamedTuple):
    """The head of a dataset as it was read."""

    text: str
    token: str
    """By which a place knows whether it was replaced since."""


class OdfSource(Protocol):
    """A place that is read."""

    def pieces(self, name: str) -> Iterator[bytes]:
        """The bytes of an object. Raises NotFound; InputError where the place cannot be read."""
        ...


class OdfPlace(OdfSource, Protocol):
    """A place that is written, too."""

    def head(self) -> OdfHead | None:
        """The head, if there is one."""
        ...

    def size(self, name: str) -> int | None:
        """Bytes of an object; None where there is none."""
        ...

    def put(self, name: str, body: bytes | Path) -> None:
        """Write an object whole; another writer wrote the same bytes."""
        ...

    def set_head(self, text: str, before: OdfHead | None) -> None:
        """Replace the head at once. InputError where it is not the one before any more."""
        ...


def read(source: OdfSource, name: str, most: int) -> bytes:
    """An object of at most so many bytes. Raises NotFound, InputError."""
    found = bytearray()
    for piece in source.pieces(name):
        found += piece
        if len(found) > most:
            raise InputError(f"{name} has more than {most:,} bytes")
    return bytes(found)


def source_of(text: str) -> OdfSource:
    """A folder, `s3://BUCKET/PREFIX`, or an address of a web server."""
    parts = urlsplit(text)
    if parts.scheme in {"http", "https"}:
        if parts.query or parts.fragment or parts.username or not parts.hostname:
            raise InputError(f"{text} is not the address of a dataset: no user, query or fragment is sent")
        return WebSource(text.rstrip("/"))
    return place_of(text)


def place_of(text: str) -> OdfPlace:
    """A folder, or `s3://BUCKET/PREFIX`."""
    if match := S3.fullmatch(text):
        bucket, prefix = match.groups()
        if not bucket:
            raise InputError(f"{text} names no bucket: s3://BUCKET/PREFIX")
        return S3Place(bucket, f"{prefix.rstrip('/')}/" if prefix.rstrip("/") else "")
    if "://" in text:
        raise InputError(f"{text} is neither a folder nor s3://BUCKET/PREFIX")
    return FolderPlace(Path(text))


@dataclass(frozen=True, slots=True)
class FolderPlace:
    """A folder of this machine."""

    path: Path

    def pieces(self, name: str) -> Iterator[bytes]:
        """See `OdfSource`."""
        try:
            with (self.path / name).open("rb") as file:
                while piece := file.read(PIECE):
                    yield piece
        except FileNotFoundError:
            raise NotFound(name) from None
        except OSError as error:
            raise InputError(f"{self.path / name} cannot be read: {error.strerror}") from None

    def head(self) -> OdfHead | None:
        """See `OdfPlace`."""
        with suppress(NotFound):
            text = read(self, HEAD, LONGEST_HEAD).decode(errors="replace").strip()
            return OdfHead(text, text)
        return None

    def size(self, name: str) -> int | None:
        """See `OdfPlace`."""
        place = self.path / name
        return place.stat().st_size if place.is_file() and not place.is_symlink() else None

    def put(self, name: str, body: bytes | Path) -> None:
        """See `OdfPlace`."""
        with self.new(name) as part, part.open("wb") as target:
            for piece in FolderPlace(body.parent).pieces(body.name) if isinstance(body, Path) else (body,):
                target.write(piece)

    @contextmanager
    def new(self, name: str) -> Iterator[Path]:
        """A file that gets its name when it is whole. InputError where it cannot be written."""
        place = self.path / name
        part = place.with_name(f".{place.name}.part")
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            part.unlink(missing_ok=True)
            yield part
            part.replace(place)
        except OSError as error:
            raise InputError(f"{place} cannot be written: {error.strerror}") from None

    def set_head(self, text: str, before: OdfHead | None) -> None:
        """See `OdfPlace`."""
        if self.head() != before:
            raise InputError(f"{self.path} was changed by somebody else: repeat the command")
        os.sync()  # a head that survives a loss of power names files that do, too; once, as it takes milliseconds for each file
        self.put(HEAD, text.encode())


@dataclass(frozen=True, slots=True)
class S3Place:
    """A prefix of a bucket."""

    bucket: str
    prefix: str

    def pieces(self, name: str) -> Iterator[bytes]:
        """See `OdfSource`."""
        with port_errors():
            yield from client("s3").get_object(**self._at(name))["Body"].iter_chunks(PIECE)

    def head(self) -> OdfHead | None:
        """See `OdfPlace`."""
        try:
            with port_errors():
                answer = client("s3").get_object(**self._at(HEAD))
                text = answer["Body"].read(LONGEST_HEAD).decode(errors="replace").strip()
        except NotFound:
            return None
        return OdfHead(text, answer["ETag"])

    def size(self, name: str) -> int | None:
        """See `OdfPlace`."""
        try:
            with port_errors():
                found: int = client("s3").head_object(**self._at(name))["ContentLength"]
        except NotFound:
            return None
        return found

    def put(self, name: str, body: bytes | Path) -> None:
        """See `OdfPlace`."""
        with suppress(ConditionFailed):
            if isinstance(body, Path):
                with body.open("rb") as file, port_errors("absent"):
                    client("s3").put_object(Body=file, IfNoneMatch="*", ChecksumAlgorithm="SHA256", **self._at(name))
            else:
                with port_errors("absent"):
                    client("s3").put_object(Body=body, IfNoneMatch="*", ChecksumAlgorithm="SHA256", **self._at(name))

    def set_head(self, text: str, before: OdfHead | None) -> None:
        """See `OdfPlace`."""
        condition = {"IfNoneMatch": "*"} if before is None else {"IfMatch": before.token}
        try:
            with port_errors("head"):
                client("s3").put_object(Body=text.encode(), ContentType="text/plain", **condition, **self._at(HEAD))
        except (ConditionFailed, NotFound):
            raise InputError(
                f"s3://{self.bucket}/{self.prefix} was changed by somebody else: repeat the command"
            ) from None

    def _at(self, name: str) -> dict[str, str]:
        return {"Bucket": self.bucket, "Key": f"{self.prefix}{name}"}


@dataclass(frozen=True, slots=True)
class WebSource:
    """A folder behind a web server. Redirects are not followed."""

    url: str

    def pieces(self, name: str) -> Iterator[bytes]:
        """See `OdfSource`."""
        url = f"{self.url}/{name}"
        request = Request(url, headers={"Accept-Encoding": "identity", "User-Agent": "lakegate"})  # noqa: S310 - http(s)
        try:
            with OPENER.open(request, timeout=SECONDS) as answer:
                while piece := answer.read(PIECE):
                    yield piece
                if answer.length:
                    raise InputError(f"{url} broke off: repeat the command")
        except HTTPError as refused:
            with refused:
                if refused.code in ABSENT:
                    raise NotFound(name) from None
                raise InputError(f"{url} answered {refused.code}") from None
        except (URLError, HTTPException, OSError, ValueError) as error:
            raise InputError(f"{url} does not answer ({type(error).__name__})") from None
