"""The compiled pattern of one of Java's date formats agrees with `datetime.strptime`, which reads the same in Python's words."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from lakegate.patterns.date_formats import compile_java_format
from tests.reference.sampling import sampled
from tests.unit.patterns.strptime import reads

FORMATS = {
    "dd/MM/yyyy": "%d/%m/%Y",
    "uuuu-MM-dd'T'HH:mm:ss": "%Y-%m-%dT%H:%M:%S",
    "yyyyMMddHHmm": "%Y%m%d%H%M",
    "dd MMM yyyy": "%d %b %Y",
    "MMMM dd yyyy": "%B %d %Y",
    "hh:mm a": "%I:%M %p",
}
WORDS = {
    "b": ["Jan", "Feb", "Apr", "Sep", "Foo"],
    "B": ["January", "February", "June", "May", "Juni"],
    "p": ["AM", "PM", "XM"],
}


@st.composite
def formats_and_texts(draw: st.DrawFn) -> tuple[str, str]:
    """A format and a text of its width, often right and often just wrong."""
    name = draw(st.sampled_from(sorted(FORMATS)))

    def written(found: re.Match[str]) -> str:
        if found[1] in WORDS:
            return draw(st.sampled_from(WORDS[found[1]]))
        if found[1] == "Y":
            return format(draw(st.sampled_from([1900, 2000, 2023, 2024, 1, 9999]) | st.integers(1, 9999)), "04d")
        return format(
            draw(st.sampled_from([0, 1, 2, 4, 9, 11, 12, 13, 24, 28, 29, 30, 31, 59]) | st.integers(0, 99)), "02d"
        )

    text = re.sub("%(.)", written, FORMATS[name])
    return name, text + draw(st.sampled_from(["", "", "", " ", "0", "\n"]))


@sampled(400, 20000)
@given(formats_and_texts())
def test_a_compiled_format_accepts_what_strptime_reads(example: tuple[str, str]) -> None:
    """For right, nearly right and wrong texts of two-digit parts, the pattern and strptime say the same."""
    name, text = example
    matches = re.search(compile_java_format(name).replace(r"\z", r"\Z"), text) is not None
    is_leap_second = re.search(r":6[01]$", text) is not None

    assert matches is (reads(text, FORMATS[name]) and not is_leap_second)
