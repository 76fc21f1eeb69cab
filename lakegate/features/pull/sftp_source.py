"""Sources over SFTP: one file of a server whose key the secret names.

SFTP states size and modification time of a file, and nothing of its content. So a file is not continued in its middle, and both
have to be the same when it has been read as they were before.
"""

from __future__ import annotations

import asyncio
import re
import socket
import time
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

import asyncssh

from lakegate.aws.https_client import SECONDS_TO_HEADERS, Web, read_exactly
from lakegate.base.errors import PortError, Unanswered
from lakegate.features.pull.pull_sources import MAX_IDLE, OpenedSource, PullAccess, SourceChanged, SourceIdentity

if TYPE_CHECKING:
    from asyncssh import SFTPAttrs, SFTPClientFile, SSHClientConnection

    from lakegate.contract.delivery_policy import Pull

PORT: Final = 22
PORTS: Final = frozenset({PORT, 2222})
"""Ports for SSH; a request to any other port could speak to another protocol."""
KEYS: Final = frozenset({"user", "password", "privateKey", "hostKey"})
"""Of a secret: the user, a password or a private key in OpenSSH's or PEM form, and the server's public key."""
LOGIN_SECONDS: Final = 15.0
AGAIN: Final = frozenset({"SFTPConnectionLost", "SFTPFailure", "SFTPNoConnection"})
"""Errors of SFTP that another attempt may not meet."""
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class SftpSource:
    """Files of SSH servers that the stack's operator has allowed."""

    web: Web
    """Resolves names of hosts."""
    access: PullAccess

    @contextmanager
    def open(
        self, contract: str, pull: Pull, unless: SourceIdentity, begun: SourceIdentity | None = None, _at: int = 0
    ) -> Iterator[OpenedSource | None]:
        """Open a file; what was begun before begins again."""
        if begun is not None:
            raise SourceChanged("source-changed")
        parts = urlsplit(pull.source)
        host, path = parts.hostname or "", unquote(parts.path)
        if _CONTROL.search(path):
            raise PortError("address-refused")
        self.access.allow(host)
        login = _login(self.access.secret(contract, pull.secret, host, KEYS))
        until = time.monotonic() + self.access.seconds
        with asyncio.Runner() as runner:
            session = _Session(runner, until)
            connection = session.run(_connected(self._socket(host, parts.port or PORT), login))
            try:
                sftp = session.run(connection.start_sftp_client())
                yield _opened(session, session.run(sftp.open(path.removeprefix("/~/"), "rb")), unless)
            finally:
                connection.abort()

    def _socket(self, host: str, port: int) -> socket.socket:
        """A connection to an address that is allowed. Raises PortError, Unanswered."""
        try:
            connection = socket.create_connection(
                (str(self.web.resolved(host, port)), port), timeout=SECONDS_TO_HEADERS
            )
        except OSError as error:
            raise Unanswered(type(error).__name__) from None
        connection.setblocking(False)
        return connection


@dataclass(frozen=True, slots=True)
class _Session:
    """Calls of one connection, which have one deadline."""

    runner: asyncio.Runner
    until: float

    def run(self, call: Awaitable[Any]) -> Any:  # noqa: ANN401 - what the call returns
        """The value of a call. Raises PortError and Unanswered, without a text of the server."""

        async def limited() -> Any:  # noqa: ANN401 - as above
            async with asyncio.timeout(max(0.0, self.until - time.monotonic())):
                return await call

        try:
            return self.runner.run(limited())
        except asyncssh.HostKeyNotVerifiable:
            raise PortError("host-key-refused") from None
        except asyncssh.PermissionDenied:
            raise PortError("login-refused") from None
        except asyncssh.SFTPError as error:
            name = type(error).__name__
            raise (Unanswered if name in AGAIN else PortError)(name) from None
        except (asyncssh.Error, OSError) as error:
            raise Unanswered(type(error).__name__) from None


def _login(content: dict[str, str]) -> dict[str, Any]:
    """A secret as options of a connection. Raises PortError."""
    try:
        key = asyncssh.import_public_key(content["hostKey"])
        options = {"username": content["user"], "known_hosts": ([key], [], [])}
        match sorted(content.keys() - {"hostKey", "user"}):
            case ["password"]:
                return options | {"password": content["password"], "client_keys": None}
            case ["privateKey"]:
                return options | {"client_keys": [asyncssh.import_private_key(content["privateKey"])]}
    except (KeyError, ValueError):  # of keys that cannot be read, too
        pass
    raise PortError("secret-malformed")


async def _connected(opened: socket.socket, login: dict[str, Any]) -> SSHClientConnection:
    """Log in, with the secret and nothing of this machine: no configuration, no agent and no keys of a home."""
    asyncssh.set_log_level("CRITICAL")  # it would log texts of the server
    return await asyncssh.connect(
        sock=opened,
        config=None,
        agent_path=None,
        compression_algs=None,
        login_timeout=LOGIN_SECONDS,
        keepalive_interval=MAX_IDLE / 3,
        **login,
    )


def _opened(session: _Session, file: SFTPClientFile, unless: SourceIdentity) -> OpenedSource | None:
    """The content of a file; None: it is unchanged."""
    before: SFTPAttrs = session.run(file.stat())
    identity = _identity(before)
    if identity.is_as(unless):
        return None
    if before.size is None:
        raise PortError("length-missing")  # its end would look like a connection that broke

    def read(length: int) -> bytes:
        body = read_exactly(lambda most: session.run(file.read(most)), length)
        if len(body) < length and identity != _identity(session.run(file.stat())):
            raise SourceChanged("source-changed")
        return body

    return OpenedSource(identity, before.size, resumable=False, read=read)


def _identity(stated: SFTPAttrs) -> SourceIdentity:
    known = stated.size is not None and stated.mtime is not None
    return SourceIdentity(modified=f"{stated.mtime} {stated.size}" if known else "")
