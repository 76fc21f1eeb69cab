"""Patterns of contracts and texts for them, drawn at random: dense in what engines read differently or take long for."""

from __future__ import annotations

from hypothesis import strategies as st

ALPHABET = "aab1_ -.é😀\n\u2028"
texts = st.text(ALPHABET, max_size=12)
_CLASSES = (
    "a",
    "b",
    "é",
    "😀",
    ".",
    "[ab]",
    "[^a]",
    "[^é]",
    r"[\s-]",
    r"[^\w]",
    r"\d",
    r"\D",
    r"\w",
    r"\W",
    r"\s",
    r"\S",
)
_PLACES = (r"\b", r"\B", "^", "$", "(?!)", "[]", "[^]", "(?:)")
_COUNTS = ("*", "+", "?", "*?", "+?", "{2}", "{0,3}", "{1,}", "{2,4}?", "{0}")


def _longer(pattern: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("{}{}".format, pattern, pattern),
        st.builds("(?:{}|{})".format, pattern, pattern),
        st.builds("({}){}".format, pattern, st.sampled_from(_COUNTS)),
    )


_plain = st.recursive(
    st.one_of(
        st.sampled_from(_CLASSES),
        st.builds("{}{}".format, st.sampled_from(_CLASSES), st.sampled_from(_COUNTS)),
        st.sampled_from(_PLACES),
    ),
    _longer,
    max_leaves=8,
)
_looks = st.lists(st.builds("(?{}{})".format, st.sampled_from("=!"), _plain), min_size=1, max_size=2).map("".join)
patterns = st.one_of(
    _plain,
    _plain.map("^{}$".format),
    st.builds("{}|{}".format, _plain, _plain),
    st.builds("^{}{}".format, _looks, _plain),
)
"""Patterns of ECMA-262; a few cannot be used and are refused."""
