"""Sources over FTP, where the contract allows it: one file of a server, without a login of its own.

As SFTP it states size and modification time of a file, so both have to be the same when it has been read as they were before.
Nothing of the connection is encrypted: no secret is sent.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from ftplib import FTP, Error, error_perm
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from lakegate.aws.https_client import SECONDS_TO_HEADERS, Web, read_exactly
from lakegate.base.errors import PortError, Unanswered
from lakegate.features.pull.pull_sources import MAX_IDLE, OpenedSource, PullAccess, SourceChanged, SourceIdentity

if TYPE_CHECKING:
    import socket

    from lakegate.contract.delivery_policy import Pull

PORT: Final = 21
PORTS: Final = frozenset({PORT, 2121})
"""Ports for FTP; a request to any other port could speak to another protocol."""
MOST_LINES: Final = 1_000
"""Lines that a server sends on the control connection."""
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_MODIFIED: Final = re.compile(r"213 ([0-9]{14})(\.[0-9]{1,9})?")


class _Session(FTP):
    """A control connection with a deadline, and a bound on what comes."""

    until: float = 0.0
    lines: int = 0

    def getline(self) -> str:
        """The next line. Raises OSError where there are too many, or time is over."""
        self.lines += 1
        if self.lines > MOST_LINES or time.monotonic() > self.until:
            raise TimeoutError
        return super().getline()


@dataclass(frozen=True, slots=True)
class FtpSource:
    """Files of FTP servers that the stack's operator has allowed, for anybody who asks."""

    web: Web
    """Resolves names of hosts."""
    access: PullAccess

    @contextmanager
    def open(
        self, _contract: str, pull: Pull, unless: SourceIdentity, begun: SourceIdentity | None = None, _at: int = 0
    ) -> Iterator[OpenedSource | None]:
        """Open a file; what was begun before begins again."""
        if begun is not None:
            raise SourceChanged("source-changed")
        parts = urlsplit(pull.source)
        host, path = parts.hostname or "", unquote(parts.path)
        if pull.secret:
            raise PortError("unencrypted-refused")  # it is not sent where it can be read
        if _CONTROL.search(path):
            raise PortError("address-refused")
        self.access.allow(host)
        session = _Session(timeout=SECONDS_TO_HEADERS)
        session.until = time.monotonic() + self.access.seconds
        try:
            with _failing():
                session.connect(str(self.web.resolved(host, parts.port or PORT)), parts.port or PORT)
                session.login()
                session.voidcmd("TYPE I")
                identity, size = _identity(session, path)
            if identity.is_as(unless):
                yield None
                return
            if size is None:
                raise PortError("length-missing")  # its end would look like a connection that broke
            with _failing():
                data = session.transfercmd(f"RETR {path}")  # to the address of the server, whatever it names
            with data:
                yield OpenedSource(identity, size, resumable=False, read=_Reader(session, path, identity, data).read)
        finally:
            session.close()


@dataclass(slots=True)
class _Reader:
    """The content of a file."""

    session: _Session
    path: str
    identity: SourceIdentity
    data: socket.socket
    has_ended: bool = False

    def read(self, length: int) -> bytes:
        with _failing():
            body = read_exactly(self._piece, length)
            if len(body) < length and not self.has_ended:
                self.has_ended = True
                self.session.voidresp()
                if _identity(self.session, self.path)[0] != self.identity:
                    raise SourceChanged("source-changed")
            return body

    def _piece(self, most: int) -> bytes:
        left = self.session.until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self.data.settimeout(min(left, MAX_IDLE))
        return self.data.recv(min(most, 1 << 16))


def _identity(session: _Session, path: str) -> tuple[SourceIdentity, int | None]:
    """The state of a file as the server gives it, and its size. A file that is not there is an error of one of the two."""
    size = session.size(path)
    found = None
    with suppress(error_perm):  # a command of RFC 3659, which not every server has
        found = _MODIFIED.fullmatch(session.sendcmd(f"MDTM {path}"))
    return SourceIdentity(modified=f"{found[1]} {size}" if found and size is not None else ""), size


@contextmanager
def _failing() -> Iterator[None]:
    """Errors without a text of the server: of one that it will repeat its code, else another attempt may succeed."""
    try:
        yield
    except error_perm as error:
        code = str(error)[:3]
        raise PortError(f"ftp-{code}" if code.isascii() and code.isdigit() else "ftp") from None
    except (Error, EOFError, OSError, ValueError) as error:
        raise Unanswered(type(error).__name__) from None
