"""Channels: each adapter against a receiver that validates, refuses, redirects, hangs and answers twice."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import ssl
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import boto3
import pytest
from jsonschema import Draft202012Validator

from lakegate.aws import https_client
from lakegate.aws.https_client import Web, is_public
from lakegate.aws.secrets import Secret, Secrets
from lakegate.base.errors import NotFound, PortError, Throttled, Unanswered
from lakegate.features.notifications import notification_text, pagerduty
from lakegate.features.notifications.open_channels import channels
from lakegate.features.notifications.slack import Slack
from lakegate.features.notifications.webhook import signature
from lakegate.gate.channel_ports import CallbackInvitation, Notification
from tests.fakes.quick_moto import quick_aws
from tests.fakes.receiver import Receiver, receiving
from tests.published_schemas import validate

KEY = "whsec_" + base64.b64encode(b"k" * 32).decode()
HOSTILE = "<!channel> & <https://evil.example|click> [x](https://evil.example) \u202e\x1b[31m"
SENT = Notification(
    "1" * 64,
    "2" * 64,
    "rejected",
    "shop/orders_v1",
    f"Rejected: {HOSTILE}" + "x" * 2_000,
    ("amount: wanted at least 95 % present", HOSTILE, "y" * 5_000),
    datetime(2026, 1, 5, 12, tzinfo=UTC),
    1_000,
    "2026-01-05T10:00:00.000000Z",
    resolved=False,
    workload="3" * 64,
)
BARE = Notification("4" * 64, "4" * 64, "test", "lakegate", "Test of a channel", (), SENT.at)
HTTP = ("slack", "teams", "pagerduty", "webhook")

PLAIN = {
    "type": "object",
    "required": ["type", "text", "emoji"],
    "additionalProperties": False,
    "properties": {
        "type": {"const": "plain_text"},
        "text": {"type": "string", "minLength": 1, "maxLength": 3_000},
        "emoji": {"const": False},
    },
}
SLACK = {  # https://docs.slack.dev/reference/block-kit/blocks: header, section, context
    "type": "object",
    "additionalProperties": False,
    "required": ["text", "blocks"],
    "properties": {
        "text": {"type": "string", "not": {"pattern": "[<>]"}},
        "unfurl_links": {"const": False},
        "unfurl_media": {"const": False},
        "blocks": {
            "type": "array",
            "maxItems": 50,
            "items": {
                "oneOf": [
                    {
                        "additionalProperties": False,
                        "properties": {
                            "type": {"const": "header"},
                            "text": PLAIN | {"properties": PLAIN["properties"] | {"text": {"maxLength": 150}}},  # type: ignore[operator]
                        },
                    },
                    {"additionalProperties": False, "properties": {"type": {"const": "section"}, "text": PLAIN}},
                    {
                        "additionalProperties": False,
                        "properties": {
                            "type": {"const": "context"},
                            "elements": {"type": "array", "maxItems": 10, "items": PLAIN},
                        },
                    },
                ]
            },
        },
    },
}
TEAMS = {  # adaptive card 1.4: AdaptiveCard, RichTextBlock, TextRun
    "type": "object",
    "additionalProperties": False,
    "required": ["type", "attachments"],
    "properties": {
        "type": {"const": "message"},
        "attachments": {
            "minItems": 1,
            "maxItems": 1,
            "items": {
                "additionalProperties": False,
                "properties": {
                    "contentType": {"const": "application/vnd.microsoft.card.adaptive"},
                    "contentUrl": {"const": None},
                    "content": {
                        "additionalProperties": False,
                        "required": ["type", "version", "body"],
                        "properties": {
                            "type": {"const": "AdaptiveCard"},
                            "$schema": {"const": "http://adaptivecards.io/schemas/adaptive-card.json"},
                            "version": {"const": "1.4"},
                            "body": {
                                "items": {
                                    "additionalProperties": False,
                                    "required": ["type", "inlines"],
                                    "properties": {
                                        "type": {"const": "RichTextBlock"},
                                        "inlines": {
                                            "items": {
                                                "additionalProperties": False,
                                                "required": ["type", "text"],
                                                "properties": {
                                                    "type": {"const": "TextRun"},
                                                    "text": {"type": "string"},
                                                    "size": {
                                                        "enum": ["Default", "Small", "Medium", "Large", "ExtraLarge"]
                                                    },
                                                    "weight": {"enum": ["Default", "Lighter", "Bolder"]},
                                                    "isSubtle": {"type": "boolean"},
                                                },
                                            }
                                        },
                                    },
                                }
                            },
                        },
                    },
                },
            },
        },
    },
}
PAGERDUTY = {  # https://developer.pagerduty.com/docs/events-api-v2/trigger-events/
    "type": "object",
    "additionalProperties": False,
    "required": ["routing_key", "event_action", "dedup_key", "payload"],
    "properties": {
        "routing_key": {"type": "string", "minLength": 32, "maxLength": 32},
        "event_action": {"enum": ["trigger", "acknowledge", "resolve"]},
        "dedup_key": {"type": "string", "maxLength": 255},
        "payload": {
            "type": "object",
            "additionalProperties": False,
            "required": ["summary", "source", "severity"],
            "properties": {
                "summary": {"type": "string", "minLength": 1, "maxLength": 1_024},
                "source": {"type": "string", "minLength": 1},
                "severity": {"enum": ["critical", "warning", "error", "info"]},
                "timestamp": {"type": "string", "format": "date-time"},
                "component": {"type": "string"},
                "group": {"type": "string"},
                "class": {"type": "string"},
                "custom_details": {"type": "object"},
            },
        },
    },
}
DOCUMENT = json.loads((Path(__file__).parents[4] / "lakegate/schemas/notification.json").read_text())
SCHEMAS: dict[str, Any] = {"slack": SLACK, "teams": TEAMS, "pagerduty": PAGERDUTY, "webhook": DOCUMENT}


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as there:
        yield there


class Stored:
    """Secrets Manager, with a secret of each kind of channel."""

    def __init__(self, url: str) -> None:
        self._url = url

    def get_secret_value(self, SecretId: str) -> dict[str, str]:  # noqa: N803 - as boto3 has it
        key = {"pagerduty": {"key": "r" * 32}, "webhook": {"key": KEY}}.get(SecretId, {})
        return {"SecretString": json.dumps({"url": self._url, **key})}


def texts(document: Any) -> list[str]:
    if isinstance(document, dict | list):
        within = document.values() if isinstance(document, dict) else document
        return [text for each in within for text in texts(each)]
    return [document] if isinstance(document, str) else []


def deliver(kind: str, to: Receiver, what: Notification = SENT, seconds: float = 5.0) -> None:
    channels(Stored(to.url), None, to.web(seconds)).deliver(f"{kind}:{kind}", what)


@pytest.mark.parametrize("kind", HTTP)
@pytest.mark.parametrize("what", [SENT, BARE, SENT._replace(resolved=True)])
def test_a_receiver_gets_one_valid_request(receiver: Receiver, kind: str, what: Notification) -> None:
    """The payload has the form and the limits that the receiver publishes, whatever the texts are."""
    deliver(kind, receiver, what)
    [(line, headers, body)] = receiver.requests

    assert line == "POST /hook?a=1 HTTP/1.1"
    assert (headers["content-type"], headers["host"]) == ("application/json", f"localhost:{receiver.port}")
    assert list(Draft202012Validator(SCHEMAS[kind]).iter_errors(json.loads(body))) == []
    assert [each for each in texts(json.loads(body)) if not each.replace("\n", "").isprintable()] == []


@pytest.mark.parametrize("kind", HTTP)
def test_an_answer_that_comes_twice_is_one_delivery(receiver: Receiver, kind: str) -> None:
    """What follows the answer is not read; a repetition of the notification has the same id or key."""
    receiver.answer *= 2
    deliver(kind, receiver)
    deliver(kind, receiver)
    first, second = receiver.requests

    assert first[2] == second[2]
    assert first[1].get("webhook-id") == second[1].get("webhook-id")


@pytest.mark.parametrize("kind", HTTP)
@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 6\r\n\r\nsecret", PortError("http-404")),
        (b"HTTP/1.1 429 Too Many\r\n\r\n", Throttled("http-429")),
        (b"HTTP/1.1 503 Busy\r\n\r\n", Unanswered("http-503")),
        (b"HTTP/1.1 302 Found\r\nLocation: https://127.0.0.1/\r\n\r\n", PortError("http-302")),
        (b"nonsense\r\n\r\n", Unanswered("BadStatusLine")),
        (b"", Unanswered("RemoteDisconnected")),
    ],
)
def test_a_refusal_is_an_error_of_its_status(receiver: Receiver, kind: str, answer: bytes, error: PortError) -> None:
    """A redirect is not followed, and nothing of the answer or of the address is repeated."""
    receiver.answer = answer
    with pytest.raises(PortError) as refused:
        deliver(kind, receiver)

    assert (type(refused.value), str(refused.value)) == (type(error), str(error))
    assert len(receiver.requests) == 1


@pytest.mark.parametrize("hangs", ["before", "inside"])
@pytest.mark.parametrize("kind", HTTP)
def test_a_receiver_that_hangs_is_left(receiver: Receiver, kind: str, hangs: str) -> None:
    """One deadline for the whole exchange: an answer that comes byte by byte does not prolong it."""
    receiver.hangs = hangs
    with pytest.raises(Unanswered, match="TimeoutError"):
        deliver(kind, receiver, seconds=0.5)


def test_a_long_answer_is_not_read_to_its_end(receiver: Receiver) -> None:
    """A receiver cannot fill the memory."""
    receiver.answer = b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n" + b"x" * 1_000_000
    deliver("slack", receiver)

    assert len(receiver.requests) == 1


def test_a_certificate_that_nobody_trusts_is_refused(receiver: Receiver) -> None:
    """The identity of the receiver is checked before anything is sent."""
    untrusting = Web(lambda _: True, None, ssl.create_default_context())
    with pytest.raises(PortError, match="certificate-refused"):
        untrusting.post(receiver.url, b"", {})

    assert receiver.requests == []


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/",
        "https://user:password@example.com/",
        "https://user@example.com/",
        "https:///path",
        "https://example.com:0/",
        "https://example.com:99999/",
        "https://[::1/",
        "https://example.com/a b",
        "https://example.com/\r\nHost: x",
        "https://exämple.com/",
        "https://" + "a" * 2_100,
        "https://127.0.0.1/",
        "https://localhost/",
        "https://[::ffff:169.254.169.254]/latest/meta-data",
        "https://" + "a" * 64 + ".example/",
        "ftp://example.com/",
        "",
    ],
)
def test_an_address_that_could_lead_inside_is_refused(url: str) -> None:
    """HTTPS alone, to public hosts, without a name and password."""
    with pytest.raises(PortError, match=r"^address-refused$"):
        Web().post(url, b"", {})


def test_other_ports_are_refused() -> None:
    """A request to another port could speak to another protocol."""
    with pytest.raises(PortError, match="port-refused"):
        Web().post("https://example.com:22/", b"", {})


def test_a_body_has_a_limit() -> None:
    """What is larger is not sent."""
    with pytest.raises(PortError, match="too-large"):
        Web().post("https://example.com/", b"x" * (https_client.MAX_BODY + 1), {})


def test_every_address_of_a_host_has_to_be_public(monkeypatch: pytest.MonkeyPatch) -> None:
    """One private address among public ones is enough to refuse; the connection goes to the address that was checked."""
    found = [(0, 0, 0, "", ("93.184.216.34", 443)), (0, 0, 0, "", ("10.0.0.1", 443))]
    monkeypatch.setattr(https_client.socket, "getaddrinfo", lambda *_, **__: found)
    with pytest.raises(PortError, match="address-refused"):
        Web().post("https://example.com/", b"", {})
    connected: list[Any] = []

    def connect(to: Any, **_: Any) -> None:
        connected.append(to)
        raise ConnectionRefusedError

    monkeypatch.setattr(https_client.socket, "create_connection", connect)
    found.pop()
    with pytest.raises(Unanswered, match="ConnectionRefusedError"):
        Web().post("https://example.com/", b"", {})

    assert connected == [("93.184.216.34", 443)]


@pytest.mark.parametrize(
    ("endpoint", "is_local"),
    [
        ("https://secretsmanager.eu-west-1.amazonaws.com", False),
        ("http://127.0.0.1.example.org:4566", False),
        ("http://127.0.0.1@example.org", False),
        ("http://169.254.169.254", False),
        ("http://10.0.0.1:4566", False),
        ("http://127.0.0.1:4566", True),
        ("http://localhost:4566", True),
        ("http://[::1]:4566", True),
    ],
)
def test_only_secrets_of_the_loopback_may_name_it(endpoint: str, *, is_local: bool, receiver: Receiver) -> None:
    """A stack on AWS reads its secrets from AWS, so none of them leads inside, whatever else is configured."""
    secrets = boto3.client("secretsmanager", endpoint_url=endpoint, region_name="eu-west-1")
    found = channels(secrets, None).adapters["slack"]
    assert isinstance(found, Slack)
    found_web = replace(found.web, context=receiver.context)
    if is_local:
        found_web.post(receiver.url, b"{}", {})
    else:
        with pytest.raises(PortError, match=r"^port-refused$"):
            found_web.post(receiver.url, b"{}", {})
        with pytest.raises(PortError, match=r"^address-refused$"):
            found_web.post("https://localhost/", b"{}", {})

    assert len(receiver.requests) == int(is_local)


@pytest.mark.parametrize(
    ("addresses", "port", "error"),
    [
        (["10.0.0.1"], 443, "address-refused"),
        (["169.254.169.254"], 443, "address-refused"),
        (["127.0.0.1", "10.0.0.1"], 443, "address-refused"),
        (["127.0.0.1", "93.184.216.34"], 443, "address-refused"),
        (["93.184.216.34"], 22, "port-refused"),
    ],
)
def test_a_local_stack_reaches_the_loopback_and_nothing_else_inside(
    addresses: list[str], port: int, error: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Private and link-local addresses stay refused, also beside the loopback, and so do other ports of public hosts."""
    found = [(0, 0, 0, "", (each, port)) for each in addresses]
    monkeypatch.setattr(https_client.socket, "getaddrinfo", lambda *_, **__: found)
    with pytest.raises(PortError, match=f"^{error}$"):
        Web(is_local=lambda: True).post(f"https://example.com:{port}/", b"", {})


def test_no_time_left_is_no_answer() -> None:
    """Also before the connection begins."""
    with pytest.raises(Unanswered, match="TimeoutError"):
        Web(lambda _: True, None, None, 0.0).post("https://127.0.0.1/", b"", {})


def test_a_header_that_cannot_be_is_refused(receiver: Receiver) -> None:
    """What would begin another line is not sent."""
    with pytest.raises(PortError, match="address-refused"):
        receiver.web().post(receiver.url, b"", {"a": "b\r\nc: d"})


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1:248:1893:25c8:1946", True),
        ("10.1.2.3", False),
        ("172.16.0.1", False),
        ("192.168.0.1", False),
        ("127.0.0.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),  # noqa: S104 - an address that is refused
        ("224.0.0.1", False),
        ("::1", False),
        ("fe80::1", False),
        ("fd00:ec2::254", False),
        ("ff0e::1", False),
        ("::ffff:10.0.0.1", False),
        ("64:ff9b::a9fe:a9fe", False),
        ("64:ff9b::5db8:d822", True),
        ("2002:0a00:0001::1", False),
        ("2001:0:4136:e378:8000:63bf:f5ff:fffe", False),
        ("64:ff9b:1::5db8:d822", False),
        ("::5db8:d822", False),
        ("::ffff:0:5db8:d822", False),
        ("fec0::1", False),
        ("3fff::1", False),
        ("5f00::1", False),
        ("4000::1", False),
        ("::ffff:93.184.216.34", True),
    ],
)
def test_only_addresses_of_the_public_internet_are_public(address: str, *, public: bool) -> None:
    """Also where an IPv6 address contains an IPv4 address."""
    assert is_public(ip_address(address)) is public


def test_a_token_follows_from_the_key_of_a_webhook(receiver: Receiver) -> None:
    """The same for the same delivery, another one for another delivery; no other channel has one."""
    there = channels(Stored(receiver.url), None, receiver.web(5.0))
    signed = hmac.new(b"k" * 32, b"callback.a.1", hashlib.sha256).digest()
    first, again, more = (there.token("webhook:webhook", each) for each in ("a.1", "a.1", "a.2"))

    assert first == again == base64.urlsafe_b64encode(signed).decode().rstrip("=")
    assert more != first
    assert there.token("slack:slack", "a.1") == ""
    with pytest.raises(PortError, match="secret-malformed"):
        there.token("webhook:another", "a.1")


def test_an_invitation_is_part_of_the_document() -> None:
    """Where there is one; the schema has it."""
    invitation = CallbackInvitation("A" * 43, "/api/v1/workload/1/callback", "2026-01-05T12:00:00.000000Z")
    made = json.loads(notification_text.document(BARE._replace(callback=invitation)))
    validate("notification", made)

    assert made["callback"] == {"token": "A" * 43, "path": invitation.path, "expires": invitation.expires}
    assert "callback" not in json.loads(notification_text.document(BARE))


def test_a_webhook_is_signed_as_standard_webhooks_requires(receiver: Receiver) -> None:
    """HMAC-SHA256 of id, timestamp and body, by the key of the secret, which is not sent."""
    deliver("webhook", receiver)
    [(_, headers, body)] = receiver.requests
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = base64.b64encode(hmac.new(b"k" * 32, signed, hashlib.sha256).digest()).decode()

    assert headers["webhook-signature"] == f"v1,{expected}"
    assert headers["webhook-id"] == SENT.id
    assert KEY not in str(receiver.requests)


def test_the_signature_of_the_specification() -> None:
    """The example of Standard Webhooks' own libraries."""
    signed = signature(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", b'{"test": 2432232314}'
    )

    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.parametrize("key", ["", "secret", "whsec_", "whsec_!!!", "whsec_" + base64.b64encode(b"short").decode()])
def test_a_weak_key_is_refused(key: str) -> None:
    """Nothing is sent unsigned."""
    with pytest.raises(PortError, match="secret-malformed"):
        signature(key, "id", "1", b"")


def test_pagerduty_triggers_and_resolves_under_one_key(receiver: Receiver) -> None:
    """An incident ends with its cause; a test opens none."""
    for what in (SENT, SENT._replace(resolved=True, id="5" * 64), BARE):
        deliver("pagerduty", receiver, what)
    sent = [json.loads(body) for _, _, body in receiver.requests]

    assert [(each["event_action"], each["dedup_key"]) for each in sent] == [
        ("trigger", SENT.key),
        ("resolve", SENT.key),
        ("resolve", BARE.key),
    ]


def test_pagerduty_needs_a_routing_key_and_has_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without `url` the address is PagerDuty's own."""
    posted: list[str] = []
    monkeypatch.setattr(Secrets, "read", lambda _, name: Secret(key=name))
    monkeypatch.setattr(Web, "post", lambda _, url, *__: posted.append(url))
    adapter = pagerduty.PagerDuty(Secrets(None), Web())
    adapter.deliver("r" * 32, SENT)
    with pytest.raises(PortError, match="secret-malformed"):
        adapter.deliver("", SENT)

    assert posted == ["https://events.pagerduty.com/v2/enqueue"]


@pytest.mark.parametrize("content", ["", "text", "[]", '{"url": 1}', '{"address": "https://example.com"}'])
def test_a_secret_has_an_address_a_key_or_both(content: str) -> None:
    """Anything else is refused by a code that does not repeat it."""
    with quick_aws():
        client = boto3.client("secretsmanager", region_name="us-east-1")
        given = {"SecretString": content} if content else {"SecretBinary": b"x"}
        client.create_secret(Name="name", **given)  # type: ignore[arg-type]
        with pytest.raises(PortError, match=r"^secret-malformed$"):
            Secrets(client).read("name")
        with pytest.raises(NotFound):
            Secrets(client).read("other")

    assert repr(Secret("https://example.com/token", "key")) == "Secret()"


def test_a_topic_gets_the_document() -> None:
    """With a subject of ASCII, and attributes by which its subscriptions filter."""
    with quick_aws():
        sns, sqs = (boto3.client(name, region_name="us-east-1") for name in ("sns", "sqs"))
        topic = sns.create_topic(Name="lakegate-channel-orders")["TopicArn"]
        queue = sqs.create_queue(QueueName="orders")["QueueUrl"]
        arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn)
        channels(None, sns).deliver(f"sns:{topic}", SENT)
        with pytest.raises(NotFound):
            channels(None, sns).deliver(f"sns:{topic}-other", SENT)
        got = json.loads(sqs.receive_message(QueueUrl=queue)["Messages"][0]["Body"])

    assert list(Draft202012Validator(DOCUMENT).iter_errors(json.loads(got["Message"]))) == []
    assert got["Subject"].isascii()
    assert len(got["Subject"]) == 99
    assert {name: each["Value"] for name, each in got["MessageAttributes"].items()} == {
        "kind": "rejected",
        "line": "shop/orders_v1",
    }
