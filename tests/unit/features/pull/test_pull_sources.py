"""Sources over HTTPS: what is asked, what is believed of the answer, and where a request may go."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from lakegate.aws.https_client import Web
from lakegate.aws.secrets import Secrets
from lakegate.base.errors import PortError, Throttled, Unanswered
from lakegate.contract.delivery_policy import Pull
from lakegate.features.pull.https_source import HttpsSource
from lakegate.features.pull.pull_sources import PullAccess, SourceChanged, SourceIdentity
from tests.fakes.receiver import Receiver, receiving

ETAG, DATE = '"v1"', "Mon, 05 Jan 2026 12:00:00 GMT"
NOTHING = SourceIdentity()
BODY = b"id\n1\n2\n"
SCOPE = {"contract": "partner", "host": "localhost"}


class Vault:
    """Secrets Manager."""

    def __init__(self, **secrets: object) -> None:
        self._secrets = secrets
        self.asked: list[str] = []

    def get_secret_value(self, SecretId: str) -> dict[str, str]:  # noqa: N803 - as boto3 has it
        self.asked.append(SecretId)
        return {"SecretString": json.dumps(self._secrets[SecretId])}


def answer(status: int = 200, body: bytes = BODY, length: int | None = None, **headers: str) -> bytes:
    """An answer with these headers; underscores are hyphens."""
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(body) if length is None else length}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


def source(receiver: Receiver, vault: Vault | None = None, hosts: str = "localhost", **web: Any) -> HttpsSource:
    """What may ask the receiver."""
    allowed = Web(lambda address: address.is_loopback, None, receiver.context, **web)
    return HttpsSource(allowed, PullAccess(Secrets(vault), frozenset(hosts.split(",")), "prefix-"))


def fetched(
    receiver: Receiver,
    unless: SourceIdentity = NOTHING,
    begun: SourceIdentity | None = None,
    at: int = 0,
    secret: str = "",
    **settings: Any,
) -> tuple[SourceIdentity, int | None, bool, bytes] | None:
    """All of an answer; None where the source is unchanged."""
    pull = Pull(f"https://localhost:{receiver.port}/data/rows.csv?a=1", "rate(1 day)", secret)
    with source(receiver, **settings).open("partner", pull, unless, begun, at) as opened:
        if opened is None:
            return None
        return opened.identity, opened.size, opened.resumable, opened.read(1_000)


def sent(receiver: Receiver, *names: str) -> list[tuple[str | None, ...]]:
    """The values of some headers of each request."""
    return [tuple(headers.get(name) for name in names) for _, headers, _ in receiver.requests]


@pytest.mark.parametrize(
    ("headers", "identity", "resumable"),
    [
        ({"ETag": ETAG, "Accept_Ranges": "bytes"}, SourceIdentity(ETAG), True),
        ({"ETag": ETAG, "Accept_Ranges": "none"}, SourceIdentity(ETAG), False),
        ({"ETag": f"W/{ETAG}", "Accept_Ranges": "bytes"}, SourceIdentity(f"W/{ETAG}"), False),
        ({"Last_Modified": DATE, "Accept_Ranges": "bytes"}, SourceIdentity("", DATE), False),
        ({"ETag": "v1", "Last_Modified": "yesterday"}, SourceIdentity(), False),
        ({"ETag": '"' + "x" * 300 + '"', "Last_Modified": "\x1b[31m"}, SourceIdentity(), False),
    ],
)
def test_what_a_server_says_of_itself(
    headers: dict[str, str],
    identity: SourceIdentity,
    resumable: bool,  # noqa: FBT001 - a case
    receiver: Receiver,
) -> None:
    """Only what has the form of HTTP's own headers is kept; only a strong ETag can tell that a range is of the same source."""
    receiver.answer = answer(**headers)

    assert fetched(receiver) == (identity, len(BODY), resumable, BODY)
    assert receiver.requests[0][0] == "GET /data/rows.csv?a=1 HTTP/1.1"
    assert sent(receiver, "accept-encoding", "if-none-match", "authorization") == [("identity", None, None)]


def test_an_answer_in_chunks_is_read_to_its_end() -> None:
    """It says nothing of its length, and cannot be resumed."""
    with receiving() as receiver:
        chunks = b"4\r\nid\n1\r\n3\r\n\n2\n\r\n0\r\n\r\n"
        receiver.answer = (
            b'HTTP/1.1 200 OK\r\nETag: "v1"\r\nAccept-Ranges: bytes\r\nTransfer-Encoding: chunked\r\n\r\n' + chunks
        )

        assert fetched(receiver) == (SourceIdentity(ETAG), None, False, BODY)


@pytest.mark.parametrize(
    ("seen", "header", "value"),
    [(SourceIdentity(ETAG, DATE), "if-none-match", ETAG), (SourceIdentity("", DATE), "if-modified-since", DATE)],
)
def test_an_unchanged_source_is_not_sent(seen: SourceIdentity, header: str, value: str, receiver: Receiver) -> None:
    """By a conditional request; and not read, where a server does not know those."""
    receiver.answers = [b"HTTP/1.1 304 Not Modified\r\n\r\n", answer(ETag=ETAG, Last_Modified=DATE)]

    assert [fetched(receiver, seen), fetched(receiver, seen)] == [None, None]
    assert sent(receiver, header) == [(value,)] * 2


def test_a_source_is_continued(receiver: Receiver) -> None:
    """From a byte on, if it is still the same one."""
    receiver.answer = answer(206, BODY[3:], ETag=ETAG, Content_Range="bytes 3-6/7")

    assert fetched(receiver, begun=SourceIdentity(ETAG), at=3) == (SourceIdentity(ETAG), 7, True, BODY[3:])
    assert sent(receiver, "range", "if-range") == [("bytes=3-", ETAG)]


@pytest.mark.parametrize(
    "changed",
    [
        answer(ETag=ETAG),
        answer(412),
        answer(416),
        answer(206, BODY[3:], ETag='"v2"', Content_Range="bytes 3-6/7"),
        answer(206, BODY[3:], ETag=ETAG),
        answer(206, BODY[3:], ETag=ETAG, Content_Range="bytes 2-6/7"),
        answer(206, BODY[3:], ETag=ETAG, Content_Range="bytes 3-5/7"),
        answer(206, BODY[3:], ETag=ETAG, Content_Range="bytes 3-7/8"),
        answer(206, BODY[3:], ETag=ETAG, Content_Range="bytes 3-6/*"),
    ],
)
def test_another_remainder_is_refused(changed: bytes, receiver: Receiver) -> None:
    """A whole source, another one, or other bytes than those that were asked for."""
    receiver.answer = changed
    with pytest.raises(SourceChanged):
        fetched(receiver, begun=SourceIdentity(ETAG), at=3)


@pytest.mark.parametrize(
    ("refused", "error", "code"),
    [
        (answer(404), PortError, "http-404"),
        (answer(206, Content_Range="bytes 0-6/7"), PortError, "http-206"),
        (answer(304, b""), PortError, "http-304"),
        (answer(429), Throttled, "http-429"),
        (answer(503), Unanswered, "http-503"),
        (answer(Content_Encoding="gzip"), PortError, "encoding-refused"),
        (b"HTTP/1.1 200 OK\r\n\r\nid", PortError, "length-missing"),
        (b"nonsense", Unanswered, "BadStatusLine"),
    ],
)
def test_an_answer_without_data(refused: bytes, error: type[PortError], code: str, receiver: Receiver) -> None:
    """It has a code, and no text of the server."""
    receiver.answer = refused
    with pytest.raises(error) as found:
        fetched(receiver)

    assert (type(found.value), str(found.value)) == (error, code)


def test_a_connection_that_breaks_is_noticed(receiver: Receiver) -> None:
    """A length that is not reached leaves fewer bytes; chunks without their end are an error; so is a server that is silent."""
    receiver.answer = answer(length=100)
    found = fetched(receiver)
    receiver.answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nid"
    with pytest.raises(Unanswered, match="IncompleteRead"):
        fetched(receiver)

    assert found == (SourceIdentity(), 100, False, BODY)


def test_no_more_is_read_than_was_announced(receiver: Receiver) -> None:
    """What a server sends behind its own end is not data."""
    receiver.answer = answer(length=2)

    assert fetched(receiver) == (SourceIdentity(), 2, False, BODY[:2])


def redirect(to: str, status: int = 302) -> bytes:
    """To another address."""
    return answer(status, b"", Location=to)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_followed(status: int, receiver: Receiver) -> None:
    """Also to a relative address."""
    receiver.answers = [redirect("/other?b=2", status)]

    receiver.answer = answer()

    assert fetched(receiver) == (NOTHING, len(BODY), False, BODY)
    assert [line for line, _, _ in receiver.requests][1] == "GET /other?b=2 HTTP/1.1"


@pytest.mark.parametrize(
    ("to", "code"),
    [
        ("https://evil.example.com/", "host-refused"),
        ("http://localhost/", "address-refused"),
        ("https://user:pw@localhost/", "address-refused"),
        ("https://[::1", "address-refused"),
        ("https://localhost:99999/", "address-refused"),
        ("ftp://localhost/", "address-refused"),
        ("", "too-many-redirects"),
        ("/again", "too-many-redirects"),
    ],
)
def test_a_redirect_is_checked_as_the_first_address_is(to: str, code: str, receiver: Receiver) -> None:
    """Scheme, host and form; and five of them are enough."""
    receiver.answer = redirect(to)
    with pytest.raises(PortError, match=f"^{code}$"):
        fetched(receiver)


def test_addresses_inside_are_refused_after_a_redirect(receiver: Receiver) -> None:
    """Each address is resolved and judged by itself: here the first one is allowed by its port only."""
    other = f"https://localhost:{receiver.port}/"
    receiver.answer = redirect("https://localhost/")
    judged = HttpsSource(
        Web(ports=frozenset({443}), context=receiver.context, is_local=bool),
        PullAccess(Secrets(None), frozenset({"localhost"}), ""),
    )
    with pytest.raises(PortError, match="port-refused"), judged.open("partner", Pull(other), SourceIdentity()):
        pass
    with (
        pytest.raises(PortError, match="address-refused"),
        judged.open("partner", Pull("https://localhost/"), SourceIdentity()),
    ):
        pass


@pytest.mark.parametrize("host", ["other.example.com", "localhost.example.com", "example.com"])
def test_only_listed_hosts_are_asked(host: str, receiver: Receiver) -> None:
    """Before their names are resolved, and before a secret is read."""
    vault = Vault()
    asked = source(receiver, vault)
    with (
        pytest.raises(PortError, match="host-refused"),
        asked.open("partner", Pull(f"https://{host}/", "", "x"), SourceIdentity()),
    ):
        pass

    assert vault.asked == []


@pytest.mark.parametrize(
    ("content", "header", "value"),
    [
        ({"token": "t0p"}, "authorization", "Bearer t0p"),
        ({"user": "u", "password": "p:w"}, "authorization", "Basic dTpwOnc="),
        ({"header": "X-Api-Key", "key": "k"}, "x-api-key", "k"),
    ],
)
def test_credentials_go_to_the_host_of_the_contract_only(
    content: dict[str, str], header: str, value: str, receiver: Receiver
) -> None:
    """After a redirect to another port or host they are left out."""
    with receiving() as other:
        receiver.answers = [redirect("/same"), redirect(f"https://localhost:{other.port}/x")]
        fetched(receiver, secret="api", vault=Vault(**{"prefix-api": SCOPE | content}))

        assert [*sent(receiver, header), *sent(other, header)] == [(value,), (value,), (None,)]


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ({"token": "t"}, "secret-malformed"),
        (SCOPE, "secret-malformed"),
        (SCOPE | {"token": "a\r\nX: y"}, "secret-malformed"),
        (SCOPE | {"token": "t", "key": "k"}, "secret-malformed"),
        (SCOPE | {"header": "Host", "key": "k"}, "secret-malformed"),
        (SCOPE | {"header": "X Y", "key": "k"}, "secret-malformed"),
        (SCOPE | {"token": "t", "contract": "another"}, "secret-of-another"),
        (SCOPE | {"token": "t", "host": "example.com"}, "secret-of-another"),
        (SCOPE | {"token": 5}, "secret-malformed"),
    ],
)
def test_a_secret_of_another_use_is_refused(content: dict[str, object], code: str, receiver: Receiver) -> None:
    """It names its contract and its host, so that no other contract can use it; nothing of it is in the error."""
    with pytest.raises(PortError, match=f"^{code}$"):
        fetched(receiver, secret="api", vault=Vault(**{"prefix-api": content}))

    assert receiver.requests == []


def test_a_server_that_is_silent_is_left(receiver: Receiver) -> None:
    """There is one deadline for an answer with its body."""
    receiver.hangs = "before"
    asked = source(receiver)
    patient = HttpsSource(asked.web, replace(asked.access, remaining=lambda: 0.0))
    pull = Pull(f"https://localhost:{receiver.port}/")
    with pytest.raises(Unanswered, match="TimeoutError"), patient.open("partner", pull, SourceIdentity()):
        pass
