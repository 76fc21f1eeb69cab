"""The compiled pattern of a date format agrees with Python's `datetime.strptime`, whatever the format and the text."""

from __future__ import annotations

import re
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.patterns.date_formats import compile_format
from tests.reference.sampling import sampled
from tests.unit.patterns.strptime import reads

SEPARATORS = st.sampled_from(["-", "/", ":", ".", " ", "T", "", "  ", "[", "年", "%%"])
NUMBERS = {"Y": 9999, "y": 99, "m": 13, "d": 32, "H": 25, "I": 13, "M": 61, "S": 62, "f": 10**7}
WORDS = {"b": "Jan Feb FEB Apr Jun Dec Foo", "B": "January february June September Dec", "p": "am PM xm"}
PARTS = ("Yy", "mbB", "d", "HI", "M", "S", "f", "p")


@st.composite
def formats(draw: st.DrawFn) -> str:
    parts = draw(st.permutations(PARTS))[: draw(st.integers(1, 6))]
    return "".join(f"%{draw(st.sampled_from(part))}{draw(SEPARATORS)}" for part in parts)


def written(draw: st.DrawFn, directive: str) -> str:
    """A text for a directive that is often right and often just wrong."""
    if directive == "%":
        return "%"
    if directive in WORDS:
        return draw(st.sampled_from(WORDS[directive].split()))
    favourites = [0, 1, 2, 4, 9, 11, 12, 28, 29, 30, 31, 59, 60, 61, 1900, 2000, 2023, 2024]
    number = draw(st.sampled_from(favourites) | st.integers(0, NUMBERS[directive]))
    return format(number, draw(st.sampled_from(["04d"] if directive == "Y" else ["02d", "02d", "d", "2d"])))


@st.composite
def formats_and_texts(draw: st.DrawFn) -> tuple[str, str]:
    wanted = draw(formats())
    text = re.sub(r"%(.)", lambda found: written(draw, found[1]), wanted)
    return wanted, text + draw(st.sampled_from(["", "", "", "", " ", "1", "\n"]))


def matches(text: str, wanted: str) -> bool:
    return re.search(compile_format(wanted).replace(r"\z", r"\Z"), text, re.ASCII) is not None


@sampled(150, 20000)
@given(formats_and_texts())
def test_a_compiled_format_accepts_what_strptime_reads(example: tuple[str, str]) -> None:
    """For right, nearly right and wrong texts alike, the pattern and strptime say the same."""
    wanted, text = example

    assert reads(text, wanted) is matches(text, wanted)


@sampled(200, 20000)
@given(st.dates(), st.sampled_from(["%Y-%m-%d", "%d/%m/%Y", "%Y%m%d", "%d %b %Y", "%B %d %Y"]))
def test_every_date_is_accepted_as_it_is_written(day: datetime, wanted: str) -> None:
    """No day of the calendar is refused in a format that writes it whole."""
    text = day.strftime(wanted) if "%Y" not in wanted else day.strftime(wanted.replace("%Y", f"{day.year:04d}"))

    assert matches(text, wanted)


@pytest.mark.parametrize("year", [1600, 1700, 1900, 2000, 2023, 2024, 2100, 2400, 4, 100, 400, 9996])
def test_the_29th_of_february_follows_the_calendar(year: int) -> None:
    """A year leaps by the rules of 4, 100 and 400."""
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)

    assert is_leap is matches(f"{year:04d}-02-29", "%Y-%m-%d")


@pytest.mark.parametrize("text", ["٢٠٢٤", "\u017fat"])
def test_only_ascii_is_read(text: str) -> None:
    """Narrower than strptime on purpose: digits and letters of other scripts are no dates."""
    assert not matches(text, "%Y")
    assert not matches(text, "SAT")
