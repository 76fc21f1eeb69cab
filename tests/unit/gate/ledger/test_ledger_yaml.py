"""Chains as YAML: the text leads back to the same canonical bytes, whatever blocks contain."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from lakegate.base.errors import InputError
from lakegate.contract.documents.read_document import LARGEST_BYTES
from lakegate.gate.ledger.blocks import MAX_INTEGER, Block, canonical, canonical_json
from lakegate.gate.ledger.ledger_yaml import document_of, texts_of, yaml_of
from lakegate.gate.ledger.signatures import Signature, SignedText
from tests.unit.gate.ledger.ledger_chain import CHAIN, RECORD, STORED
from tests.unit.gate.ledger.test_blocks import EXAMPLES, VECTORS, blocks

HOSTILE = (
    "", " ", "~", "null", "NULL", "yes", "No", "on", "OFF", "y", "n", "true", "False", "0o17", "017", "0x1f", "1_000",
    "1e3", "-0", "+1", ".5", "1.", "12:30:45", "190:20:30", ".nan", ".NaN", "NaN", "-.inf", "2026-11-21",
    "2026-11-21T11:30:00Z", "<<", "=", "- a", "a: b", "a #b", "#b", "? a", "---", "...", "--- a\n---\n", "&a", "*a",
    "!!int 3", "%YAML 1.1", "@a", "`a`", "|", ">", "'", '"', "\\", "\\n", "{a: b}", "[a]", "a\nb", "a\r\nb", "\t",
    "\0\x01\x1f\x7f\x80\x85\x9f", "\u00a0\u2028\u2029\ufeff", "\u202eabc", "\ufffe\uffff", "\U0001f600\U0010ffff",
    "e\u0301\u00e9", "\\ud83d\\ude00", " a", "a ", "x" * 100_000,
)  # fmt: skip
"""Texts that a parser of YAML might read as something else."""

texts = st.sampled_from(HOSTILE) | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
documents = st.dictionaries(
    texts.filter(lambda key: len(key) < 100),
    st.recursive(
        st.none() | st.booleans() | st.integers(0, MAX_INTEGER) | texts,
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(texts.filter(lambda key: len(key) < 100), inner, max_size=3)
        ),
        max_leaves=8,
    ),
    min_size=1,
    max_size=4,
)


def lines(text: str) -> list[bytes]:
    """The lines of a text as a file has them."""
    return text.encode().splitlines(keepends=True)


def read_back(*stored: bytes) -> list[bytes]:
    """Blocks through YAML."""
    return [each.text for each in texts_of(lines("".join(map(yaml_of, stored))))]


@given(st.lists(blocks, max_size=3))
def test_a_chain_survives_yaml(chain: list[Block]) -> None:
    """Every block has the same canonical bytes, and so the same digest, after it was written as YAML and read."""
    stored = [canonical(each) for each in chain]

    assert read_back(*stored) == stored


@given(documents)
def test_a_document_survives_yaml(document: dict[str, Any]) -> None:
    """So has every other JSON object without fractions, with hostile keys and values; PyYAML (YAML 1.1) reads the same."""
    text = document_of(document)

    assert list(texts_of([b"---\n", *lines(text)])) == [SignedText(canonical_json(document))]
    assert yaml.safe_load(text) == document


@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: ascii(value)[:30])
def test_a_hostile_text_survives_yaml(value: str) -> None:
    """In a block and in a record."""
    record = replace(RECORD, content={**RECORD.content, "workload": value or "-"})
    stored = [canonical(replace(CHAIN[0], plan=value)), canonical(record)]

    assert read_back(*stored) == stored


def test_vectors_and_examples_survive_yaml() -> None:
    """A block of every kind; beside each document is its digest."""
    stored = [each["canonical"].encode() for each in VECTORS] + [canonical_json(each["valid"]) for each in EXAMPLES]
    text = "".join(map(yaml_of, stored))

    assert read_back(*stored) == stored
    assert [line[len("--- # ") :] for line in text.splitlines() if line.startswith("---")] == [
        hashlib.sha3_256(each).hexdigest() for each in stored
    ]


signatures = st.none() | st.builds(Signature, texts, st.binary(max_size=64))


@given(st.lists(st.tuples(blocks, signatures), max_size=3))
def test_signatures_survive_yaml(chain: list[tuple[Block, Signature | None]]) -> None:
    """A signature is a document of its own, and stays that of its block."""
    signed = [SignedText(canonical(block), signature) for block, signature in chain]
    text = "".join(yaml_of(*each) for each in signed)

    assert list(texts_of(lines(text))) == signed


def test_other_yaml_of_the_same_block_is_the_same_block() -> None:
    """A file that other tools have written: flow style, JSON, another order, comments, Windows line ends, and no first `---`."""
    block = json.loads(STORED[0])
    flow = "# first\n" + yaml.safe_dump(dict(reversed(block.items())), default_flow_style=True, sort_keys=False)
    parts = [flow, json.dumps(block), "# nothing", yaml.safe_dump(block).replace("\n", "\r\n")]

    assert list(texts_of(lines("\n---\n".join(parts)))) == [SignedText(STORED[0])] * 3


@pytest.mark.parametrize(
    "text", [b"", b"{}", b"\xff", STORED[0] + b"\n", STORED[0].replace(b'"rows":10', b'"rows":-1')]
)
def test_what_is_no_block_is_not_written(text: bytes) -> None:
    """It has no canonical form."""
    with pytest.raises(InputError):
        yaml_of(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("--- # a\na: 1\n---\n\nb: [\n", "line 6: This is neither YAML nor JSON"),
        ("---\na: 1.0\n", "line 1: a block has no numbers but integers"),
        ("---\na: 1\n---\na: 9007199254740993\n", "line 3: a block has no numbers but integers"),
        ("---\na: 1\na: 2\n", "line 3: The key stands on line 2 already"),
        ("---\na: !!int 3\n", "line 2: Tags"),
        ("---\na: \x01\n", "line 2: The character U+0001"),
        ("---\nb: *a\n", "line 2: The alias names nothing"),
        ('---\na: "\\ud800"\n', "line 2: "),
        ("---\n" + "- " * 40 + "a\n", "line 2: The document has more than 32 levels"),
        ("---\nsignature: {key: a, value: YQ==}\n", "line 1: a signature follows the document of its block"),
        ("---\na: 1\n---\nsignature: {key: a}\n", "line 3: a signature has the members `key` and `value`"),
        ("---\na: 1\n---\nsignature: {key: a, value: YQ==, b: 1}\n", "line 3: a signature has the members"),
        ("---\na: 1\n---\nsignature: {key: a, value: Y-==}\n", "line 3: a signature has the members"),
        ("---\na: 1\n---\n" + "# more\n" * (LARGEST_BYTES // 6), "line 3: a block has at most 1,048,576 bytes"),
    ],
)
def test_what_has_no_canonical_form_is_refused_with_its_line(text: str, message: str) -> None:
    """Where it is in the file; a document is read within the limits of contracts."""
    with pytest.raises(InputError) as error:
        list(texts_of(lines(text)))

    assert str(error.value).startswith(message)
