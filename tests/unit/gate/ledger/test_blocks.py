"""The ledger: one canonical form a block, and no change to a chain that stays unseen."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from lakegate.base.errors import InputError
from lakegate.cli.datasets.chain_proofs import signatures_by
from lakegate.gate.delivery.delivery_row import Waiver
from lakegate.gate.ledger import verification
from lakegate.gate.ledger.blocks import (
    FORMAT,
    GENESIS,
    MAX_INTEGER,
    AnyBlock,
    Block,
    BlockKind,
    LedgerObject,
    Record,
    canonical,
    canonical_json,
    digest,
    event_id,
    from_json,
    to_json,
)
from lakegate.gate.ledger.record_contents import CONTENTS
from lakegate.gate.ledger.signatures import SignedText
from lakegate.gate.ledger.verification import ChainFault, Wrong, verify_signed
from tests.unit.gate.ledger import ledger_page
from tests.unit.gate.ledger.ledger_chain import CHAIN, RECORD, STORED, a_block, a_chain, verify_stored

ROOT = Path(__file__).parents[4]
VECTORS = json.loads((ROOT / "tests/unit/gate/ledger/vectors.json").read_text())
EXAMPLES: list[dict[str, Any]] = json.loads((ROOT / "contracts/examples/blocks.json").read_text())
EXAMPLE_CONTENTS: dict[str, Any] = {
    each["kind"]: each["valid"]["content"] for each in EXAMPLES if "content" in each["valid"]
}
"""Of a record of each kind."""
SCHEMA = json.loads((ROOT / "lakegate/schemas/block.json").read_text())

TWICE = [{"checksum": "", "key": "k", "size": 1, "version": "v"}] * 2

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
counts = st.integers(0, MAX_INTEGER)
objects = st.lists(
    st.builds(LedgerObject, names, names, counts, names), unique_by=lambda each: each.key, max_size=3
).map(lambda some: tuple(sorted(some, key=lambda each: each.key)))
waivers = st.builds(Waiver, names, names, names, names)
blocks = st.builds(
    Block,
    kind=st.sampled_from(BlockKind),
    height=counts,
    previous=st.binary(min_size=32, max_size=32).map(bytes.hex),
    system_time=st.datetimes().map(lambda at: at.isoformat(timespec="microseconds").rjust(26, "0") + "Z"),
    chain=names,
    workload=names,
    contract_version=names,
    plan=names,
    verdict=st.sampled_from(["accepted", "accepted_with_warnings", "rejected"]),
    objects=objects,
    rows=st.none() | counts,
    rejected_rows=st.none() | counts,
    event_time=st.none() | st.tuples(names, names),
    waiver=st.none() | waivers,
)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_the_published_vectors_hold(vector: dict[str, str]) -> None:
    """Each published block is its own canonical form and has the published digest, for other languages to check."""
    block = from_json(vector["canonical"])

    assert (vector["canonical"], vector["sha3_256"]) == (to_json(block), digest(block))


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_the_published_vectors_obey_the_schema(vector: dict[str, str]) -> None:
    """The JSON Schema of a block accepts every published block."""
    assert list(Draft202012Validator(SCHEMA).iter_errors(json.loads(vector["canonical"]))) == []


def test_the_schema_names_the_fields_of_the_block() -> None:
    """The JSON Schema cannot drift: it requires and allows exactly the fields of the code."""
    expected = sorted([field.name for field in fields(Block)] + ["format"])

    assert (expected, expected) == (
        sorted(
            [
                *SCHEMA["required"],
                "corrects",
                "engines",
                "rejected_table",
                "inputs",
                "result",
                "slices",
                "supersedes",
                "table",
                "waiver",
                "watermark",
            ]
        ),
        sorted(SCHEMA["properties"]),
    )
    assert SCHEMA["properties"]["format"] == {"const": FORMAT}


@pytest.mark.parametrize("member", ["corrects", "inputs", "slices", "supersedes", "table", "waiver", "watermark"])
def test_an_absent_member_is_not_written(member: str) -> None:
    """One block, one text: a member that a delivery does not have is absent, and never null."""
    document = {**json.loads(to_json(a_block())), member: None}

    assert not Draft202012Validator(SCHEMA).is_valid(document)
    with pytest.raises(InputError):
        from_json(json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False))


@given(blocks)
def test_a_block_survives_its_canonical_form(block: Block) -> None:
    """Whatever a block holds, it reads back as the same block and the schema accepts it."""
    assert block == from_json(to_json(block))
    assert Draft202012Validator(SCHEMA).is_valid(json.loads(to_json(block)))


@given(blocks, blocks)
def test_two_blocks_share_a_digest_only_if_they_are_equal(one: Block, other: Block) -> None:
    """No two different blocks have the same canonical form."""
    assert (one == other) == (digest(one) == digest(other))


def test_a_chain_is_verified_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each block is read and hashed once, however long the chain: the time grows with its length alone."""
    read: list[str] = []
    chain = a_chain(2000)

    def counted(text: str) -> AnyBlock:
        read.append(text)
        return from_json(text)

    monkeypatch.setattr(verification, "from_json", counted)
    signed = (SignedText(canonical(each)) for each in chain)

    assert verify_signed(signed, chain[0].chain, signatures_by(None), digest(chain[-1])) == ()
    assert read == list(map(to_json, chain))


def test_a_delivery_with_two_blocks_is_a_fault() -> None:
    """Where every other rule of the chain holds: its data is counted twice."""
    chain = a_chain(3)
    again = replace(chain[0], height=3, previous=digest(chain[2]))
    signed = [SignedText(canonical(each)) for each in (*chain, again)]

    assert verify_signed(signed, again.chain, signatures_by(None)) == (
        ChainFault(3, Wrong.REPEATED, "its delivery is that of block 0"),
    )


@pytest.mark.parametrize(
    "spoiled",
    [
        {"height": -1},
        {"height": True},
        {"height": MAX_INTEGER + 1},
        {"rows": 1.0},
        {"rejected_rows": -1},
        {"previous": "A" * 64},
        {"system_time": "2026-11-21T11:30:00Z"},
        {"chain": ""},
        {"workload": "\ud800"},
        {"plan": None},
        {"verdict": "undecided"},
        {"event_time": ("2026-11-20T00:00:00Z",)},
        {"objects": (LedgerObject("b", "v", 1, ""), LedgerObject("a", "v", 1, ""))},
        {"objects": (LedgerObject("a", "v", 1, ""), LedgerObject("a", "w", 1, ""))},
        {"objects": (LedgerObject("a", "v", -1, ""),)},
        {"objects": (LedgerObject("a", "", 1, ""),)},
    ],
    ids=str,
)
def test_a_block_without_a_canonical_form_is_refused(spoiled: dict[str, object]) -> None:
    """What cannot be read back, or not by every language alike, is never written."""
    with pytest.raises(InputError):
        canonical(replace(CHAIN[0], **spoiled))  # type: ignore[arg-type] # wrong on purpose


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "{}",
        "[" * 100_000,
        to_json(CHAIN[0]) + "\n",
        to_json(CHAIN[0]).replace('"height":0', '"height":0.0'),
        to_json(CHAIN[0]).replace('"height":0', '"height":0,"height":0'),
        to_json(CHAIN[0]).replace('"rows":10', '"rows":NaN'),
        to_json(CHAIN[0]).replace('"rows":10', '"rows":1e1'),
        to_json(CHAIN[0]).replace('"rows":10', '"extra":1,"rows":10'),
        to_json(CHAIN[0]).replace('"size":12', '"size":12,"stray":1'),
        to_json(CHAIN[0]).replace('"objects":[', '"objects":[3,'),
        to_json(CHAIN[0]).replace('"event_time":[', '"event_time":[[],'),
        to_json(CHAIN[0]).replace('"event_time":["2026-11-20T00:00:00Z","2026-11-21T00:00:00Z"]', '"event_time":"now"'),
        to_json(CHAIN[0]).replace("lakegate-block/1", "lakegate-block/2"),
        to_json(RECORD).replace('"height":5', '"height":5.0'),
        to_json(RECORD).replace('"attempt":1', '"attempt":1.0'),
        to_json(RECORD).replace('"attempt":1', f'"attempt":{MAX_INTEGER + 1}'),
        to_json(RECORD).replace('005Z"', '005Z\\n"'),
        to_json(RECORD).replace('/eve"', '/eve\\n"'),
        to_json(RECORD).replace(RECORD.event, f"{RECORD.event}\\n"),
        to_json(CHAIN[0]).replace('"published"', '"burnt"'),
        to_json(CHAIN[0]).replace("orders", "\\u006frders"),
        json.dumps(json.loads(to_json(CHAIN[0]))),
    ],
)
def test_a_text_that_is_not_a_canonical_block_is_refused(text: str) -> None:
    """One block, one text: blanks, other escapes, other numbers, unknown fields and later formats are refused."""
    with pytest.raises(InputError):
        from_json(text)


@given(st.text() | st.binary().map(lambda raw: raw.decode("latin-1")))
def test_only_an_input_error_escapes_the_reader(text: str) -> None:
    """Whatever text is stored in place of a block, the reader reports it in its own words."""
    with pytest.raises(InputError):
        from_json(text)


def test_the_guide_tells_of_every_field_and_of_the_first_vector() -> None:
    """docs/ledger.md lists exactly the keys of a block; its example is a published vector."""
    guide = (ROOT / "docs/ledger.md").read_text()
    of_blocks, _, rest = guide.partition("## A record\n")
    of_records = rest.partition("## Kinds\n")[0]
    documented = re.findall(r"^\| `(\w+)` \|", of_blocks, re.MULTILINE)
    members, _, kinds = of_records.partition("| kind | chain |")

    assert sorted(SCHEMA["properties"]) == documented
    assert {field.name for field in fields(Record)} | {"format"} == set(
        re.findall(r"^\| `(\w+)`", members, re.MULTILINE)
    )
    assert sorted(CONTENTS) == re.findall(r"^\| `([\w-]+)` \|", kinds, re.MULTILINE)
    assert f"{VECTORS[0]['canonical']}\n{VECTORS[0]['sha3_256']}\n" in guide


def test_the_guide_lists_the_kinds_of_the_schemas() -> None:
    """The table of kinds is what `python -m tests.unit.gate.ledger.ledger_page` writes."""
    page = ledger_page.PAGE.read_text()

    assert page == ledger_page.generated(page)


def test_every_kind_has_examples() -> None:
    """Each kind of block has a valid example and an invalid one, and no other kind has."""
    assert {each["kind"] for each in EXAMPLES} == set(ledger_page.kinds())


@pytest.mark.parametrize("example", EXAMPLES, ids=[each["kind"] for each in EXAMPLES])
def test_an_example_is_what_it_says(example: dict[str, Any]) -> None:
    """The valid one is read, and is of its kind; of the invalid one `verify` says where its schema refuses it."""
    valid, invalid = (
        canonical_json({**example[each], "height": 0, "previous": GENESIS}) for each in ("valid", "invalid")
    )

    unsigned = ChainFault(0, Wrong.UNSIGNED, "the key `fd110d301d2f` should have signed it")
    assert verify_stored([valid]) == ((unsigned,) if example["kind"] == "key" else ())
    assert from_json(valid.decode()).kind == example["kind"]
    assert verify_stored([invalid]) == (ChainFault(0, Wrong.SCHEMA, example["refusal"]),)


@pytest.mark.parametrize(
    ("text", "what", "why"),
    [
        (b"\xff", Wrong.UNREADABLE, "it is not JSON in UTF-8"),
        (b"{", Wrong.UNREADABLE, "it is not JSON in UTF-8"),
        (b"[" * 100_000, Wrong.UNREADABLE, "it is not JSON in UTF-8"),
        (STORED[0] + b"\n", Wrong.UNREADABLE, "it is JSON, but not in the canonical form of RFC 8785"),
        (
            STORED[0].replace(b'"rows":10', b'"rows":10,"rows":10'),
            Wrong.UNREADABLE,
            "it is JSON, but not in the canonical form of RFC 8785",
        ),
        (
            STORED[0].replace(b'"rows":10', b'"rows":10.0'),
            Wrong.UNREADABLE,
            "a block has no numbers but integers, and none beyond 9007199254740991",
        ),
        (b"[]", Wrong.SCHEMA, "the format `None` is not known; a later release may know it"),
        (b'{"format":[]}', Wrong.SCHEMA, "the format `[]` is not known; a later release may know it"),
        (
            STORED[0].replace(b"block/1", b"block/9"),
            Wrong.SCHEMA,
            "the format `lakegate-block/9` is not known; a later release may know it",
        ),
        (
            canonical_json({**json.loads(STORED[0]), "objects": TWICE}),
            Wrong.SCHEMA,
            "a block cannot have this `objects`",
        ),
        (
            canonical_json({**json.loads(canonical(RECORD)), "kind": "unknown"}),
            Wrong.SCHEMA,
            "record.json does not fit its schema at kind (rule: enum)",
        ),
    ],
)
def test_verification_says_why_a_text_is_no_block(text: bytes, what: Wrong, why: str) -> None:
    """It is not canonical JSON, or its schema refuses it: where, and by which rule."""
    assert verify_stored([text]) == (ChainFault(0, what, why),)


@given(blocks.map(lambda block: json.loads(to_json(block))), st.data())
def test_the_schema_and_the_code_refuse_the_same_blocks(document: dict[str, Any], data: st.DataObject) -> None:
    """Whatever stands in a member of a delivery's block, the code reads it where the schema of its kind allows it."""
    member = data.draw(st.sampled_from(sorted(set(document) - {"objects", "format", "waiver"})))
    document[member] = data.draw(
        st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.just([]) | st.just({})
    )
    try:
        text = canonical_json(document).decode()
    except InputError:
        return
    faults = verify_stored([text.encode()])

    assert Draft202012Validator(SCHEMA).is_valid(document) == (not [each for each in faults if each.why])


def test_no_pattern_of_a_schema_allows_a_line_break_at_the_end() -> None:
    """`$` of Python also stands before a last line feed; of ECMA-262, which schemas follow, it does not."""
    names = ["block", "record", *(f"record-{kind}" for kind in CONTENTS)]
    schemas = {name: (ROOT / f"lakegate/schemas/{name}.json").read_text() for name in names}
    found = [(name, each) for name, text in schemas.items() for each in re.findall(r'"pattern": "(.+?)"', text)]

    assert len(found) > len(("previous", "system_time"))
    assert [each for each in found if not each[1].endswith(r"$(?!\\n)")] == []


def test_the_form_of_a_block_is_the_published_one() -> None:
    """The digest is SHA3-256 over UTF-8 without blanks, keys sorted: recomputed here with nothing of ours."""
    document = json.loads(canonical(CHAIN[1]))
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    assert hashlib.sha3_256(text.encode()).hexdigest() == digest(CHAIN[1])


@pytest.mark.parametrize("kind", CONTENTS)
def test_a_record_survives_its_canonical_form(kind: str) -> None:
    """A record of every kind reads back as the same record, and names what `log` prints of it."""
    record = replace(RECORD, kind=kind, content=EXAMPLE_CONTENTS[kind])

    assert record == from_json(to_json(record))
    assert set(CONTENTS[kind].printed) <= set(record.content)


def objects_of(schema: object) -> Iterator[dict[str, object]]:
    """Every object with properties that a schema describes."""
    if isinstance(schema, dict):
        if "properties" in schema:
            yield schema
        schema = list(schema.values())
    if isinstance(schema, list):
        yield from (found for each in schema for found in objects_of(each))


ABSENT_IF_EMPTY = {
    "publication": {"inherited_from"},
    "lifecycle": {"parents"},
    "erasure": {"table"},
    "erased": {"table"},
    "adoption": {"table"},
    "approval": {"workflow_state"},
    "decline": {"workflow_state"},
}
"""Members that records of earlier releases do not have; an empty one is refused, so that a record has one form."""


@pytest.mark.parametrize(
    ("kind", "member", "empty"),
    [
        *(("publication", "inherited_from", ""), ("lifecycle", "parents", [])),
        *(("erasure", "table", []), ("erased", "table", []), ("adoption", "table", [])),
        *(("approval", "workflow_state", ""), ("decline", "workflow_state", "")),
    ],
)
def test_a_member_that_may_be_absent_is_not_empty(kind: str, member: str, empty: object) -> None:
    """Two records of one content would have two hashes."""
    record = replace(RECORD, kind=kind, content={**EXAMPLE_CONTENTS[kind], member: empty})

    with pytest.raises(InputError):
        from_json(to_json(record))


@pytest.mark.parametrize("kind", CONTENTS)
def test_the_content_of_a_record_is_closed_and_canonical(kind: str) -> None:
    """Each member is required and has a name in ASCII, others are refused, and there are no fractions: one form in RFC 8785."""
    text = (ROOT / f"lakegate/schemas/record-{kind}.json").read_text()
    described = list(objects_of(json.loads(text)))

    assert described
    for each in described:
        optional = set(each["properties"]) - set(each["required"])  # type: ignore[call-overload] # of a schema
        assert (each["additionalProperties"], optional - ABSENT_IF_EMPTY.get(kind, set())) == (False, set())
    assert text.isascii()
    assert '"number"' not in text


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "unknown"},
        {"kind": "Replay/../x"},
        {"kind": "publication"},
        {"actor": "eve"},
        {"actor": "arn:aws:iam::1:user/two\nlines"},
        {"event": "e"},
        {"height": -1},
        {"previous": ""},
        {"content": {**RECORD.content, "more": 1}},
        {"content": {**RECORD.content, "attempt": 1.5}},
        {"content": {}},
    ],
)
def test_a_record_that_does_not_fit_its_schema_has_no_canonical_form(changes: dict[str, Any]) -> None:
    """An unknown kind, an actor that is no ARN, and content that is not of the kind are refused, also when they are read."""
    other = replace(RECORD, **changes)
    stored = canonical(RECORD).decode()
    for name, value in changes.items():
        stored = stored.replace(json.dumps({name: getattr(RECORD, name)}, sort_keys=True, separators=(",", ":"))[1:-1],
                                json.dumps({name: value}, sort_keys=True, separators=(",", ":"))[1:-1])  # fmt: skip
    with pytest.raises(InputError):
        canonical(other)
    with pytest.raises(InputError):
        from_json(stored)


def test_the_same_act_has_the_same_event() -> None:
    """Parts of an event cannot run into one another."""
    assert event_id("replay", "a", 1) == hashlib.sha256(b'["replay","a",1]').hexdigest()
    assert event_id("replay", "a", "b") != event_id("replay", "ab")
