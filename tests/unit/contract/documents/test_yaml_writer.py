"""YAML with comments: every text is read back as it was, whatever it contains."""

from __future__ import annotations

from decimal import Decimal

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from lakegate.contract.documents.read_document import parse
from lakegate.contract.documents.yaml_writer import (
    Flow,
    Items,
    Mapping,
    Remark,
    YamlEntry,
    comment,
    nodes,
    scalar,
    write_document,
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
HOSTILE = (
    "",
    "no",
    "Null",
    "~",
    "1",
    "-1.5e3",
    "0x1F",
    "12:30",
    "2026-01-01",
    "=",
    "<<",
    "- a",
    "a: b",
    "a #b",
    "[x]",
    "{y}",
    "&a",
    "*a",
    "!t",
    "%d",
    "@x",
    "`x`",
    '"q"',
    "'q'",
    "\\",
    "line\nbreak",
    "line\r\nbreak",
    "tab\t",
    "\x00\x07\x1b[31m",
    "\x85\u2028\u2029\ufeff",
    "\u202eright to left",
    "😀",
    " a",
    "a ",
    "---",
    "...",
    "key:",
    "? x",
    "| x",
    "> x",
    "${VARIABLE}",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_text_is_a_key_a_value_an_item_and_a_comment(text: str) -> None:
    """No text ends its value, its comment or its line."""
    top = Mapping(
        [
            Remark(text),
            YamlEntry("first", Items([text, Remark(text), Mapping([YamlEntry(text, Flow([text]), text)])]), text),
            YamlEntry("last", text, text),
        ]
    )

    assert yaml.load(write_document(top), yaml.BaseLoader) == {"first": [text, {text: [text]}], "last": text}  # noqa: S506 - plain values only


@given(TEXTS, TEXTS, TEXTS)
def test_any_text_is_read_back(key: str, value: str, note: str) -> None:
    """A text is the same text for a parser that knows types, beside any comment."""
    assert yaml.safe_load(write_document(Mapping([Remark(note), YamlEntry(key, value, note)]))) == {key: value}


def test_a_comment_is_one_printable_line_of_bounded_length() -> None:
    """What does not print is escaped, and a long text is cut."""
    assert comment("a\nb\x1b") == "# a\\nb\\x1b"
    assert len(comment("x" * 1000)) < 200


def test_scalars_keep_their_types() -> None:
    """Numbers and truths are no texts, and no number has an exponent."""
    assert [scalar(each) for each in (True, False, 5, Decimal("1E+3"), Decimal("0.50"), "v3.1.0", "1.0.0")] == [
        "true",
        "false",
        "5",
        "1000",
        "0.50",
        "v3.1.0",
        '"1.0.0"',
    ]


def test_what_is_empty_stays_so() -> None:
    """Empty mappings and lists, null, and a number with too many digits for a document are read back."""
    entries = [YamlEntry("a", Mapping([])), YamlEntry("b", Items([Mapping([]), Items([]), None])), YamlEntry("c", None)]
    text = write_document(Mapping([*entries, YamlEntry("d", Items([])), YamlEntry("e", Decimal("1E+300"))]))

    assert parse(text.encode()).plain() == {"a": {}, "b": [{}, [], None], "c": None, "d": [], "e": Decimal("1E+300")}


def test_nodes_are_counted_as_the_reader_of_documents_counts_them() -> None:
    """Mappings, sequences, keys and scalars count; comments do not."""
    top = Mapping([Remark("x"), YamlEntry("a", 1), YamlEntry("b", Items([Remark("y"), "c", Flow(["d", "e"])]))])

    assert nodes(top) == 1 + 2 + 1 + 1 + 1 + 3
