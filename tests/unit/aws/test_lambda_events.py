"""Event documents become hints, and what cannot be understood is refused with a reason."""

from __future__ import annotations

import json
import os
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakegate.aws.lambda_events import (
    Decoded,
    InvocationEnded,
    JobMoved,
    ObjectSeen,
    RefusalReason,
    Unintelligible,
    decode,
)

DATA = Path(__file__).parent
CORPUS: dict[str, dict[str, Any]] = {
    f"{file.stem}: {case['name']}": case
    for file in sorted((DATA / "events").glob("*.json"))
    for case in json.loads(file.read_text())
}
KEYS = sorted({key for kind in json.loads((DATA / "keys.json").read_text()).values() for key in kind})
MEANINGS: dict[str, Any] = {
    "seen": lambda seen: ObjectSeen(*seen[:4], *map(datetime.fromisoformat, seen[4:])),
    "moved": lambda run: JobMoved(*run),
    "ended": lambda invocation: InvocationEnded(*invocation),
    "unintelligible": lambda reason_and_path: Unintelligible(RefusalReason(reason_and_path[0]), reason_and_path[1]),
}

BOMBS = {
    "a megabyte and more": ('"' + "x" * 1024 * 1024 + '"', RefusalReason.TOO_LARGE),
    "brackets without end": ("[" * 100_000, RefusalReason.TOO_DEEP),
    "a number without end": ("9" * 5000, RefusalReason.NOT_JSON),
}

FULL = "LAKEGATE_FULL" in os.environ

hostile = st.sampled_from([*"./%+ *_\n\0é\u202e", "..", "//", "%2e", "[a]", "e\u0301"])
letters = st.characters(exclude_categories=["Cs"])
keys = st.lists(hostile | letters, min_size=1, max_size=40).map("".join) | st.text(letters, min_size=200, max_size=256)
trees = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=8)
    | st.sampled_from(["aws.s3", "Object Created", "0", "1.0"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["detail-type", "detail", "source", "version", "object", "key", "requestPayload", "requestContext"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


def expected(case: dict[str, Any]) -> Decoded:
    [(kind, value)] = case["expected"].items()
    meaning: Decoded = MEANINGS[kind](value)
    return meaning


def by_eventbridge(key: str) -> str:
    detail = {"version": "0", "bucket": {"name": "landing"}, "object": {"key": key}}
    return json.dumps({"version": "0", "source": "aws.s3", "detail-type": "Object Created", "detail": detail})


@pytest.mark.parametrize("case", CORPUS.values(), ids=CORPUS)
def test_a_document_means_what_the_corpus_says(case: dict[str, Any]) -> None:
    """Every document of the corpus decodes to exactly the hint, or the reason, written beside it."""
    assert expected(case) == decode(case["text"] if "text" in case else json.dumps(case["document"]))


def test_the_corpus_is_as_large_as_promised() -> None:
    """At least 80 documents of events and at least 300 different keys, each a legal S3 key."""
    assert len(CORPUS) >= 80
    assert len(KEYS) >= 300
    assert all(0 < len(key.encode()) <= 1024 for key in KEYS)


SHOWN_ELSEWHERE = {
    RefusalReason.MISROUTED: "tests/unit/functions/test_handlers.py",
    RefusalReason.UNKNOWN_KEY: "tests/unit/features/pull/test_naming_messages.py",
}


def test_every_reason_has_a_document() -> None:
    """No reason is listed that no document of the corpus, no bomb and no other test shows."""
    decoded = map(expected, CORPUS.values())
    shown = {each.reason for each in decoded if isinstance(each, Unintelligible)}

    assert set(RefusalReason) == shown | {reason for _, reason in BOMBS.values()} | SHOWN_ELSEWHERE.keys()


@pytest.mark.parametrize(("text", "reason"), BOMBS.values(), ids=BOMBS)
def test_a_bomb_is_one_reason(text: str, reason: RefusalReason) -> None:
    """A document made to break the reader is refused like any other."""
    assert Unintelligible(reason, "$") == decode(text)


def test_a_hostile_key_arrives_as_it_was_written() -> None:
    """Each key of the corpus comes out of the event letter by letter."""
    assert [ObjectSeen("landing", key) for key in KEYS] == [decode(by_eventbridge(key)) for key in KEYS]


@settings(max_examples=10_000 if FULL else 250)
@given(keys)
def test_any_key_arrives_as_it_was_written(key: str) -> None:
    """Whatever a producer calls an object, the event names that object and no other."""
    assert ObjectSeen("landing", key) == decode(by_eventbridge(key))


@given(trees | st.text(), st.text())
def test_nothing_makes_the_decoder_raise(document: object, text: str) -> None:
    """Any text and any JSON is decoded to something: a hint or a reason, never an exception."""
    assert decode(text)
    assert decode(json.dumps(document))


@given(st.text(letters, min_size=3, max_size=20))
def test_a_reason_holds_no_text_of_the_document(text: str) -> None:
    """Where a document fails, neither reason nor path repeats anything its sender wrote."""
    document = {"version": "0", "source": "aws.s3", "detail-type": f"<{text}>", "detail": {f"<{text}>": text}}

    assert f"<{text}>" not in str(decode(json.dumps(document)))
