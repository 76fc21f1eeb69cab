"""P11 natively: no pattern that a contract may hold, and none of our own, can be kept busy by a value of a mebibyte."""

from __future__ import annotations

import time

import pytest

from lakegate.engine.evaluate.pattern_search import Search, searches_of, sql
from lakegate.patterns.date_formats import compile_format, compile_java_format
from lakegate.patterns.ecma_patterns import rewritten
from lakegate.rules.field_constraints import TEXT_FORMS
from tests.deliveries.database import connection
from tests.security.exploding import MEBIBYTE, Exploding, sample

MAX_SECONDS = 1
OWN = {name: form.pattern for name, form in TEXT_FORMS.items()} | {
    **{
        written: compile_format(written)
        for written in ("%Y-%m-%d", "%H:%M", "%d%m%y%H%M%S", "%B %d, %Y %I:%M %p", "%Y %d %m %H", "%S%f", "%d %b")
    },
    "dd MMM yyyy": compile_java_format("dd MMM yyyy"),
}
PUMPS = ("a", "1", " ", "a.", "1:", ":", "-a", "1 ", "é", "00", "2020-01-01", "::1:", "1 1")
LOOKING = (
    "a+(?!bc)d",
    "(?=a)[^z]b",
    r"x(?!.{0,20}y)",
    r"\w(?=[a-f]{1,20}1)\w",
    r"(?:a(?!bb)|b(?!aa))[ab]!",
    r"\b(?!ab)\w\w\w\b",
    "(?=[ab]{1,40}c)[ab]x",
    "(?=(?:a|bb){1,5}z)[ab]x",
)
"""Patterns of which Python's `re` searches a part."""


def seconds(pattern: str, text: str) -> float:
    """Time of a processor that a search takes."""
    found = sql(pattern, "x")
    began = time.process_time()
    connection().execute(f"SELECT {found} FROM (SELECT unnest(?::VARCHAR[]) AS x)", [[text]]).fetchall()  # noqa: S608 - what is tested
    return time.process_time() - began


@pytest.mark.parametrize("each", sample(40), ids=lambda each: each.pattern)
def test_no_attack_takes_a_second(each: Exploding) -> None:
    """A mebibyte of each attack of the corpus is searched within a second, or its pattern is refused."""
    try:
        pattern = rewritten(each.pattern)
        searches_of(pattern)
    except ValueError:
        return
    assert seconds(pattern, each.mebibyte) < MAX_SECONDS


@pytest.mark.parametrize("name", OWN)
def test_our_own_patterns_take_no_second(name: str) -> None:
    """Forms of text and formats of dates end within a second with a mebibyte of whatever repeats."""
    for pump in PUMPS:
        many = pump * ((MEBIBYTE - 100) // len(pump.encode()))

        assert max(seconds(OWN[name], f"a@{many}!"), seconds(OWN[name], f"{many}!")) < MAX_SECONDS


@pytest.mark.parametrize("written", LOOKING)
def test_what_is_left_to_python_takes_no_second(written: str) -> None:
    """Patterns with look-aheads in the middle, within the bound of their steps, end within a second too."""
    pattern = rewritten(written)

    assert any(isinstance(each, Search) and each.backtracks for each in searches_of(pattern))
    for pump in ("a", "ab", "abb", "aab", "x", "f", "xa"):
        assert seconds(pattern, pump * ((MEBIBYTE - 100) // len(pump)) + "!") < MAX_SECONDS
