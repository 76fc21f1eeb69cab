"""Where ODF datasets lie by the text that names it: a folder, S3, or a web server."""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import dataclass
from http.client import HTTPException
from io import BytesIO
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import TYPE_CHECKING, Any, Final
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request

from lakegate.cli.destination import S3
from lakegate.cli.odf_places import HEAD, LONGEST_HEAD, PIECE, FolderPlace, OdfHead, SourceError, is_whole
from lakegate.cli.over_http import OPENER, SECONDS
from lakegate.contracts.errors import InputError
from lakegate.contracts.words import counted
from lakegate.functions.adapters.clients import client
from lakegate.functions.adapters.errors import port_errors
from lakegate.functions.ports.errors import ConditionFailed, NotFound

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from lakegate.cli.odf_places import OdfPlace, OdfSource

PATIENCE: Final = SECONDS
"""Seconds until a server answers, and sends its first bytes."""
SLOWEST: Final = 10_000
"""Bytes that a server sends in a second, at the least."""
ABSENT: Final = frozenset({404, 410})


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
class S3Place:
    """A prefix of a bucket."""

    bucket: str
    prefix: str

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}".rstrip("/")

    def pieces(self, name: str) -> Iterator[bytes]:
        """See `OdfSource`."""
        with port_errors():
            yield from client("s3").get_object(**self._at(name))["Body"].iter_chunks(PIECE)

    def locked(self) -> AbstractContextManager[None]:
        """See `OdfPlace`. Whole objects get their names at once, and the head is replaced only as it was read."""
        return nullcontext()

    def head(self) -> OdfHead | None:
        """See `OdfPlace`."""
        try:
            with port_errors():
                answer = client("s3").get_object(**self._at(HEAD))
                text = answer["Body"].read(LONGEST_HEAD).decode(errors="replace").strip()
        except NotFound:
            return None
        return OdfHead(text, answer["ETag"])

    def put(self, name: str, body: bytes | Path) -> None:
        """See `OdfPlace`."""
        with body.open("rb") if isinstance(body, Path) else BytesIO(body) as file:
            try:
                with port_errors("absent"):
                    client("s3").put_object(Body=file, IfNoneMatch="*", ChecksumAlgorithm="SHA256", **self._at(name))
            except ConditionFailed:
                if is_whole(self, name):
                    return
                file.seek(0)
                with port_errors():
                    client("s3").put_object(Body=file, ChecksumAlgorithm="SHA256", **self._at(name))

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

    def __str__(self) -> str:
        return self.url

    def pieces(self, name: str) -> Iterator[bytes]:
        """See `OdfSource`. SourceError where the server sends less than SLOWEST after its first seconds."""
        url = f"{self.url}/{name}"
        request = Request(url, headers={"Accept-Encoding": "identity", "User-Agent": "lakegate"})  # noqa: S310 - http(s)
        began, received = time.monotonic(), 0
        try:
            with _begun(request) as answer:
                while piece := answer.read1(PIECE):
                    received += len(piece)
                    yield piece
                    if time.monotonic() - began > PATIENCE + received / SLOWEST:
                        raise SourceError(f"{url} is sent too slowly: {counted(received, 'byte')} so far")
                if answer.length:
                    raise SourceError(f"{url} broke off: repeat the command")
        except HTTPError as refused:
            with refused:
                if refused.code in ABSENT:
                    raise NotFound(name) from None
                raise SourceError(f"{url} answered {refused.code}") from None
        except (URLError, HTTPException, OSError, ValueError) as error:
            raise SourceError(f"{url} does not answer ({type(error).__name__})") from None


def _begun(request: Request) -> Any:  # noqa: ANN401 - the library's answer
    """The answer to a request when its head is there. TimeoutError where that takes too long, even if bytes come meanwhile."""
    found: Queue[Any] = Queue(1)

    def ask() -> None:
        try:
            found.put(OPENER.open(request, timeout=PATIENCE))
        except Exception as error:  # noqa: BLE001 - the caller raises it
            found.put(error)

    Thread(target=ask, daemon=True).start()
    try:
        answer = found.get(timeout=PATIENCE)
    except Empty:
        raise TimeoutError from None
    if isinstance(answer, Exception):
        raise answer
    return answer
