"""Sources over HTTP and FTP: only where the contract allows it, never with a secret, and to listed public hosts alone."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from lakegate.aws.https_client import Web, split
from lakegate.aws.secrets import Secrets
from lakegate.base.errors import PortError, Unanswered
from lakegate.contract.delivery_policy import Pull
from lakegate.features.pull.ftp_source import FtpSource
from lakegate.features.pull.https_source import HttpsSource
from lakegate.features.pull.pull_sources import PullAccess, SourceChanged, SourceIdentity, TransferByScheme
from tests.unit.features.pull.test_pull_settings import errors, examine, text

NOTHING = SourceIdentity()
BODY = b"id\n1\n2\n"
DATE = "Mon, 05 Jan 2026 12:00:00 GMT"


@pytest.mark.parametrize("source", ["http://example.com/a.csv", "ftp://example.com/out/a.csv"])
def test_a_person_allows_a_source_without_encryption(source: str) -> None:
    """By name, at the source; a plan without it is what it was."""
    pull = {"source": source, "schedule": "rate(1 day)", "unencrypted": True}
    (dataset,) = examine(text(pull)).contract.datasets

    assert (errors(pull), dataset.policy.pull) == ([], Pull(source, "rate(1 day)", unencrypted=True))


@pytest.mark.parametrize(
    ("pull", "path", "message"),
    [
        ({"source": "http://example.com/a"}, "pull.source", "with `unencrypted: true`"),
        ({"source": "ftp://example.com/a", "unencrypted": False}, "pull.source", "with `unencrypted: true`"),
        ({"source": "https://example.com/a", "unencrypted": True}, "pull.source", "`http://HOST/PATH` or"),
        ({"source": "http://example.com/a", "unencrypted": True, "secret": "x"}, "pull.secret", "no `secret` with"),
        ({"source": "ftp://user@example.com/a", "unencrypted": True}, "pull.source", "`ftp://HOST/PATH`"),
        ({"source": "https://example.com/a", "unencrypted": "yes"}, "pull.unencrypted", "can read and change"),
    ],
)
def test_what_is_not_allowed_is_located(pull: dict[str, object], path: str, message: str) -> None:
    """With the option that a person would have to write."""
    found = errors({"schedule": "rate(1 day)", **pull})

    assert [each for each in found if each[0] == path and message in each[1]]


@pytest.mark.parametrize("source", ["http://localhost/a", "ftp://localhost/a"])
def test_a_source_that_nobody_allowed_is_not_asked(source: str) -> None:
    """Whatever a plan of an older release, or a manipulated one, has."""
    with (
        pytest.raises(PortError, match="unencrypted-refused"),
        TransferByScheme({}).open("partner", Pull(source), NOTHING),
    ):
        pytest.fail("it was opened")


def access(hosts: str = "localhost") -> PullAccess:
    return PullAccess(Secrets(None), frozenset({hosts}), "prefix-")


LOOPBACK = Web(lambda address: address.is_loopback, None, plain=True)


class Served(BaseHTTPRequestHandler):
    """A file, and an address that leads elsewhere."""

    def do_GET(self) -> None:
        self.send_response(302 if self.path == "/away" else 200)
        self.send_header("Location", "http://127.0.0.2/secret")
        self.send_header("Last-Modified", DATE)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def http() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Served) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}"
        server.shutdown()


def test_a_file_is_fetched_over_http(http: str) -> None:
    """With what the server states; unchanged, it is not sent again."""
    source, pull = HttpsSource(LOOPBACK, access()), Pull(f"{http}/a.csv", "", unencrypted=True)

    with source.open("partner", pull, NOTHING) as opened:
        assert opened is not None
        assert (opened.identity, opened.read(100)) == (SourceIdentity("", DATE), BODY)
    with source.open("partner", pull, SourceIdentity("", DATE)) as opened:
        assert opened is None


def test_http_goes_to_listed_hosts_and_its_own_ports(http: str) -> None:
    """No secret, no other host after a redirect, no address inside, no port of another protocol."""
    pull = Pull(f"{http}/a.csv", "", unencrypted=True)
    for source, asked, reason in (
        (HttpsSource(LOOPBACK, access("other")), pull, "host-refused"),
        (HttpsSource(LOOPBACK, access()), Pull(f"{http}/away", "", unencrypted=True), "host-refused"),
        (HttpsSource(LOOPBACK, access()), Pull(pull.source, "", "key", unencrypted=True), "unencrypted-refused"),
        (HttpsSource(Web(plain=True), access()), pull, "port-refused"),
        (HttpsSource(Web(plain=True), access()), Pull("http://localhost:443/", "", unencrypted=True), "port-refused"),
        (HttpsSource(Web(plain=True), access()), Pull("http://localhost/", "", unencrypted=True), "address-refused"),
    ):
        with pytest.raises(PortError, match=reason), source.open("partner", asked, NOTHING):
            pytest.fail("it was opened")
    with pytest.raises(PortError, match="address-refused"):
        split("http://example.com/")  # of notifications and validators


@dataclass
class FtpServer:
    """What an FTP server has, and how it answers."""

    port: int = 0
    body: bytes = BODY
    times: list[str] = field(default_factory=list)
    """Of the file, at each question; the last one stays."""
    answers: dict[str, str] = field(default_factory=dict)
    """By the command, instead of what is right."""
    asked: list[str] = field(default_factory=list)

    @property
    def pull(self) -> Pull:
        return Pull(f"ftp://localhost:{self.port}/out/my%20rows.csv", "", unencrypted=True)

    def serve(self, control: socket.socket) -> None:
        stream = control.makefile("rwb", buffering=0)
        stream.write(self.answers.get("", "220 welcome\r\n").encode())
        data = socket.create_server(("127.0.0.1", 0))
        with data:
            while line := stream.readline().decode().strip():
                self.asked.append(line)
                command = line.partition(" ")[0]
                if command == "EPSV":
                    stream.write(b"500 no\r\n")
                    continue
                if command == "PASV":  # another host than its own, which is not asked
                    high, low = divmod(data.getsockname()[1], 256)
                    stream.write(f"227 (10,0,0,1,{high},{low})\r\n".encode())
                    continue
                stream.write(self.answers.get(command, self.right(command)).encode())
                if command == "RETR" and command not in self.answers:
                    with data.accept()[0] as sent:
                        sent.sendall(self.body)
                    stream.write(b"226 done\r\n")

    def right(self, command: str) -> str:
        time = self.times.pop(0) if command == "MDTM" and len(self.times) > 1 else (self.times or ["20260105120000"])[0]
        right = {
            "USER": "331 who",
            "PASS": "230 in",
            "SIZE": f"213 {len(BODY)}",
            "MDTM": f"213 {time}",
            "RETR": "150 it",
        }
        return f"{right.get(command, '200 good')}\r\n"


@contextmanager
def serving(**given: object) -> Iterator[FtpServer]:
    server = FtpServer(**given)  # type: ignore[arg-type]
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server.port = listening.getsockname()[1]

        def accept() -> None:
            with suppress(OSError):
                while True:
                    with listening.accept()[0] as control, suppress(OSError):
                        server.serve(control)

        threading.Thread(target=accept, daemon=True).start()
        yield server


FTP = FtpSource(Web(lambda address: address.is_loopback, None), access())


def test_a_file_is_fetched_over_ftp() -> None:
    """Anonymously, as bytes, from the server itself; unchanged, it is not sent again."""
    with serving() as server:
        with FTP.open("partner", server.pull, NOTHING) as opened:
            assert opened is not None
            assert (opened.identity, opened.size) == (SourceIdentity(modified="20260105120000 7"), 7)
            assert (opened.resumable, opened.read(4), opened.read(100), opened.read(1)) == (
                False,
                b"id\n1",
                b"\n2\n",
                b"",
            )
        with FTP.open("partner", server.pull, SourceIdentity(modified="20260105120000 7")) as opened:
            assert opened is None

    assert {"USER anonymous", "TYPE I", "RETR /out/my rows.csv"} <= set(server.asked)


@pytest.mark.parametrize(
    ("given", "error", "reason"),
    [
        ({"answers": {"USER": "530 no\r\n"}}, PortError, "ftp-530"),
        ({"answers": {"SIZE": "550 \x1b[31m not here\r\n"}}, PortError, "^ftp-550$"),
        ({"answers": {"SIZE": "213 many\r\n"}}, Unanswered, "ValueError"),
        ({"answers": {"": "421 later\r\n"}}, Unanswered, "error_temp"),
        ({"answers": {"": "220-a\r\n" * 2_000}}, Unanswered, "TimeoutError"),
        ({"answers": {"": "x" * 20_000}}, Unanswered, "Error"),
        ({"answers": {"RETR": "550 no\r\n"}}, PortError, "ftp-550"),
    ],
)
def test_what_cannot_be_fetched_has_a_code(given: dict[str, object], error: type[Exception], reason: str) -> None:
    """And no text of the server."""
    with serving(**given) as server, pytest.raises(error, match=reason), FTP.open("partner", server.pull, NOTHING):
        pytest.fail("it was opened")


def test_a_file_that_changes_while_it_is_read_begins_again() -> None:
    """By what the server states before and after; so does one that was begun before."""
    with (
        serving(times=["20260105120000", "20260105130000"]) as server,
        FTP.open("partner", server.pull, NOTHING) as opened,
    ):
        assert opened is not None
        with pytest.raises(SourceChanged):
            opened.read(100)
    with pytest.raises(SourceChanged), FTP.open("partner", server.pull, NOTHING, NOTHING, 3):
        pytest.fail("it was opened")


def test_a_server_without_times_is_fetched_each_time() -> None:
    """MDTM is a later command than the others."""
    with serving(answers={"MDTM": "500 what\r\n"}) as server, FTP.open("partner", server.pull, NOTHING) as opened:
        assert opened is not None
        assert (opened.identity, opened.read(100)) == (NOTHING, BODY)


@pytest.mark.parametrize(
    ("source", "secret", "reason"),
    [
        ("ftp://other/a", "", "host-refused"),
        ("ftp://localhost/a", "key", "unencrypted-refused"),
        ("ftp://localhost/a%0d%0aDELE%20b", "", "address-refused"),
        ("ftp://localhost/a", "", "address-refused"),
        ("ftp://localhost:8021/a", "", "refused"),
    ],
)
def test_no_other_server_is_asked(source: str, secret: str, reason: str) -> None:
    """Neither one that is not listed or public, nor another protocol; no command is in a path."""
    judged = FtpSource(Web(ports=frozenset({21})), access())
    with (
        pytest.raises(PortError, match=reason),
        judged.open("partner", Pull(source, "", secret, unencrypted=True), NOTHING),
    ):
        pytest.fail("it was opened")
