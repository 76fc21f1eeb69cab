"""Validators over HTTPS: what is sent, with which credentials, and where a request may go."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BytesIO
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from lakegate.aws.clients import sign_request, signer
from lakegate.aws.https_client import Web
from lakegate.aws.secrets import Secrets
from lakegate.base.errors import PortError, Unanswered
from lakegate.features.external_validators.registered_validators import ValidatorService
from lakegate.features.external_validators.validator_client import ExternalValidation, HttpsValidators
from lakegate.gate.ports import Address
from tests.fakes.receiver import Receiver, receiving
from tests.unit.features.pull.test_pull_sources import Vault, answer

DATA = Address("lake", "staging/w/part 0.csv", "v1")
VALIDATION = ExternalValidation("f" * 64, ('{"id": "order"}',), DATA, {"format": "csv", "compression": "none"}, 3600)
GOOD = {"host": "LocalHost", "token": "t0ken"}


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of a function."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_SESSION_TOKEN": "session",
        "AWS_DEFAULT_REGION": "eu-west-1",
    }.items():
        monkeypatch.setenv(name, value)


def service(receiver: Receiver, secret: str = "gx") -> ValidatorService:  # noqa: S107 - a name
    return ValidatorService("gx", f"https://localhost:{receiver.port}/base", ("GX",), secret)


def validators(receiver: Receiver, secret: object = GOOD, hosts: str = "localhost", **web: Any) -> HttpsValidators:
    allowed = Web(lambda address: address.is_loopback, None, receiver.context, **web)
    return HttpsValidators(
        allowed, Secrets(Vault(**{"p-gx": secret})), frozenset(hosts.split(",")), "p-", signer(), sign_request
    )


def test_a_start_has_the_rules_and_an_address_of_the_very_version(receiver: Receiver) -> None:
    """The address is a right to read one version for a limited time; the secret of the host goes with the request."""
    receiver.answer = answer(200, b"{}")
    validators(receiver).start(service(receiver), VALIDATION)
    ((line, headers, body),) = receiver.requests
    document = json.loads(body)
    url = urlsplit(document["access"]["path"])
    query = {name: value for name, (value,) in parse_qs(url.query).items()}

    assert line == "POST /base/v1/validation/start HTTP/1.1"
    assert (headers["authorization"], headers["content-type"]) == ("Bearer t0ken", "application/json")
    assert (document["workloadId"], document["validations"]) == ("f" * 64, [{"id": "order"}])
    assert {**document["access"], "path": None} == {"path": None, "format": "csv", "compression": "none"}
    assert (url.scheme, url.netloc, url.path) == ("https", "lake.s3.eu-west-1.amazonaws.com", "/staging/w/part%200.csv")
    assert (query["versionId"], query["X-Amz-Expires"], query["X-Amz-Security-Token"]) == ("v1", "3600", "session")


def test_a_conflict_is_a_validation_that_was_started_before(receiver: Receiver) -> None:
    """The address of the data is signed again with each request, so that a service that compares them sees another one."""
    receiver.answer = answer(409, b"{}")
    validators(receiver).start(service(receiver), VALIDATION)

    assert len(receiver.requests) == 1


def test_without_a_secret_requests_are_signed(receiver: Receiver) -> None:
    """By the function's credentials (SigV4), for an API of API Gateway."""
    receiver.answer = answer(200, b"{}")
    port, to = validators(receiver), service(receiver, secret="")
    port.start(to, VALIDATION)
    port.poll(to, "f" * 64)
    (_, started, _), (line, asked, _) = receiver.requests

    assert line == f"GET /base/v1/validation/{'f' * 64} HTTP/1.1"
    for headers in (started, asked):
        assert "/eu-west-1/execute-api/aws4_request" in headers["authorization"]
        assert headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
        assert headers["x-amz-security-token"] == "session"
    assert asked["authorization"] != started["authorization"]


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://a.example/x", "a.example"),
        ("https://a.example:443/x", "a.example"),
        ("https://a.example:8443", "a.example:8443"),
    ],
)
def test_the_host_is_sent_as_it_is_signed(url: str, host: str) -> None:
    """Without the port of HTTPS, which clients leave out of the signature."""
    headers = sign_request("GET", url, b"", {"Accept": "application/json"})

    assert (headers["Host"], headers["Accept"]) == (host, "application/json")
    assert "host;" in headers["Authorization"]


@pytest.mark.parametrize(
    ("secret", "hosts", "code"),
    [
        (GOOD, "gx.example.com", "host-refused"),
        (GOOD, "", "host-refused"),
        ({**GOOD, "host": "other.example.com"}, "localhost", "secret-of-another"),
        ({"token": "t"}, "localhost", "secret-of-another"),
        ({"host": "localhost"}, "localhost", "secret-malformed"),
        ({**GOOD, "user": "u"}, "localhost", "secret-malformed"),
        ({"host": "localhost", "token": "a\r\nX: y"}, "localhost", "secret-malformed"),
        ({"host": "localhost", "header": "Host", "key": "k"}, "localhost", "secret-malformed"),
        ([], "localhost", "secret-malformed"),
    ],
)
def test_nothing_is_sent_where_it_may_not_be(receiver: Receiver, secret: object, hosts: str, code: str) -> None:
    """Only to listed hosts, and each secret only to its own."""
    port = validators(receiver, secret, hosts)
    for act in (lambda: port.start(service(receiver), VALIDATION), lambda: port.poll(service(receiver), "f" * 64)):
        with pytest.raises(PortError, match=f"^{code}$"):
            act()

    assert receiver.requests == []


@pytest.mark.parametrize(
    ("secret", "header", "value"),
    [
        ({"host": "localhost", "user": "u", "password": "p"}, "authorization", "Basic dTpw"),
        ({"host": "localhost", "header": "X-Api-Key", "key": "k"}, "x-api-key", "k"),
    ],
)
def test_credentials_are_those_of_sources(receiver: Receiver, secret: object, header: str, value: str) -> None:
    """A token, a password, or a header of the service's own."""
    receiver.answer = answer(200, b"{}")
    validators(receiver, secret).poll(service(receiver), "f" * 64)

    assert receiver.requests[0][1][header] == value


def test_private_addresses_are_refused(receiver: Receiver) -> None:
    """A listed name that leads inside is not asked, as no webhook is."""
    port = HttpsValidators(
        Web(context=receiver.context), Secrets(None), frozenset({"localhost"}), "p-", signer(), sign_request
    )
    with pytest.raises(PortError, match=r"address-refused|port-refused"):
        port.poll(service(receiver, secret=""), "f" * 64)

    assert receiver.requests == []


def test_a_redirect_is_refused(receiver: Receiver) -> None:
    """It leads the data and the secret nowhere else."""
    receiver.answer = answer(302, b"", Location="https://localhost:1/elsewhere")
    port = validators(receiver)
    with pytest.raises(PortError, match=r"^http-302$"):
        port.start(service(receiver), VALIDATION)
    with pytest.raises(PortError, match=r"^http-302$"):
        port.poll(service(receiver), "f" * 64)


def test_an_answer_that_breaks_off_is_none(receiver: Receiver) -> None:
    """Its beginning could be read as a whole answer."""
    receiver.answer = answer(200, b"{}", length=100)
    with pytest.raises(Unanswered):
        validators(receiver).poll(service(receiver), "f" * 64)


def test_a_silent_service_costs_the_time_of_two_requests(receiver: Receiver) -> None:
    """Deliveries that do not need it would wait for those that do; one that refuses at once costs no time, and is asked again."""
    port, to = validators(receiver, seconds=0.3), service(receiver)
    receiver.answer = answer(503, b"")
    for _ in range(3):
        with pytest.raises(Unanswered, match=r"^http-503$"):
            port.poll(to, "f" * 64)
    receiver.hangs = "before"
    for _ in range(2):
        with pytest.raises(Unanswered, match="TimeoutError"):
            port.poll(to, "f" * 64)
    with pytest.raises(Unanswered, match=r"^silent$"):
        port.poll(to, "f" * 64)


@dataclass
class Slow:
    """A service that answers, and takes long, on a clock that is set."""

    now: float = 1000.0
    takes: float = 4.9
    seconds: float = 5.0
    most: int = 1 << 18
    asked: int = 0

    @contextmanager
    def request(self, *_request: object) -> Iterator[SimpleNamespace]:
        self.asked, self.now = self.asked + 1, self.now + self.takes
        yield SimpleNamespace(status=200, length=0, read=BytesIO(b"{}").read)

    def port(self, monkeypatch: pytest.MonkeyPatch) -> HttpsValidators:
        monkeypatch.setattr(
            "lakegate.features.external_validators.validator_client.time", SimpleNamespace(monotonic=lambda: self.now)
        )
        hosts = frozenset({"gx.example.com", "other.example.com"})
        return HttpsValidators(self, Secrets(None), hosts, "p-", signer(), sign_request)  # type: ignore[arg-type] # a clock and no network


SLOW, OTHER = (ValidatorService(name, f"https://{name}.example.com", ("GX",)) for name in ("gx", "other"))


def polls(port: HttpsValidators, to: ValidatorService, number: int, *, is_last: bool = False) -> int:
    """How many of some polls are answered."""
    found = 0
    for _ in range(number):
        with suppress(Unanswered):
            found += port.poll(to, "f" * 64, is_last=is_last) == b"{}"
    return found


def test_a_service_that_answers_slowly_gets_seconds_of_each_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten and what the last request takes, whatever it answers; the minute begins at the end of its first request."""
    slow = Slow()
    port, began = slow.port(monkeypatch), slow.now
    first, other = polls(port, SLOW, 10), polls(port, OTHER, 1)
    slow.now = began + 59.9
    late = polls(port, SLOW, 10)
    slow.now = began + 60 + 4.9
    second = polls(port, SLOW, 10)

    assert (first, other, late, second) == (3, 1, 0, 3)


def test_starts_and_last_polls_are_sent_whatever_the_service_took(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its request, an attempt would be lost for nothing that its service did."""
    slow = Slow()
    port = slow.port(monkeypatch)
    polls(port, SLOW, 10)
    before = slow.asked
    port.start(SLOW, VALIDATION)

    assert polls(port, SLOW, 2, is_last=True) == 2
    assert (polls(port, SLOW, 2), slow.asked - before) == (0, 3)


def test_a_request_has_a_limit(receiver: Receiver) -> None:
    """More rules than fit are refused before anything is sent."""
    with pytest.raises(PortError, match=r"^too-large$"):
        validators(receiver, most=100).start(service(receiver), VALIDATION)

    assert receiver.requests == []


def test_errors_name_neither_addresses_nor_secrets(receiver: Receiver) -> None:
    """They come into log lines."""
    receiver.answer = answer(500, b"secret text of the service")
    with pytest.raises(Unanswered) as raised:
        validators(receiver).start(service(receiver), VALIDATION)

    assert str(raised.value) == "http-500"
