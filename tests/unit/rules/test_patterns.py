"""Patterns of ECMA-262 mean in the engine what they mean in the contract."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.contracts.compile.rules.patterns import LONGEST, rewritten, translate
from lakegate.contracts.errors import ContractError
from lakegate.contracts.model.contract import Origin, Rule
from tests.reference.sampling import sampled
from tests.reference.strategies import texts

RULE = Rule("r", "pattern", Origin("$"))


def matches(pattern: str, text: str) -> bool:
    return re.search(translate(RULE, pattern).replace(r"\z", r"\Z"), text, re.ASCII) is not None


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("^ab$", r"^ab\z"),
        (r"[$^.]", r"[\x24\x5E\x2E]"),
        (r"a\/b", "a/b"),
        (r"\d\D", "[0-9][\\x00-\\x2F\\x3A-\U0010ffff]"),
        ("(?<year_1>a)", "(?:a)"),
        ("(a)(?:b)", "(?:a)(?:b)"),
        ("a{2}b{2,}c{2,3}?", "a{2}b{2,}c{2,3}?"),
        ("}", r"\x7D"),
        ("{", r"\x7B"),
        ("]", r"\x5D"),
        (r"\u{1F600}", "😀"),
        (r"\uD83D\uDE00", "😀"),
        (r"\x41\u0042", "AB"),
        (r"[\b]", r"[\x08]"),
        (r"\0\t\n\v\f\r", r"\x00\x09\x0A\x0B\x0C\x0D"),
        (r"\cj\cJ", r"\x0A\x0A"),
        ("[a-]", r"[a\x2D]"),
        ("[-a]", r"[\x2Da]"),
        ("[^a-z0-9]", "[^a-z0-9]"),
        ("[]", "(?:(?!))"),
        ("é", "é"),
        ("\u0085", r"\x85"),
    ],
)
def test_a_pattern_is_translated(pattern: str, expected: str) -> None:
    """The translation is the text that java.util.regex must be given."""
    assert expected == translate(RULE, pattern)


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("a|b", "xb", True),
        (r"^\w+$", "é", False),
        (r"\bfoo\b", "a foo b", True),
        (r"\bfoo\b", "afoo", False),
        (r"\Boo", "foo", True),
        (r"\Bfoo", "foo", False),
        (r"^\S+$", "a\u2003b", False),
        (r"^[^\s]$", "\u2003", False),
        (r"^[\W]$", "é", True),
        (r"^[\D]$", "5", False),
        ("^.$", "\u2029", False),
        ("^.$", "\r", False),
        ("^[^]$", "\n", True),
        ("^", "", True),
        ("$", "x", True),
        ("(?=b)b", "ab", True),
        ("a(?!b)", "ab", False),
        ("^a*?$", "aaa", True),
    ],
)
def test_a_translated_pattern_finds_what_ecma_finds(pattern: str, text: str, expected: object) -> None:
    """Anchors, classes, edges and look-aheads keep their meaning of ECMA-262."""
    assert expected is matches(pattern, text)


@sampled(300, 20000)
@given(texts, texts)
def test_an_escaped_text_matches_itself_alone(text: str, other: str) -> None:
    """Every character can be written as itself or escaped, in and out of classes, and then stands for itself."""
    escaped = "".join(f"\\u{{{ord(char):X}}}" for char in text)

    assert matches(f"^{escaped}$", text)
    assert (other == text) is matches(f"^{escaped}$", other)


@sampled(300, 20000)
@given(st.characters(exclude_categories=["Cs"]), st.characters(exclude_categories=["Cs"]))
def test_a_character_in_a_class_stands_for_itself(inside: str, other: str) -> None:
    """No character means more in a class of the engine than it does in the contract."""
    escape = "\\" if inside in "\\^]-" else ""
    pattern = f"^[{escape}{inside}]$"

    assert matches(pattern, inside)
    assert (other == inside) is matches(pattern, other)


@sampled(300, 20000)
@given(st.text(alphabet="ab01.*+?|()[]{}^$\\-,:=!<>dDwWsSbBu/_ ", max_size=12))
def test_a_pattern_is_translated_or_refused(pattern: str) -> None:
    """Whatever a contract writes, the answer is a pattern that compiles or a ContractError; nothing else escapes."""
    with suppress(ContractError):
        re.compile(translate(RULE, pattern).replace(r"\z", r"\Z"))


@pytest.mark.parametrize(
    "pattern",
    [
        "a**",
        "^*",
        "(?i)a",
        "(?<=a)b",
        r"\k<a>",
        r"\p{L}",
        r"\1",
        r"\01",
        "[a",
        "[a-",
        r"[\d-z]",
        "(",
        ")",
        r"\uD83D",
        "\\",
        "a{2,1}",
        "(" * 51 + ")" * 51,
        "a[ab]{0,200}b[ab]{0,200}c",
        "x(?=.*y)z",
    ],
)
def test_an_untranslatable_pattern_is_refused(pattern: str) -> None:
    """A pattern that has another meaning in the engine is refused."""
    with pytest.raises(ContractError, match="the pattern cannot be used"):
        translate(RULE, pattern)


def test_a_pattern_has_a_longest_length() -> None:
    """Patterns are bounded in length."""
    longest = f"^{'a' * (LONGEST - 1)}"

    assert translate(RULE, longest) == longest
    with pytest.raises(ContractError, match="at most 1,024 characters"):
        translate(RULE, f"{longest}a")


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("^SKU[0-9]{4", r"the `{` at character 10 begins no quantifier: write `{4}` or `\{`"),
        ("a{1, 5}", r"the `{` at character 2 begins no quantifier: write `{1,5}` or `\{`"),
        ("^SKU[0-9{4}$", "the character class that opens at character 5 is not closed: add `]`"),
        ("^(SKU$", "the group that opens at character 2 is not closed: add `)`"),
        ("^SKU)$", r"`)` at character 5 closes no group: remove it, or write `\)`"),
    ],
)
def test_an_unclosed_bracket_is_refused_with_its_position(pattern: str, message: str) -> None:
    """A pattern with an unclosed bracket is refused, with the position in the message."""
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        rewritten(pattern)
