"""Event documents become hints, and what cannot be understood is refused with a reason."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakegate.aws.lambda_events import (
    Decoded,
    InvocationEnded,
    JobMoved,
    Nothing,
    ObjectSeen,
    RefusalReason,
    Unintelligible,
    decode,
)

if TYPE_CHECKING:
    from collections.abc import Callable

DATA = Path(__file__).parent
CORPUS: dict[str, dict[str, Any]] = {
    f"{file.stem}: {case['name']}": case
    for file in sorted((DATA / "events").glob("*.json"))
    for case in json.loads(file.read_text())
}
KEYS = sorted({key for kind in json.loads((DATA / "keys.json").read_text()).values() for key in kind})
MEANINGS: dict[str, Any] = {
    "seen": lambda bucket_and_key: ObjectSeen(*bucket_and_key),
    "moved": lambda run: JobMoved(*run),
    "ended": lambda invocation: InvocationEnded(*invocation),
    "nothing": Nothing,
    "unintelligible": lambda reason_and_path: Unintelligible(RefusalReason(reason_and_path[0]), reason_and_path[1]),
}

FULL = "LAKEGATE_FULL" in os.environ
ENCODINGS = {"AWS": lambda key: quote_plus(key, safe="/"), "moto": quote_plus, "RFC 3986": quote}

hostile = st.sampled_from([*"./%+ *_\n\0é\u202e", "..", "//", "%2e", "[a]", "e\u0301"])
letters = st.characters(exclude_categories=["Cs"])
keys = st.lists(hostile | letters, min_size=1, max_size=40).map("".join) | st.text(letters, min_size=200, max_size=256)
trees = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(["aws.s3", "aws:s3", "0", "2.1"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["Records", "detail-type", "detail", "source", "version", "eventSource", "body", "Event", "Type"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


def expected(case: dict[str, Any]) -> tuple[Decoded, ...]:
    return tuple(MEANINGS[kind](value) for each in case["expected"] for kind, value in each.items())


def by_eventbridge(key: str) -> str:
    detail = {"version": "0", "bucket": {"name": "landing"}, "object": {"key": key}}
    return json.dumps({"version": "0", "source": "aws.s3", "detail-type": "Object Created", "detail": detail})


def by_notification(encoded: str) -> str:
    record = {
        "eventVersion": "2.1",
        "eventSource": "aws:s3",
        "eventName": "ObjectCreated:Put",
        "s3": {"bucket": {"name": "landing"}, "object": {"key": encoded}},
    }
    return json.dumps({"Records": [record]})


@pytest.mark.parametrize("case", CORPUS.values(), ids=CORPUS)
def test_a_document_means_what_the_corpus_says(case: dict[str, Any]) -> None:
    """Every document of the corpus decodes to exactly the hints, or the reason, written beside it."""
    assert expected(case) == decode(case["text"] if "text" in case else case["document"])


@pytest.mark.parametrize("case", CORPUS.values(), ids=CORPUS)
def test_a_document_means_the_same_inside_a_message(case: dict[str, Any]) -> None:
    """An SQS envelope changes where a fault is reported, and nothing else."""
    body = case["text"] if "text" in case else json.dumps(case["document"])
    decoded = decode({"Records": [{"eventSource": "aws:sqs", "body": body}]})
    bare = [
        Unintelligible(each.reason, each.path.replace("$.Records[0].body", "$", 1))
        if isinstance(each, Unintelligible)
        else each
        for each in decoded
    ]

    assert list(expected(case)) == bare or RefusalReason.TOO_DEEP in {getattr(each, "reason", None) for each in bare}


def test_the_corpus_is_as_large_as_promised() -> None:
    """At least 80 documents of events and at least 300 different keys, each a legal S3 key."""
    assert len(CORPUS) >= 80
    assert len(KEYS) >= 300
    assert all(0 < len(key.encode()) <= 1024 for key in KEYS)


def test_every_reason_has_a_document() -> None:
    """No reason is listed that no document of the corpus can show."""
    shown = {each.reason for case in CORPUS.values() for each in expected(case) if isinstance(each, Unintelligible)}

    assert set(RefusalReason) - {RefusalReason.TOO_LARGE} == shown


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('"' + "x" * 1024 * 1024 + '"', RefusalReason.TOO_LARGE),
        ("[" * 100_000, RefusalReason.TOO_DEEP),
        ("9" * 5000, RefusalReason.NOT_JSON),
    ],
    ids=["a megabyte and more", "brackets without end", "a number without end"],
)
def test_a_bomb_is_one_reason(text: str, reason: RefusalReason) -> None:
    """A document made to break the reader is refused like any other."""
    assert (Unintelligible(reason, "$"),) == decode(text)


@pytest.mark.parametrize("encode", ENCODINGS.values(), ids=ENCODINGS)
def test_a_hostile_key_arrives_as_it_was_written(encode: Callable[[str], str]) -> None:
    """Each key of the corpus comes out of both kinds of event letter by letter, however its sender escapes."""
    arrived = [decode(by_eventbridge(key)) + decode(by_notification(encode(key))) for key in KEYS]

    assert [(ObjectSeen("landing", key),) * 2 for key in KEYS] == arrived


@settings(max_examples=10_000 if FULL else 250)
@given(keys)
def test_any_key_arrives_as_it_was_written(key: str) -> None:
    """Whatever a producer calls an object, both kinds of event name that object and no other."""
    seen = (ObjectSeen("landing", key),)

    assert (seen, seen) == (decode(by_eventbridge(key)), decode(by_notification(quote_plus(key, safe="/"))))


@given(trees | st.text())
def test_nothing_makes_the_decoder_raise(document: object) -> None:
    """Any text and any JSON is decoded to something: at least one hint or reason, never an exception."""
    assert decode(document)
    assert decode(json.dumps(document))


@given(st.text(letters, min_size=3, max_size=20))
def test_a_reason_holds_no_text_of_the_document(text: str) -> None:
    """Where a document fails, neither reason nor path repeats anything its sender wrote."""
    document = {"version": "0", "source": "aws.s3", "detail-type": f"<{text}>", "detail": {f"<{text}>": text}}

    assert f"<{text}>" not in str(decode(document))
