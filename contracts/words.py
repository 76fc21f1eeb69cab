"""Texts of others in messages and reports: truncated, printable, with hints at similar words."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_SHOWN = 12
LONGEST_SHOWN = 60
MAX_COMPARED = 1_000
MAX_HINTS = 50
"""Hints that are searched for one document: a search takes up to a twentieth of a second."""
_hints: ContextVar[list[int] | None] = ContextVar("hints", default=None)
"""How many may still be searched; None: any number."""


def shown(value: object) -> str:
    """A text of the document for a message, truncated if it is long."""
    text = str(value)
    return f"`{text[:LONGEST_SHOWN]}…`" if len(text) > LONGEST_SHOWN else f"`{text}`"


@contextmanager
def limited_hints() -> Iterator[None]:
    """Within it, in one thread, only the first hints are searched: for all problems of one document together."""
    if _hints.get() is not None:
        yield
        return
    token = _hints.set([MAX_HINTS])
    try:
        yield
    finally:
        _hints.reset(token)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint at the most similar known word, as the end of a sentence; empty if none is similar."""
    left = _hints.get()
    if left is not None:
        if not left[0]:
            return ""
        left[0] -= 1
    folded = {each.casefold(): each for each in list(known)[:MAX_COMPARED]}
    close = get_close_matches(word.casefold()[:LONGEST_SHOWN], list(folded), n=1, cutoff=0.7)
    return f" Did you mean `{folded[close[0]]}`?" if close else ""


def listed(words: Iterable[object]) -> str:
    """A list of words, truncated if it is long."""
    texts = [shown(word) for word in words]
    return ", ".join(texts[:MAX_SHOWN]) + (", …" if len(texts) > MAX_SHOWN else "")


def printable(text: str) -> str:
    r"""The text with every character that is not printed written as an escape (`\x1b`, `\u202e`), tabs as spaces."""
    return "".join(each if each.isprintable() else _escape(each) for each in text)


def _escape(character: str) -> str:
    return "  " if character == "\t" else character.encode("unicode_escape", "surrogatepass").decode("ascii")
