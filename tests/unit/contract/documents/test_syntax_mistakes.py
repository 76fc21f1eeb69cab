"""Syntax errors say where the mistake was made, what it is, and how to mend it."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from lakegate.base.errors import ContractError
from lakegate.contract.documents.read_document import parse
from lakegate.contract.documents.syntax_mistakes import mistake_of
from lakegate.lints.linter import examine

MISTAKES = {
    "colon in a value": ("a: 1\nb: sales: daily", 2, "contains a colon"),
    "colon in a value of a list": ("- a: sales: daily", 1, "contains a colon"),
    "indented deeper than the key beside it": ("- a: 1\n   b: 2", 2, "indent it as the keys or items beside it"),
    "no blank after a colon": ("a:1\nb: 2", 2, "a blank after each colon"),
    "indented less than the items beside it": ("a:\n  - x: 1\n - x: 2", 3, "mapping of line 1: indent it as"),
    "indented between two levels": ("a:\n  - x: 1\n    y: 2\n   z: 3", 4, "mapping of line 2: indent it as"),
    "tab below a value": ("a: 1\n\tb: 2", 2, "indented by a tab"),
    "tab in a list": ("a:\n  - b: 1\n\t- c: 2", 3, "indented by a tab"),
    "non-breaking blank": ("a:\n\u00a0\u00a0- b: 1\n    c: 2", 2, "indented by the character U+00A0"),
    "at sign": ("a: @b", 1, "no value begins with this character"),
    "percent sign": ("a: %d", 1, "no value begins with this character"),
    "backslash in double quotes": ('a: "^\\d+$"', 1, "put the text in single quotes"),
    "asterisk": ("a: *.csv", 1, "`*` begins an alias"),
    "greater than": ("a: > 5", 1, "`|` and `>` begin"),
    "greater than or equal": ("a: >= 5", 1, "`|` and `>` begin"),
    "class of a pattern": ("a: [A-Z]{2}", 1, "put all of the value in quotes"),
    "class of a pattern in braces": ("a: {b: [A-Z]{2}}", 1, "brackets or commas stands in quotes"),
    "apostrophe in single quotes": ("a: 'it's'", 1, "put all of the value in quotes"),
    "open quote": ("a: 1\nb: 'x\nc: 2\n", 2, "the quote that opens here is never closed"),
    "open bracket": ("a: [1\nb: 2", 2, "the bracket that opens in line 1, column 4, is not closed"),
    "no comma after a line that begins with tabs": ('{\n\t"a": 1\n\t"b": 2}', 3, "a comma is missing here"),
    "no comma": ('{"a": 1\n "b": 2}', 2, "a comma is missing here"),
    "line without a colon": ("a: 1\nb\nc: 2", 2, "neither a key with a colon"),
    "list on the line of its key": ("a: - b", 1, "a list begins on a line of its own"),
    "open bracket at the end": ("a: [", 2, "a value is missing here, or a bracket is not closed"),
    "question mark": ("a: ? b", 1, "`?` begins a key"),
    "merge conflict": ("a: 1\n<<<<<<< HEAD\nb: 1\n=======\nb: 2\n>>>>>>> x\n", 2, "a merge conflict is not resolved"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_of_yaml_says_where_it_is_and_how_to_mend_it(name: str) -> None:
    """Each typical mistake has its line and its remedy."""
    text, line, words = MISTAKES[name]

    with pytest.raises(ContractError) as refusal:
        parse(text.encode())

    (problem,) = refusal.value.problems
    assert (problem.code, problem.line) == ("syntax", line)
    assert words in problem.message


@pytest.mark.parametrize("name", [name for name in MISTAKES if "begins with tabs" not in name])
def test_both_parsers_lead_to_the_same_words(name: str) -> None:
    """The parser in Python, where the one in C is not installed, has other messages; and it refuses tabs in JSON."""
    text, _, words = MISTAKES[name]

    with pytest.raises(yaml.MarkedYAMLError) as refusal:
        list(yaml.parse(text, Loader=yaml.SafeLoader))

    assert words in mistake_of(refusal.value, text).words


@given(st.text("ab:-[]{}'\"|>*&?%@\\#,\t \u00a0\u2028\n", max_size=40))
def test_every_refused_text_has_a_line_of_its_own(text: str) -> None:
    """The line of a syntax error is one of the document, or the one after its last."""
    try:
        parse(text.encode())
    except ContractError as refusal:
        for problem in refusal.problems:
            assert problem.line is not None
            assert 1 <= problem.line <= len(text.splitlines()) + 1


def test_a_document_that_cannot_be_parsed_shows_its_lines() -> None:
    """Lint can print the line of a syntax error beside its message."""
    assert examine(b"a: 1\nb: c: d\n").lines == ("a: 1", "b: c: d")
