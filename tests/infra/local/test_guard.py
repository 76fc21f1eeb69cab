"""Who is served by the local stack: programs with the secret of this start, and no pages."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.auth import S3SigV4Auth, S3SigV4QueryAuth, SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st
from local_emr import guard
from local_emr.guard import HEADER, is_local, is_trusted

from infra.local.aws.launcher import guarded
from infra.local.aws.strictness import REFUSAL, refusal

SECRET = "5e" * 20
TEXTS = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF, exclude_characters="\x7f"), min_size=1, max_size=8)
CALLBACK = "/_aws/execute-api/1f2e/api/v1/workload/0f/callback"


def signed(  # noqa: PLR0913 - a request has these parts
    secret: str, method: str, url: str, body: bytes, service: str, *, in_query: bool
) -> tuple[str, dict[str, str]]:
    """Path and query, and the headers in lower case, of a request as boto3 signs it."""
    request = AWSRequest(method, url, {"X-Amz-Target": "a  b", "Content-Type": "text/plain"}, body)
    credentials = Credentials("000000000000", secret)
    if in_query:
        (S3SigV4QueryAuth if service == "s3" else SigV4QueryAuth)(credentials, service, "eu-west-1", 60).add_auth(
            request
        )
    else:
        (S3SigV4Auth if service == "s3" else SigV4Auth)(credentials, service, "eu-west-1").add_auth(request)
    found = request.prepare()
    names = {name.lower(): value if isinstance(value, str) else value.decode() for name, value in found.headers.items()}
    target = found.url.removeprefix("http://127.0.0.1:9")
    return target, {"host": "127.0.0.1:9", **names}


@given(
    method=st.sampled_from(["GET", "PUT", "POST", "DELETE"]),
    parts=st.lists(TEXTS.filter(lambda each: each.strip("./")), min_size=1, max_size=3),
    query=st.dictionaries(TEXTS, TEXTS, max_size=3),
    body=st.binary(max_size=20),
    service=st.sampled_from(["s3", "lambda", "dynamodb", "execute-api", "emr-serverless"]),
    in_query=st.booleans(),
)
def test_what_boto3_signs_is_trusted(  # noqa: PLR0913 - a request has these parts
    *, method: str, parts: list[str], query: dict[str, str], body: bytes, service: str, in_query: bool
) -> None:
    """In a header or in the query, whatever path, query and body are; by another secret, or changed since, it is not."""
    from urllib.parse import quote, urlencode  # noqa: PLC0415 - of this test

    path = "/".join(quote(each, safe="") for each in parts)
    text = urlencode(query, quote_via=quote)
    url = f"http://127.0.0.1:9/{path}" + (f"?{text}" if text else "")
    body = b"" if in_query else body
    target, sent = signed(SECRET, method, url, body, service, in_query=in_query)
    other, forged = signed("guessed", method, url, body, service, in_query=in_query)

    assert is_trusted(SECRET, method, target, sent, body)
    assert not is_trusted(SECRET, method, other, forged, body)
    assert not is_trusted(SECRET, "PATCH", target, sent, body)
    assert not is_trusted(SECRET, method, f"/more{target}", sent, body)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer token"},
        {"authorization": "AWS4-HMAC-SHA256"},
        {"authorization": "AWS4-HMAC-SHA256 Credential=a/b/c/d/e, SignedHeaders=host, Signature=0"},
        {
            "authorization": "AWS4-HMAC-SHA256 Credential=a/20260101/c/d/e, SignedHeaders=host",
            "x-amz-date": "20260101T",
        },
        {HEADER: "guessed"},
        {HEADER: ""},
    ],
)
def test_what_is_not_signed_is_not_trusted(headers: dict[str, str]) -> None:
    """Whatever else it has."""
    assert not is_trusted(SECRET, "POST", "/2015-03-31/functions", headers, b"{}")
    assert is_trusted(SECRET, "POST", "/2015-03-31/functions", {HEADER: SECRET}, b"{}")


@pytest.mark.parametrize(
    ("headers", "local"),
    [
        ({"host": "127.0.0.1:4566"}, True),
        ({"host": "localhost"}, True),
        ({"host": "lake.localhost:1"}, True),
        ({"host": "example.org"}, False),
        ({"host": "localhost.example.org:80"}, False),
        ({"host": "127.0.0.1.example.org"}, False),
        ({"host": ""}, False),
        ({}, False),
        ({"host": "127.0.0.1", "origin": "http://127.0.0.1"}, False),
        ({"host": "127.0.0.1", "origin": "null"}, False),
    ],
)
def test_a_page_is_not_served(headers: dict[str, str], *, local: bool) -> None:
    """Neither by its own name, nor by a name that leads here."""
    assert is_local(headers) is local


async def _app(_scope: Any, receive: Any, send: Any) -> None:
    """Answers with the body that it gets, and lets pages of all origins read it."""
    body = (await receive())["body"]
    headers = [(b"Access-Control-Allow-Origin", b"*"), (b"x-own", b"1")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def asked(method: str, path: str, kind: str = "http", **headers: str) -> list[dict[str, Any]]:
    """What a guarded application sends for a request with a body in two parts."""
    parts = [{"type": "http.request", "body": b"one"}, {"type": "http.request", "body": b"two", "more_body": True}]
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return parts.pop() if parts else {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    given_headers = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": kind, "method": method, "path": path, "query_string": b"", "headers": given_headers}
    asyncio.run(guarded(_app, guard, SECRET, refusal)(scope, receive, send))
    return sent


def test_no_code_is_run_for_a_page_or_another_user() -> None:
    """Functions are made and invoked by who knows the secret; no answer allows pages anything."""
    secret = {HEADER.replace("-", "_"): SECRET}
    functions = "/2015-03-31/functions"
    statuses = {
        "nobody": asked("POST", functions, host="127.0.0.1:1")[0]["status"],
        "page": asked("POST", functions, host="127.0.0.1:1", origin="http://evil.example", **secret)[0]["status"],
        "name": asked("POST", functions, host="evil.example", **secret)[0]["status"],
        "reset": asked("POST", "/_ministack/reset", host="127.0.0.1:1")[0]["status"],
        "health": asked("GET", "/_ministack/health", host="127.0.0.1:1")[0]["status"],
        "callback": asked("POST", CALLBACK, host="127.0.0.1:1")[0]["status"],
        "other": asked("POST", f"{CALLBACK}/more", host="127.0.0.1:1")[0]["status"],
    }
    start, body = asked("POST", functions, host="127.0.0.1:1", **secret)

    assert statuses == {
        "nobody": 403,
        "page": 403,
        "name": 403,
        "reset": 403,
        "health": 200,
        "callback": 200,
        "other": 403,
    }
    assert (start["status"], start["headers"], body["body"]) == (200, [(b"x-own", b"1")], b"twoone")
    assert asked("GET", "/", "websocket") == []
    whole = asked("POST", functions, host="127.0.0.1:1", x_amz_content_sha256="0", **secret)
    assert whole[1]["body"] == b"two"


@pytest.mark.parametrize(
    ("operation", "request_", "status"),
    [
        ("GetItem", {}, 400),
        ("GetItem", {"ConsistentRead": True}, 200),
        ("Scan", {"ConsistentRead": False}, 400),
        ("Query", {"IndexName": "agenda"}, 200),
        ("BatchGetItem", {"RequestItems": {"a": {"ConsistentRead": True}, "b": {}}}, 400),
        ("BatchGetItem", {"RequestItems": {"a": {"ConsistentRead": True}}}, 200),
        ("PutItem", {}, 200),
    ],
)
@pytest.mark.parametrize("more", [{}, {"x_amz_content_sha256": "0"}])
def test_a_read_that_may_miss_writes_is_refused(
    operation: str, request_: dict[str, Any], status: int, more: dict[str, str]
) -> None:
    """As DynamoDB refuses a request; an index has no other reads. Code that forgets to ask is wrong on AWS now and then."""
    body, sent = json.dumps(request_).encode(), list[dict[str, Any]]()
    given = {
        "x_amz_target": f"DynamoDB_20120810.{operation}",
        HEADER.replace("-", "_"): SECRET,
        "host": "127.0.0.1",
        **more,
    }
    headers = [(name.replace("_", "-").encode(), value.encode()) for name, value in given.items()]

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/", "query_string": b"", "headers": headers}
    asyncio.run(guarded(_app, guard, SECRET, refusal)(scope, receive, send))
    error = {"__type": "com.amazon.coral.validate#ValidationException", "message": REFUSAL}

    assert (sent[0]["status"], json.loads(sent[1]["body"])) == (status, error if status == 400 else request_)


def test_the_start_of_the_program_passes() -> None:
    """It has no headers."""
    seen: list[str] = []

    async def app(scope: Any, _receive: Any, _send: Any) -> None:
        seen.append(scope["type"])

    asyncio.run(guarded(app, SimpleNamespace(), SECRET, refusal)({"type": "lifespan"}, None, None))

    assert seen == ["lifespan"]
