"""Sources over SFTP: who may log in where, what a file states of itself, and what a server may not do."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import asyncssh
import pytest

from lakegate.aws.https_client import Web
from lakegate.aws.secrets import Secrets
from lakegate.base.errors import PortError, Unanswered
from lakegate.contract.delivery_policy import Pull
from lakegate.features.pull.pull_sources import PullAccess, SourceChanged, SourceIdentity
from lakegate.features.pull.sftp_source import SftpSource
from tests.unit.features.pull.test_pull_sources import Vault

BODY = bytes(range(256)) * 1_000
MODIFIED = 1_767_614_400
SEEN = SourceIdentity(modified=f"{MODIFIED} {len(BODY)}")
SCOPE = {"contract": "partner", "host": "localhost"}
NOTHING = SourceIdentity()


@cache
def key(name: str) -> asyncssh.SSHKey:
    """The key of somebody."""
    return asyncssh.generate_private_key("ssh-ed25519", comment=name)


def public(name: str) -> str:
    return key(name).export_public_key().decode()


@dataclass
class Server:
    """An SSH server on the loopback that has one folder, one user, and may be set to misbehave."""

    folder: Path
    port: int = 0
    stats: list[dict[str, Any]] = field(default_factory=list)
    """What is stated of the file at the next questions; else the truth."""
    fails: type[asyncssh.SFTPError] | None = None
    """With which a file is read."""
    logins: list[str] = field(default_factory=list)


class _Login(asyncssh.SSHServer):
    def __init__(self, server: Server) -> None:
        self._server = server

    def begin_auth(self, username: str) -> bool:
        self._server.logins.append(username)
        return True

    def password_auth_supported(self) -> bool:
        return True

    def validate_password(self, username: str, password: str) -> bool:
        return (username, password) == ("ann", "open")

    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        return username == "ann" and key.export_public_key().split()[1] == public("ann").encode().split()[1]


class _Files(asyncssh.SFTPServer):
    def __init__(self, connection: Any, server: Server) -> None:
        super().__init__(connection, chroot=str(server.folder))
        self._server = server

    def fstat(self, file_obj: Any) -> asyncssh.SFTPAttrs:
        stated = super().fstat(file_obj)
        attributes = stated if isinstance(stated, asyncssh.SFTPAttrs) else asyncssh.SFTPAttrs.from_local(stated)
        for name, value in (self._server.stats.pop(0) if self._server.stats else {}).items():
            setattr(attributes, name, value)
        return attributes

    def read(self, file_obj: Any, offset: int, size: int) -> Any:
        if self._server.fails:
            raise self._server.fails("a text of the server")
        return super().read(file_obj, offset, size)


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """A server in a thread, until the end of the block."""
    server, listening, stop = Server(folder), threading.Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def listen() -> None:
        loops.append(asyncio.get_running_loop())
        acceptor = await asyncssh.listen(
            "127.0.0.1",
            0,
            server_host_keys=[key("host")],
            server_factory=lambda: _Login(server),
            sftp_factory=lambda connection: _Files(connection, server),
            config=[],
        )
        server.port = acceptor.get_port()
        listening.set()
        await stop.wait()
        acceptor.close()
        await acceptor.wait_closed()

    thread = threading.Thread(target=asyncio.run, args=(listen(),))
    thread.start()
    assert listening.wait(30)
    try:
        yield server
    finally:
        loops[0].call_soon_threadsafe(stop.set)
        thread.join()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("sftp")) as found:
        yield found


@pytest.fixture
def server(served: Server) -> Server:
    served.stats, served.fails, served.logins = [], None, []
    path = served.folder / "out/my rows.csv"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(BODY)
    os.utime(path, (MODIFIED, MODIFIED))
    return served


def source(hosts: str = "localhost", secret: dict[str, object] | None = None, **web: Any) -> SftpSource:
    """What may ask the server: by default with the password, and with its key known."""
    content = SCOPE | {"user": "ann", "password": "open", "hostKey": public("host")} if secret is None else secret
    allowed = {"allowed": lambda address: address.is_loopback, "ports": None} | web
    vault = Vault(**{"prefix-out": content})
    return SftpSource(Web(**allowed), PullAccess(Secrets(vault), frozenset({hosts}), "prefix-"))


def fetched(
    server: Server,
    unless: SourceIdentity = NOTHING,
    path: str = "/out/my%20rows.csv",
    parts: int = 1,
    **settings: Any,
) -> tuple[SourceIdentity, int | None, bool, bytes] | None:
    """All of a file, in so many reads and one more; None where it is unchanged."""
    pull = Pull(f"sftp://localhost:{server.port}{path}", "rate(1 day)", "out")
    with source(**settings).open("partner", pull, unless) as opened:
        if opened is None:
            return None
        body = b"".join(opened.read(len(BODY) // parts) for _ in range(parts))
        return opened.identity, opened.size, opened.resumable, body + opened.read(1)


@pytest.mark.parametrize("path", ["/out/my%20rows.csv", "/~/out/my%20rows.csv"])
@pytest.mark.parametrize("parts", [1, 50])
def test_a_file_is_read_to_its_end(path: str, parts: int, server: Server) -> None:
    """In parts, from the root or the home of the user; it cannot be resumed, because SFTP states nothing of its content."""
    assert fetched(server, path=path, parts=parts) == (SEEN, len(BODY), False, BODY)


def test_a_user_may_log_in_by_a_key(server: Server) -> None:
    """A private key in place of the password."""
    private = key("ann").export_private_key().decode()
    secret = SCOPE | {"user": "ann", "privateKey": private, "hostKey": public("host")}

    assert fetched(server, secret=secret) == (SEEN, len(BODY), False, BODY)
    assert server.logins == ["ann"]


def test_an_unchanged_file_is_not_read(server: Server) -> None:
    """Size and modification time are those that were seen."""
    server.fails = asyncssh.SFTPFailure

    assert fetched(server, SEEN) is None


@pytest.mark.parametrize(
    ("secret", "code"),
    [
        ({"user": "ann", "password": "wrong", "hostKey": "host"}, "login-refused"),
        ({"user": "bob", "password": "open", "hostKey": "host"}, "login-refused"),
        ({"user": "ann", "privateKey": "bob", "hostKey": "host"}, "login-refused"),
        ({"user": "ann", "password": "open", "hostKey": "other"}, "host-key-refused"),
        ({"user": "ann", "password": "open"}, "secret-malformed"),
        ({"password": "open", "hostKey": "host"}, "secret-malformed"),
        ({"user": "ann", "hostKey": "host"}, "secret-malformed"),
        ({"user": "ann", "password": "open", "privateKey": "ann", "hostKey": "host"}, "secret-malformed"),
        ({"user": "ann", "password": "open", "hostKey": "no key"}, "secret-malformed"),
        ({"user": "ann", "privateKey": "no key", "hostKey": "host"}, "secret-malformed"),
        ({"user": "ann", "password": "open", "hostKey": "host", "token": "t"}, "secret-malformed"),
        ({"user": "ann", "password": "open", "hostKey": "host", "contract": "another"}, "secret-of-another"),
        ({"user": "ann", "password": "open", "hostKey": "host", "host": "example.com"}, "secret-of-another"),
    ],
)
def test_a_login_that_is_refused(secret: dict[str, str], code: str, server: Server) -> None:
    """A server with another key than the secret's is not spoken to: it gets neither user nor password."""
    keys = {"host": public("host"), "other": public("other")}
    privates = {name: key(name).export_private_key().decode() for name in ("ann", "bob")}
    content = SCOPE | secret
    content |= {"hostKey": keys.get(secret["hostKey"], secret["hostKey"])} if "hostKey" in secret else {}
    content |= {"privateKey": privates.get(secret["privateKey"], "no key")} if "privateKey" in secret else {}
    with pytest.raises(PortError) as found:
        fetched(server, secret=content)

    assert (type(found.value), str(found.value)) == (PortError, code)
    assert bool(server.logins) == (code == "login-refused")


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"hosts": "example.com"}, "host-refused"),
        ({"allowed": lambda _: False}, "address-refused"),
        ({"ports": frozenset({22})}, "port-refused"),
        ({"path": "/out/a%0Ab"}, "address-refused"),
        ({"path": "/out/missing"}, "SFTPNoSuchFile"),
        ({"path": "/out"}, "SFTPFailure"),
    ],
)
def test_what_cannot_be_opened_has_a_code(settings: dict[str, Any], code: str, server: Server) -> None:
    """Hosts, addresses and ports are checked before anything is sent; the server's text is not in the error."""
    with pytest.raises(PortError) as found:
        fetched(server, **settings)

    assert str(found.value) == code
    assert bool(server.logins) == code.startswith("SFTP")


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (asyncssh.SFTPFailure, Unanswered),
        (asyncssh.SFTPPermissionDenied, PortError),
        (asyncssh.SFTPBadMessage, PortError),
    ],
)
def test_a_read_that_fails(error: type[asyncssh.SFTPError], raised: type[PortError], server: Server) -> None:
    """Another attempt follows where it may help."""
    server.fails = error
    with pytest.raises(PortError) as found:
        fetched(server)

    assert (type(found.value), str(found.value)) == (raised, error.__name__)


@pytest.mark.parametrize("changed", [{"size": len(BODY) + 1}, {"mtime": MODIFIED + 1}, {"mtime": None}])
def test_a_file_that_changes_while_it_is_read(changed: dict[str, Any], server: Server) -> None:
    """It begins again, because its parts may be of two contents."""
    server.stats = [{}, changed]
    with pytest.raises(SourceChanged, match="source-changed"):
        fetched(server)


def test_a_file_that_states_less(server: Server) -> None:
    """Without a modification time it is never unchanged; without a size it is not read."""
    server.stats = [{"mtime": None}, {"mtime": None}]
    without_time = fetched(server)
    server.stats = [{"size": None}]
    with pytest.raises(PortError, match="length-missing"):
        fetched(server)

    assert without_time == (SourceIdentity(), len(BODY), False, BODY)


def test_what_was_begun_begins_again(server: Server) -> None:
    """Nothing is continued in its middle."""
    pull = Pull(f"sftp://localhost:{server.port}/out/my%20rows.csv", "", "out")
    with pytest.raises(SourceChanged), source().open("partner", pull, NOTHING, SEEN, 5):
        pass


def test_a_server_that_is_silent_is_left() -> None:
    """There is one deadline for all of a connection, and one for the login."""
    found = source()
    late = SftpSource(found.web, replace(found.access, remaining=lambda: 0.0))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        pull = Pull(f"sftp://localhost:{silent.getsockname()[1]}/a", "", "out")
        with pytest.raises(Unanswered, match="TimeoutError"), late.open("partner", pull, NOTHING):
            pass
    with pytest.raises(Unanswered, match="ConnectionRefusedError"), found.open("partner", pull, NOTHING):
        pass
