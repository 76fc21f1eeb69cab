"""Upload URLs are bound to key, length, checksum and absence; hints have the form that intake reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from lakegate.aws.clients import signer
from lakegate.aws.lambda_events import ObjectSeen, decode
from lakegate.features.announcements.announced_delivery import PresignedUploads, headers

if TYPE_CHECKING:
    import pytest

QUEUE = "https://sqs.eu-west-1.amazonaws.com/123456789012/landed"
KEY = "shop/orders/0f/a b.csv"


class Queue:
    """A queue that keeps what it was sent."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []

    def send_message(self, **message: Any) -> None:
        self.sent.append(message)


def gate(monkeypatch: pytest.MonkeyPatch, queue: Any = None) -> PresignedUploads:
    """The adapter with the credentials of a function."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_SESSION_TOKEN": "token",
        "AWS_DEFAULT_REGION": "eu-west-1",
    }.items():
        monkeypatch.setenv(name, value)
    return PresignedUploads(signer(), queue, "landing", QUEUE)


def test_a_url_is_signed_with_everything_that_it_is_bound_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """S3 verifies the signed headers: exactly those that the answer names for the producer, and the host."""
    parts = urlsplit(gate(monkeypatch).url(KEY, 6, "AA=", 900))
    query = {name: value for name, (value,) in parse_qs(parts.query).items()}

    assert (parts.scheme, parts.netloc, parts.path) == (
        "https",
        "landing.s3.eu-west-1.amazonaws.com",
        "/shop/orders/0f/a%20b.csv",
    )
    assert set(query["X-Amz-SignedHeaders"].split(";")) == {*headers(6, "AA="), "host"}
    assert (query["X-Amz-Algorithm"], query["X-Amz-Expires"]) == ("AWS4-HMAC-SHA256", "900")
    assert query["X-Amz-Security-Token"] == "token"


def test_every_bound_value_changes_the_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another key, size or checksum needs another URL."""
    own = gate(monkeypatch)
    urls = [
        own.url(KEY, 6, "AA=", 900),
        own.url("else", 6, "AA=", 900),
        own.url(KEY, 7, "AA=", 900),
        own.url(KEY, 6, "AB=", 900),
    ]

    assert len({parse_qs(urlsplit(each).query)["X-Amz-Signature"][0] for each in urls}) == len(urls)


def test_a_hint_is_read_as_an_event_of_the_landing_bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    """Intake decodes it to bucket and key, whatever the key contains."""
    queue = Queue()
    gate(monkeypatch, queue).landed(KEY)
    (message,) = queue.sent

    assert message["QueueUrl"] == QUEUE
    assert decode(message["MessageBody"]) == ObjectSeen("landing", KEY)
