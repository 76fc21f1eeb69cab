"""Foreign text in messages: shortened, printable, "did you mean"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from difflib import SequenceMatcher
from fractions import Fraction
from functools import lru_cache
from heapq import nlargest
from itertools import islice, pairwise

# ---- Texts of others: truncated, printable, with hints ----


MAX_SHOWN = 12
LONGEST_SHOWN = 60
MAX_COMPARED = 1_000
"""The most known words that one word is compared with."""
MAX_CANDIDATES = 3
MOST_WORK = 200_000
"""The most comparisons of all hints about one document, or one delivery."""
LETTERS_WORK = 200
"""Comparisons of sets that one comparison of letters counts as."""
MAX_HINTS = 50
"""The most hints of `did_you_mean` about one document."""


@dataclass(slots=True)
class _Budget:
    """The room that is left in a block of `limited_hints`."""

    work: int = MOST_WORK
    hints: int = MAX_HINTS


_left: ContextVar[_Budget | None] = ContextVar("left", default=None)


def quote(value: object) -> str:
    """A text of the document for a message, truncated if it is long."""
    text = str(value)
    return f"`{text[:LONGEST_SHOWN]}…`" if len(text) > LONGEST_SHOWN else f"`{text}`"


def plural(number: int, one: str, many: str = "") -> str:
    """A number and what is counted: `1 row`, `2,000 rows`; `many` is not needed where it is `one` with an s."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def format_limit(limit: object, one: str, rest: str = "") -> str:
    """A limit in words and what is counted, by the last figure: `at least 1 row`, `more than 1 and at most 5 rows`."""
    return f"{limit} {one}{'' if str(limit).split()[-1] == '1' else 's'}{rest}"


@contextmanager
def limit_hints() -> Iterator[None]:
    """Within it, in one thread, all hints together compare at most `MOST_WORK` names: words of documents and files are hostile.

    A block inside of another one has what is left of it.
    """
    if _left.get() is not None:
        yield
        return
    token = _left.set(_Budget(MOST_WORK, MAX_HINTS))
    try:
        yield
    finally:
        _left.reset(token)


@contextmanager
def without_hints() -> Iterator[None]:
    """Within it, in one thread, no hint is searched for: problems that are found are those of somebody else."""
    token = _left.set(_Budget(0, 0))
    try:
        yield
    finally:
        _left.reset(token)


def closest(word: str, known: Iterable[str], cutoff: float = 0.7) -> str | None:
    """The most similar of the known words; None if none is similar, or if all hints of the block were given.

    Each comparison is one of sets of letters; only the best candidates are compared letter by letter.
    """
    left = _left.get() or _Budget()
    candidates = list(islice(known, min(MAX_COMPARED, max(left.work, 0))))
    left.work -= len(candidates)
    parts = _parts(word)
    best = nlargest(MAX_CANDIDATES, candidates, key=lambda each: _alike(parts, _parts(each)))
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(word[:LONGEST_SHOWN])
    found: list[tuple[float, str]] = []
    for each in best:
        matcher.set_seq1(each[:LONGEST_SHOWN])
        if left.work > 0 and matcher.quick_ratio() >= cutoff:
            left.work -= LETTERS_WORK
            found.append((matcher.ratio(), each))
    ratio, name = max(found, default=(0.0, ""), key=lambda pair: pair[0])
    return name if found and ratio >= cutoff else None


@lru_cache(maxsize=4096)
def _parts(word: str) -> frozenset[str]:
    """The letters of a word, and its pairs of letters."""
    text = word[:LONGEST_SHOWN]
    return frozenset(text) | frozenset(map("".join, pairwise(text)))


def _alike(first: frozenset[str], second: frozenset[str]) -> float:
    return 2 * len(first & second) / (len(first) + len(second) or 1)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint at the most similar known word, as the end of a sentence; empty if none is similar."""
    left = _left.get() or _Budget()
    if not left.hints or left.work <= 0:
        return ""
    left.hints -= 1
    folded = {each.casefold(): each for each in islice(known, MAX_COMPARED)}
    close = closest(word.casefold(), folded)
    return "" if close is None else f" Did you mean `{folded[close]}`?"


def join_words(words: Iterable[object]) -> str:
    """A list of words, truncated if it is long."""
    texts = [quote(word) for word in words]
    return ", ".join(texts[:MAX_SHOWN]) + (", …" if len(texts) > MAX_SHOWN else "")


def printable(text: str) -> str:
    r"""The text with every character that is not printed written as an escape (`\x1b`, `\u202e`), tabs as spaces."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else _escape(each) for each in text)


def _escape(character: str) -> str:
    return "  " if character == "\t" else character.encode("unicode_escape", "surrogatepass").decode("ascii")


# ---- Texts of others on a terminal and in Markdown ----


MARKDOWN = str.maketrans(
    {character: f"\\{character}" for character in "\\`*_{}[]()#+-.!|~"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
)


def markdown(text: str) -> str:
    """The text without syntax of Markdown or HTML; an invisible character keeps it from mentioning people and from linking."""
    return printable(text).translate(MARKDOWN).replace("@", "@\u200b").replace("://", ":\u200b//")


def dataset_name(name: str) -> str:
    """A name as one of a dataset: small letters, digits and `_`."""
    word = re.sub(r"[^a-z0-9]+", "_", name.casefold()).strip("_")[:60].strip("_")
    return word if word and not word[0].isdigit() else f"data_{word}".rstrip("_")


def lasting(seconds: Fraction) -> str:
    """A duration in the largest unit in which it is at least 2: `36 hours`, `3.5 days`."""
    units = ((86_400, "day"), (3_600, "hour"), (60, "minute"))
    size, name = next((unit for unit in units if abs(seconds) >= 2 * unit[0]), (1, "second"))
    return format_limit(f"{float(seconds / size):.4g}", name)


def for_python(pattern: str) -> str:
    r"""A pattern of plans as Python's `re` reads it: the end of the text is `\Z`. A backslash is never written as two."""
    return pattern.replace(r"\z", r"\Z")


# ---- Patterns with stars ----


def matches_pieces(name: str, pieces: list[str]) -> bool:
    """Whether a name matches a pattern, given as the texts between its stars: each is taken where it comes first."""
    first, last = pieces[0], pieces[-1]
    if len(pieces) == 1:
        return name == first
    at, end = len(first), len(name) - len(last)
    if at > end or not name.startswith(first) or not name.endswith(last):
        return False
    for piece in pieces[1:-1]:
        found = name.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return True


def first_paragraph(text: str | None) -> str:
    """The first paragraph of a docstring or a help as one line."""
    return " ".join((text or "").split("\n\n")[0].split())


def sentence(text: str) -> str:
    """The text with a capital first letter."""
    return text[0].upper() + text[1:]


def is_one_of(wanted: Sequence[str] | None, values: Iterable[str]) -> bool:
    """Whether one of the values is wanted, in upper or lower case; without a filter, any is."""
    folded = {value.casefold() for value in values}
    return not wanted or any(each.casefold() in folded for each in wanted)
