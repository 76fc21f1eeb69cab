"""Detection of patterns that backtracking engines do not match in linear time."""

from __future__ import annotations

import os
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakegate.lints.pattern_lints import LONGEST_EXAMINED_PATTERN, superlinear

FULL = 5_000 if os.environ.get("LAKEGATE_FULL") else 200
REPEATS = "repeats what already repeats"
ALIKE = "repeats alternatives that begin alike"
BESIDE = "has two repeats side by side that share a character"
SLOW = {
    r"(a+)+": REPEATS,
    r"(a*)*": REPEATS,
    r"(.*)*": REPEATS,
    r"^(\w+\s?)*$": REPEATS,
    r"(a|aa)+": REPEATS,
    r"(a|a?)+": REPEATS,
    r"(x+x+)+y": BESIDE,
    r"((ab)*)*": REPEATS,
    r"^(([a-z])+.)+[A-Z]([a-z])+$": REPEATS,
    r"(\d+|\d+x)+": REPEATS,
    r"(a?){20}": REPEATS,
    r"(?:a+b?)+": REPEATS,
    r"([^a]+b?)*": REPEATS,
    r"(foo|[a-g]oo)*": ALIKE,
    r"([a-z]|[a-f])*": ALIKE,
    r"(?=(a|b)*)((x|[x-z])*)": ALIKE,
    r"\d+\d*": BESIDE,
    r".*.*x": BESIDE,
    r"[^a]*[^b]*": BESIDE,
    r"a*b?a*": BESIDE,
    r"\s+(?=x)\s*": BESIDE,
    r"(?:ab*)b{0,20}c": BESIDE,
    "a" * (LONGEST_EXAMINED_PATTERN + 1): f"has more than {LONGEST_EXAMINED_PATTERN} characters",
}
FAST = (
    *("", "abc", r"^ORD-[0-9]{8}$", r"^[^@\s]+@[^@\s]+\.[a-z]{2,}$", r"([a-z]+\.)+", r"^([A-Z]{2,3}-){1,3}$"),
    *(
        r"^(a|b)*$",
        r"(a|ab)*",
        r"a{1,1000}b{1,1000}",
        r"(?:[a-z0-9]+)(?:-[a-z0-9]+)*",
        r"^\$?\d{1,3}(,\d{3})*(\.\d{2})?$",
    ),
    *(
        r"(?:foo|bar)+baz",
        r"(?:^ab)*",
        r"[^\u0000-a]*b",
        r"[^\D]*a",
        r"(?!a+)b*",
        r"(?:(?!x)[a-y]z)+",
        r"[^a]+a[^a]*",
        r"\d+\D+",
        r"(a{1,3}){1,3}",
        r"^\b\w+\b$",
        r"([^b]b)*",
        "(",
        "(?i)a",
    ),
)
PIECES = st.sampled_from(["a", "b", "[ab]", "[^a]", ".", r"\d", "(?:a|b)", "(?:a|ab)", "(?:a+b)", "(?:ab?)", "c"])
REPEAT = st.sampled_from(["", "", "+", "*", "?", "{0,12}", "{2}"])
PATTERNS = st.lists(st.tuples(PIECES, REPEAT).map("".join), min_size=1, max_size=3).map("".join)
LENGTH = 22
MAX_STEPS = 400_000


@pytest.mark.parametrize("pattern", SLOW)
def test_a_slow_pattern_is_reported(pattern: str) -> None:
    """Each kind of ambiguous repeat is found at any position in a pattern, with its reason."""
    assert SLOW[pattern] == superlinear(pattern)


@pytest.mark.parametrize("pattern", FAST)
def test_a_linear_pattern_is_not_reported(pattern: str) -> None:
    """Usual patterns of contracts give no warning; nor do patterns that are refused anyway."""
    assert superlinear(pattern) is None


def steps(items: list[tuple[str, int, int]], text: str) -> int:
    """The number of steps of a backtracking engine that matches repeats of single classes, counted up to a bound."""
    count = 0

    def match(at: int, item: int) -> None:
        nonlocal count
        if item == len(items) or count > MAX_STEPS:
            return
        characters, low, high = items[item]
        end = at
        while end < len(text) and end - at < high and re.fullmatch(characters, text[end]):
            end += 1
        for stop in range(end, at + low - 1, -1):
            count += 1
            match(stop, item + 1)

    match(0, 0)
    return count


ITEMS = st.lists(
    st.tuples(st.sampled_from(["[a]", "[b]", "[ab]", "[^a]"]), st.sampled_from([(0, 99), (1, 99)])),
    min_size=1,
    max_size=5,
)


@settings(max_examples=FULL, deadline=None)
@given(ITEMS, st.sampled_from(["a", "b", "ab", "aab"]))
def test_unreported_repeats_need_few_steps(items: list[tuple[str, tuple[int, int]]], text: str) -> None:
    """A sequence of repeats that is not reported is matched in few steps for any length of text."""
    flat = [(characters, low, high) for characters, (low, high) in items]
    pattern = "".join(f"{characters}{{{low},{high}}}" for characters, low, high in flat)
    subject = (text * LENGTH)[:LENGTH]
    if superlinear(pattern) is None:
        assert steps(flat, subject) <= (LENGTH + 1) * 2 ** len(flat)


@settings(max_examples=FULL, deadline=None)
@given(PATTERNS, REPEAT)
def test_any_pattern_is_analysed(pattern: str, repeat: str) -> None:
    """Any pattern gives a reason or None; a body that is reported is reported inside a group too."""
    whole = f"(?:{pattern}){repeat}"
    inner = superlinear(pattern)

    assert inner is None or superlinear(whole) is not None
