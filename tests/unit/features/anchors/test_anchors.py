"""Daily anchors: every change of them is found, and every chain that is not any more what they name."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema.validators import Draft202012Validator

from lakegate.base.errors import InputError
from lakegate.base.json_schemas import load
from lakegate.features.anchors.anchors import (
    Anchor,
    Anchored,
    AnchorFault,
    AnchorFlaw,
    contradictions,
    from_json,
    sha256,
    to_json,
)
from lakegate.gate.ledger.blocks import canonical_json
from tests.reference.sampling import FULL
from tests.unit.features.anchors.anchor_days import Documents, day, digest_of, documents_of, found, signed, verified
from tests.unit.gate.ledger.signing import FORGER, ONE, TWO

DAYS = (
    {"_contracts/a": 0, "a/x_v1": 2},
    {"_contracts/a": 0, "a/x_v1": 2, "a/y_v1": 0},
    {"_contracts/a": 1, "a/x_v1": 5, "a/y_v1": 0, "b/z_v2": 9},
)
KEPT = documents_of(DAYS)
"""Five documents of three days, signed: 1, 2 and 2 parts."""
KEYS = [key for key, _ in KEPT]
STATES = {"a/x_v1": [Anchored(2, digest_of("a/x_v1", 2), day(0)), Anchored(5, digest_of("a/x_v1", 5), day(2))]}


def without(place: int) -> Documents:
    return [*KEPT[:place], *KEPT[place + 1 :]]


def other(place: int, text: bytes) -> Documents:
    return [*KEPT[:place], (KEPT[place][0], text), *KEPT[place + 1 :]]


def edited(place: int, key: Any = ONE, **changes: Any) -> bytes:
    """A document with other members, signed again."""
    document = json.loads(KEPT[place][1]) | changes
    anchor = from_json(canonical_json({**document, "signatures": []}))
    return to_json(signed(anchor, [key]))


def test_anchors_as_they_were_written_have_no_fault() -> None:
    """Each head is kept once, with the first day that names it; who signed, and of which days anchors are."""
    anchors = verified(KEPT, ONE.name)

    assert (anchors.faults, anchors.is_by_given, anchors.is_finished) == ([], True, True)
    assert (anchors.documents, anchors.days, anchors.keys) == (5, [day(0), day(1), day(2)], {ONE.name: 5})
    assert anchors.heads["a/x_v1"] == STATES["a/x_v1"]
    assert {chain: [each.height for each in heads] for chain, heads in anchors.heads.items()} == {
        "_contracts/a": [0, 1],
        "a/x_v1": [2, 5],
        "a/y_v1": [0],
        "b/z_v2": [9],
    }
    assert verified(KEPT, only="a/x_v1").heads == STATES
    assert verified([]).days == []


def test_a_flip_of_a_bit_of_an_anchor_is_found() -> None:
    """One bit of each byte (nightly: each bit) of each document, the last one included: it is signed."""
    unseen = [
        (place, at, bit)
        for place, (_, text) in enumerate(KEPT)
        for at in range(len(text))
        for bit in (range(8) if FULL else (at % 8,))
        if not verified(other(place, text[:at] + bytes([text[at] ^ 1 << bit]) + text[at + 1 :]), ONE.name).faults
    ]

    assert unseen == []


@pytest.mark.parametrize("place", range(4))
def test_a_missing_document_is_named(place: int) -> None:
    """By the one that follows it; nobody could have deleted the first one yet either."""
    assert found(verified(without(place))) == [("missing-anchor", KEYS[place])]


def test_a_document_whose_lock_has_ended_may_be_gone() -> None:
    """Documents at the beginning: the first that is left names for how many days the one before could not be deleted."""
    days: list[dict[str, int]] = [{"a/x_v1": height} for height in range(30)]
    short = [(key, to_json(_locked(from_json(text), 3))) for key, text in _relinked(documents_of(days, [[]] * 30), 3)]

    assert found(verified(short[5:])) == []
    assert found(verified(short[5:8])) == [("missing-anchor", short[4][0])]


def _locked(anchor: Anchor, days: int) -> Anchor:
    assert anchor.locked_days == days
    return anchor


def _relinked(documents: Documents, days: int) -> Documents:
    """The same, locked for another number of days, with every SHA-256 made good again."""
    made: Documents = []
    for key, text in documents:
        document = json.loads(text) | {"locked_days": days}
        if made:
            document["previous"] = {"key": made[-1][0], "sha256": sha256(made[-1][1])}
        made.append((key, canonical_json(document)))
    return made


def test_the_last_documents_leave_no_trace_but_their_day() -> None:
    """What is gone above is told by the last day, and by an anchor that is not finished."""
    anchors = verified(without(4))

    assert (anchors.faults, anchors.is_finished, anchors.days[-1]) == ([], False, day(2))
    assert verified(KEPT[:3]).days[-1] == day(1)


ATTACKS: dict[str, tuple[Documents, list[tuple[str, str]]]] = {
    "swapped": (
        [(KEYS[1], KEPT[2][1]), (KEYS[2], KEPT[1][1]), KEPT[0], *KEPT[3:]],
        [("misplaced-anchor", KEYS[1]), ("misplaced-anchor", KEYS[2]), ("altered-anchor", KEYS[2])],
    ),
    "repeated on a later day": (
        [*KEPT, (KEYS[4].replace("-03/", "-04/"), KEPT[4][1])],
        [("misplaced-anchor", KEYS[4].replace("-03/", "-04/"))],
    ),
    "a key of no anchor": (
        [*KEPT, ("_daily/2026-11-02/x.json", b"{}")],
        [("misplaced-anchor", "_daily/2026-11-02/x.json")],
    ),
    "no anchor": (other(1, b"{}"), [("altered-anchor", KEYS[1]), ("altered-anchor", KEYS[1])]),
    "another head, signed again": (
        other(0, edited(0, heads=[{"chain": "a/x_v1", "digest": "0" * 64, "height": 2}])),
        [("altered-anchor", KEYS[0]), ("rewritten", "a/x_v1")],
    ),
    "the first of all in the middle": (
        other(1, edited(1, previous=None)),
        [("misplaced-anchor", KEYS[1]), ("altered-anchor", KEYS[1])],
    ),
    "a fork that leaves one out": (
        other(4, edited(4, previous={"key": KEYS[2], "sha256": sha256(KEPT[2][1])})),
        [("misplaced-anchor", KEYS[3])],
    ),
    "a part that ends the day too early": (
        other(4, edited(4, part=1, date=day(2), heads=[{"chain": "A", "digest": "0" * 64, "height": 2}])),
        [("misplaced-anchor", KEYS[4]), ("missing-chain", "a/y_v1")],
    ),
    "a forged one behind the last": (
        [*KEPT, documents_of([*DAYS, *DAYS[2:]], [[ONE], [ONE], [ONE], [FORGER]])[5]],
        [("unknown-key", KEYS[3].replace("-03/", "-04/"))],
    ),
    "an unsigned one behind the last": (
        [*KEPT, documents_of([*DAYS, *DAYS[2:]], [[ONE], [ONE], [ONE], []])[5]],
        [("unsigned-anchor", KEYS[3].replace("-03/", "-04/"))],
    ),
    "signed by another in the name of the key": (
        other(4, KEPT[4][1].replace(json.loads(KEPT[4][1])["signatures"][0]["value"].encode(), b"A" * 86 + b"==")),
        [("anchor-signature", KEYS[4])],
    ),
    "all of them, signed by another": (documents_of(DAYS, [[FORGER]] * 3), [("unknown-key", "")]),
    "all of them, unsigned": (documents_of(DAYS, [[]] * 3), [("unknown-key", "")]),
    "a chain truncated and anchored again": (
        documents_of([*DAYS, {**DAYS[2], "a/x_v1": 4}]),
        [("truncated", "a/x_v1")],
    ),
    "a chain deleted": (
        documents_of([*DAYS, {"_contracts/a": 1, "a/x_v1": 5, "b/z_v2": 9}]),
        [("missing-chain", "a/y_v1")],
    ),
}
"""By attack: the documents, and what is found with the key of the stack given."""


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_on_anchors_is_found(attack: str) -> None:
    """Each by its name, and at the document or chain that is concerned."""
    documents, faults = ATTACKS[attack]

    assert found(verified(documents, ONE.name)) == faults


def test_a_chain_that_was_rewritten_between_two_days_is_found_without_it() -> None:
    """Two anchors name different blocks of one height: neither ledger nor key is needed to see it."""
    last = json.loads(documents_of([*DAYS, DAYS[2]])[5][1])
    last["heads"][1]["digest"] = "0" * 64
    anchor = signed(from_json(canonical_json({**last, "signatures": []})), [ONE])

    assert verified([*KEPT, (anchor.key, to_json(anchor))]).faults == [
        AnchorFault(AnchorFlaw.REWRITTEN, "a/x_v1", f"block 5 of {day(2)} is another one on {day(3)}")
    ]


def test_a_key_is_replaced_by_an_anchor_that_both_sign() -> None:
    """The old key leads to the new one, and the new one proves all before it; without the old one's signature it is unknown."""
    rotated = documents_of([*DAYS, DAYS[2]], [[ONE], [ONE], [ONE, TWO], [TWO]])
    alone = documents_of([*DAYS, DAYS[2]], [[ONE], [ONE], [TWO], [TWO]])

    assert [found(verified(rotated, each)) for each in (ONE.name, TWO.name, None)] == [[], [], []]
    assert verified(rotated).keys == {ONE.name: 5, TWO.name: 4}
    assert [what for what, _ in found(verified(alone, ONE.name))] == ["unknown-key"] * 4
    assert [what for what, _ in found(verified(alone))] == ["unknown-key"] * 4
    assert found(verified(alone, TWO.name)) == []


def test_anchors_without_signatures_are_no_fault() -> None:
    """A stack that signs nothing; one that begins to."""
    assert [found(verified(documents_of(DAYS, [[], [], keys]))) for keys in ([], [ONE])] == [[], []]


HEADS = st.dictionaries(st.sampled_from(["a/x_v1", "a/y_v1", "b/z_v1", "_contracts/a"]), st.integers(0, 3))


@given(st.lists(HEADS, min_size=2, max_size=4), st.data())
def test_any_change_of_the_documents_is_found(grown: list[dict[str, int]], data: st.DataObject) -> None:
    """One deleted, exchanged, repeated, or replaced by what another key signed: whatever the days were."""
    days: list[dict[str, int]] = []
    for heights in grown:
        before = days[-1] if days else {}
        days.append(before | {chain: before.get(chain, 0) + more for chain, more in heights.items()})
    documents = documents_of(days)
    place = data.draw(st.integers(0, len(documents) - 2))
    at = data.draw(st.integers(place + 1, len(documents) - 1))
    exchanged = dict(documents) | {documents[place][0]: documents[at][1]}
    forged = from_json(documents[place][1])
    changed: list[Documents] = [
        [*documents[:place], *documents[place + 1 :]],
        list(exchanged.items()),
        list((exchanged | {documents[at][0]: documents[place][1]}).items()),
        list((dict(documents) | {forged.key: to_json(signed(forged, [FORGER]))}).items()),
    ]

    assert verified(documents, ONE.name).faults == []
    assert [bool(verified(each, ONE.name).faults) for each in changed] == [True] * 4


CHAIN = [digest_of("a/x_v1", height) for height in range(7)]


def replaced(height: int) -> list[str]:
    """Rewritten from a height on, however well it is signed."""
    return [*CHAIN[:height], *(digest_of("forged", each) for each in range(height, len(CHAIN)))]


@pytest.mark.parametrize(
    ("chain", "faults"),
    [
        (CHAIN, []),
        (CHAIN[:6], []),
        (replaced(6), []),
        (replaced(5), [("rewritten", f"block 5 is not the one that the anchor of {day(2)} names")]),
        (replaced(3), [("rewritten", f"block 5 is not the one that the anchor of {day(2)} names")]),
        (replaced(0), [("rewritten", f"block 2 is not the one that the anchor of {day(0)} names")]),
        (CHAIN[:5], [("truncated", f"it ends with block 4, and the anchor of {day(2)} names block 5")]),
        (
            replaced(1)[:4],
            [
                ("rewritten", f"block 2 is not the one that the anchor of {day(0)} names"),
                ("truncated", f"it ends with block 3, and the anchor of {day(2)} names block 5"),
            ],
        ),
        ([], [("missing-chain", f"the anchor of {day(2)} names it")]),
    ],
)
def test_a_chain_is_compared_with_its_anchors(chain: list[str], faults: list[tuple[str, str]]) -> None:
    """Rewritten at or below an anchored height, cut off, or gone; what grew above the last anchor is nobody's fault."""
    told = contradictions("a/x_v1", STATES["a/x_v1"], len(chain) - 1, dict(enumerate(chain)))

    assert [(each.what.value, each.why) for each in told] == faults
    assert {each.where for each in told} <= {"a/x_v1"}


def test_an_anchor_is_read_by_its_schema_and_back() -> None:
    """What is written fits the published schema, and is SHA-256 of what any program computes."""
    document = json.loads(KEPT[3][1])
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    unsigned = {name: each for name, each in document.items() if name != "signatures"}
    bare = json.dumps(unsigned, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    said = b"lakegate-anchor-signature/1\n" + hashlib.sha256(bare).hexdigest().encode()

    Draft202012Validator(load("anchor")).validate(document)
    assert (text, from_json(text).signed_text) == (KEPT[3][1], said)
    assert hashlib.sha256(text).hexdigest() == json.loads(KEPT[4][1])["previous"]["sha256"]
    assert to_json(from_json(text)) == text


WRONG: dict[str, Callable[[dict[str, Any]], Any]] = {
    "no object": lambda _: [],
    "no member": lambda document: {**document, "more": 1},
    "another format": lambda document: {**document, "format": "lakegate-anchor/2"},
    "no date": lambda document: {**document, "date": "2026-02-30"},
    "a number as date": lambda document: {**document, "date": 20261101},
    "a part below 0": lambda document: {**document, "part": -1},
    "true as part": lambda document: {**document, "part": True},
    "a text as last": lambda document: {**document, "last": "yes"},
    "another key before": lambda document: {**document, "previous": {"key": "x", "sha256": "0" * 64}},
    "a key of no day": lambda document: {
        **document,
        "previous": {"key": "_daily/2026-13-01/00000.json", "sha256": "0" * 64},
    },
    "no digest before": lambda document: {**document, "previous": {"key": KEYS[0], "sha256": "0"}},
    "no name of a chain": lambda document: {**document, "heads": [{"chain": "", "digest": "0" * 64, "height": 0}]},
    "a number as chain": lambda document: {**document, "heads": [{"chain": 1, "digest": "0" * 64, "height": 0}]},
    "no height": lambda document: {**document, "heads": [{"chain": "a", "digest": "0" * 64, "height": 2**53}]},
    "no digest": lambda document: {**document, "heads": [{"chain": "a", "digest": "0" * 63, "height": 0}]},
    "heads out of order": lambda document: {**document, "heads": document["heads"][::-1]},
    "no key": lambda document: {**document, "signatures": [{"key": "0" * 64, "public_key": "QQ==", "value": "QQ=="}]},
    "no signature": lambda document: {**document, "signatures": [{**document["signatures"][0], "value": "QQ=="}]},
    "no base64": lambda document: {**document, "signatures": [{**document["signatures"][0], "value": "A"}]},
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_no_anchor_is_refused(what: str) -> None:
    """Any other document, and the same one in another form."""
    with pytest.raises(InputError):
        from_json(canonical_json(WRONG[what](json.loads(KEPT[3][1]))))


def test_text_that_is_no_json_is_no_anchor() -> None:
    """Neither are bytes that are no text, or what is nested too deep; a blank makes another text."""
    for text in (b"\xff", b"{", b"[" * 100_000, b'{"date":"\\ud800"}'):
        with pytest.raises(InputError, match="not the JSON of an anchor"):
            from_json(text)
    with pytest.raises(InputError, match="not the canonical form"):
        from_json(KEPT[0][1].replace(b",", b", ", 1))
