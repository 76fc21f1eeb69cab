"""Sources over HTTPS, and HTTP if the contract allows it: conditional requests, ranges, and redirects that are checked, too.

What a server responses is hostile text: of its headers only those are kept that have the form of HTTP's own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.client import HTTPException, HTTPResponse
from typing import Final

from lakegate.aws.https_client import Web, read_exactly, redirect_target, split
from lakegate.aws.secrets import CREDENTIAL_KEYS, header_of
from lakegate.base.errors import PortError, Throttled, Unanswered
from lakegate.contract.delivery_policy import Pull
from lakegate.features.pull.pull_sources import MAX_IDLE, OpenedSource, PullAccess, SourceChanged, SourceIdentity

MAX_REDIRECTS: Final = 5
REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
OK, PARTIAL, NOT_MODIFIED, FAILED, UNSATISFIABLE, TOO_MANY, SERVER_ERROR = 200, 206, 304, 412, 416, 429, 500
_ETAG: Final = re.compile(r'(W/)?"[!#-~]{0,200}"')
_DATE: Final = re.compile(r"[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT")
_RANGE: Final = re.compile(r"bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18})")


@dataclass(frozen=True, slots=True)
class HttpsSource:
    """Files of web servers that the stack's operator has allowed."""

    web: Web
    access: PullAccess

    @contextmanager
    def open(
        self, contract: str, pull: Pull, unless: SourceIdentity, begun: SourceIdentity | None = None, at: int = 0
    ) -> Iterator[OpenedSource | None]:
        """GET, with the conditions that identity and byte ask for."""
        headers = {"Accept-Encoding": "identity", "User-Agent": "lakegate"}
        if begun is not None:
            headers |= {"Range": f"bytes={at}-", "If-Range": begun.etag}
        elif unless.etag:
            headers["If-None-Match"] = unless.etag
        elif unless.modified:
            headers["If-Modified-Since"] = unless.modified
        with self._response(contract, pull, headers) as response:
            yield _opened(response, unless, begun, at)

    @contextmanager
    def _response(self, contract: str, pull: Pull, headers: dict[str, str]) -> Iterator[HTTPResponse]:
        """The first response that is no redirect. Credentials go to the host of the contract only."""
        url, first = pull.source, split(pull.source, plain=self.web.plain)
        self.access.allow(first.hostname)
        if pull.secret and first.scheme != "https":
            raise PortError("unencrypted-refused")  # a secret is not sent where it can be read
        credentials = self._credentials(contract, pull.secret, first.hostname or "")
        seconds = self.access.seconds
        for _ in range(MAX_REDIRECTS + 1):
            parts = split(url, plain=self.web.plain)
            self.access.allow(parts.hostname)
            is_first = (parts.scheme, parts.hostname, parts.port or 443) == (
                first.scheme,
                first.hostname,
                first.port or 443,
            )
            with replace(self.web, seconds=seconds, idle=MAX_IDLE).get(
                url, headers | (credentials if is_first else {})
            ) as response:
                if response.status not in REDIRECTS:
                    yield response
                    return
                url = redirect_target(url, response)
        raise PortError("too-many-redirects")

    def _credentials(self, contract: str, name: str, host: str) -> dict[str, str]:
        """The header of a secret."""
        if not name:
            return {}
        return header_of(self.access.secret(contract, name, host, CREDENTIAL_KEYS))


def _opened(
    response: HTTPResponse, unless: SourceIdentity, begun: SourceIdentity | None, at: int
) -> OpenedSource | None:
    """The content of a response; None: the source is unchanged."""
    status = response.status
    if status == NOT_MODIFIED and begun is None and unless.is_known:
        return None
    if begun is not None and status in {OK, FAILED, UNSATISFIABLE}:
        raise SourceChanged("source-changed")
    if status == TOO_MANY:
        raise Throttled("http-429")
    if status >= SERVER_ERROR:
        raise Unanswered(f"http-{status}")
    if status != (OK if begun is None else PARTIAL):
        raise PortError(f"http-{status}")
    if (response.getheader("Content-Encoding") or "identity").lower() != "identity":
        raise PortError("encoding-refused")
    identity = SourceIdentity(
        _kept(_ETAG, response.getheader("ETag")), _kept(_DATE, response.getheader("Last-Modified"))
    )
    if begun is not None:
        return _resumed(response, identity, begun, at)
    if identity.is_as(unless):
        return None
    if response.length is None and not response.chunked:
        raise PortError("length-missing")  # its end would look like a connection that broke
    is_strong = identity.etag.startswith('"') and response.length is not None
    is_resumable = is_strong and response.getheader("Accept-Ranges") == "bytes"
    return OpenedSource(identity, response.length, is_resumable, _reader(response))


def _resumed(response: HTTPResponse, identity: SourceIdentity, begun: SourceIdentity, at: int) -> OpenedSource:
    """The remainder of a source, which has to be the one that was begun."""
    match = _RANGE.fullmatch(response.getheader("Content-Range") or "")
    if identity.etag != begun.etag or match is None:
        raise SourceChanged("source-changed")
    first, last, size = map(int, match.groups())
    if first != at or last != size - 1 or response.length != size - at:
        raise SourceChanged("source-changed")
    return OpenedSource(begun, size, resumable=True, read=_reader(response))


def _reader(response: HTTPResponse) -> Callable[[int], bytes]:
    def read(length: int) -> bytes:
        try:
            return read_exactly(response.read, length)
        except (OSError, HTTPException) as error:
            raise Unanswered(type(error).__name__) from None

    return read


def _kept(form: re.Pattern[str], value: str | None) -> str:
    return value if value and form.fullmatch(value) else ""
