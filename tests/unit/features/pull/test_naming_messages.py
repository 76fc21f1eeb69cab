"""Messages that name objects: events of S3 in both forms, and claim checks. What is none of these is refused with its reason."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.aws.lambda_events import ObjectSeen, Unintelligible
from lakegate.features.pull.naming_messages import ObjectsNamed, decode_named

VERSION = "3HL4kqtJlcpXroDTDmJ+rmSpXd3dIbrHY"


def notified(key: str = "out/rows.csv", **changes: Any) -> str:
    """What S3 sends to a queue (user guide, Event message structure)."""
    record = {
        "eventVersion": "2.1",
        "eventSource": "aws:s3",
        "eventName": "ObjectCreated:Put",
        "s3": {
            "bucket": {"name": "partner-exports", "arn": "arn:aws:s3:::partner-exports"},
            "object": {"key": quote_plus(key, safe="/"), "size": 4, "versionId": VERSION, "sequencer": "0A"},
        },
    }
    return json.dumps({"Records": [record | changes]})


def from_bridge(key: str = "out/rows.csv", **changes: Any) -> str:
    """What EventBridge hands to a queue."""
    detail = {"version": "0", "bucket": {"name": "partner-exports"}, "object": {"key": key, "version-id": VERSION}}
    event = {"version": "0", "source": "aws.s3", "detail-type": "Object Created", "detail": detail}
    return json.dumps(event | changes)


def claim(address: object = "s3://partner-exports/out/rows.csv", **more: object) -> str:
    return json.dumps({"object": address} | more)


KEYS = (
    "out/rows.csv",
    "out/a b+c%20d.csv",
    "out/naïve ☃.csv",
    "out/..//a?b#c&d=e",
    "out/\n\x1b[31m\u2028.csv",
    "é" * 512,
)


@pytest.mark.parametrize("key", KEYS)
def test_the_three_forms_name_the_same_object(key: str) -> None:
    """S3 encodes the key as in a form, EventBridge and claims do not."""
    named = [
        decode_named(notified(key)),
        decode_named(from_bridge(key)),
        decode_named(claim(f"s3://partner-exports/{key}", version=VERSION)),
    ]
    seen = [each.objects[0] for each in named if isinstance(each, ObjectsNamed)]

    assert [(each.bucket, each.key, each.version) for each in seen] == [("partner-exports", key, VERSION)] * 3


def test_a_test_event_names_nothing() -> None:
    """S3 sends it when a notification is configured: it is acknowledged."""
    body = {"Service": "Amazon S3", "Event": "s3:TestEvent", "Time": "2026-11-27T00:00:00.000Z", "Bucket": "b"}

    assert decode_named(json.dumps(body)) == ObjectsNamed(())


def test_a_claim_may_name_its_contract_and_no_version() -> None:
    """Both are optional, and so is the version of an event of a bucket without versions."""
    seen = ObjectSeen("partner-exports", "out/rows.csv")
    record = json.loads(notified())
    del record["Records"][0]["s3"]["object"]["versionId"]

    assert decode_named(claim(contract="partner")) == ObjectsNamed((seen,), "partner")
    assert decode_named(claim(contract="", version="")) == ObjectsNamed((seen,))
    assert decode_named(json.dumps(record)) == ObjectsNamed((ObjectSeen("partner-exports", "out/rows.csv", "", 4),))


REFUSED = {
    "": "not-json",
    "s3://partner-exports/out/rows.csv": "not-json",
    "[1]": "wrong-type",
    "null": "wrong-type",
    "{}": "unknown-kind",
    '{"Event": "other"}': "unknown-kind",
    "[" * 200_000: "too-deep",
    '{"object": "' + "x" * 1_100_000 + '"}': "too-large",
    claim(1): "wrong-type",
    claim(None): "wrong-type",
    claim("out/rows.csv"): "foreign-source",
    claim("https://partner-exports/out/rows.csv"): "foreign-source",
    claim("s3://partner-exports"): "bad-key",
    claim("s3://partner-exports/"): "bad-key",
    claim("s3://partner-exports/" + "x" * 1025): "bad-key",
    claim("s3://partner-exports/\ud800"): "bad-key",
    claim("s3://Partner/out"): "bad-bucket",
    claim("s3://a/out"): "bad-bucket",
    claim("s3:///out"): "bad-bucket",
    claim(dataset="rows"): "unknown-key",
    claim(version=1): "wrong-type",
    claim(version="a b"): "bad-id",
    claim(version="x" * 1025): "bad-id",
    claim(contract=["partner"]): "wrong-type",
    claim(contract="_workflow:x"): "bad-id",
    claim(contract="a/b"): "bad-id",
    claim(contract="x" * 129): "bad-id",
    '{"Records": []}': "wrong-type",
    '{"Records": {}}': "wrong-type",
    '{"Records": [1]}': "wrong-type",
    '{"Records": [{}]}': "missing-field",
    json.dumps({"Records": json.loads(notified())["Records"] * 11}): "too-large",
    notified(eventSource="aws:sns"): "foreign-source",
    notified(eventName="ObjectRemoved:Delete"): "unknown-kind",
    notified(s3={"bucket": {"name": "partner-exports"}, "object": {"key": "%ff"}}): "bad-key",
    notified(s3={"bucket": {"name": "partner-exports"}, "object": {"key": ""}}): "bad-key",
    notified(s3={"bucket": {"name": "../x"}, "object": {"key": "a"}}): "bad-bucket",
    from_bridge(source="partner.app"): "foreign-source",
    from_bridge(version="1"): "unknown-version",
    from_bridge(**{"detail-type": "Object Deleted"}): "unknown-kind",
    from_bridge("x" * 1025): "bad-key",
}


@pytest.mark.parametrize("body", REFUSED, ids=lambda body: f"{REFUSED[body]} {body[:40]!r}")
def test_what_names_no_object_is_refused_with_its_reason(body: str) -> None:
    """No text of the message is in the refusal."""
    found = decode_named(body)

    assert isinstance(found, Unintelligible)
    assert str(found.reason) == REFUSED[body]
    assert found.path in {
        *("$", "$.object", "$.version", "$.contract", "$.Records", "$.Records[*]", "$.eventSource", "$.eventName"),
        *("$.s3.object.key", "$.s3.bucket.name", "$.source", "$.detail-type", "$.detail.object.key"),
    }


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
PARTS = st.sampled_from(
    [
        "object",
        "version",
        "contract",
        "Records",
        "s3",
        "bucket",
        "name",
        "key",
        "detail",
        "source",
        "eventName",
        "Event",
    ]
)
HOSTILE = st.recursive(
    JSON
    | st.sampled_from(["aws.s3", "aws:s3", "0", "s3:TestEvent", "Object Created", "ObjectCreated:Put", "s3://b-1/k"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(PARTS | st.just("detail-type"), inner, max_size=5),
    max_leaves=12,
)


@given(HOSTILE.map(json.dumps) | st.text())
def test_no_body_does_anything_else(body: str) -> None:
    """Whatever somebody sends: bounded names of objects, or a reason."""
    found = decode_named(body)

    assert isinstance(found, ObjectsNamed | Unintelligible)
    if isinstance(found, ObjectsNamed):
        assert all(0 < len(each.key.encode()) <= 1024 for each in found.objects)
        assert all(each.bucket.isascii() and "/" not in each.bucket for each in found.objects)
