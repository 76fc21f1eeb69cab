"""Text of contracts, files and data on a terminal: whatever it holds, it moves no cursor and hides nothing."""

from __future__ import annotations


def escaped(text: str) -> str:
    r"""The text with every character that is not printed written as an escape (`\x1b`, `\u202e`), tabs as spaces."""
    return "".join(each if each.isprintable() else _escaped(each) for each in text)


def _escaped(character: str) -> str:
    return "  " if character == "\t" else character.encode("unicode_escape", "surrogatepass").decode("ascii")
