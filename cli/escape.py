"""Text of contracts, files and data where it is shown: on a terminal it moves no cursor, in Markdown it forms no syntax."""

from __future__ import annotations

MARKDOWN = str.maketrans(
    {character: f"\\{character}" for character in "\\`*_{}[]()#+-.!|~"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
)


def escaped(text: str) -> str:
    r"""The text with every character that is not printed written as an escape (`\x1b`, `\u202e`), tabs as spaces."""
    return "".join(each if each.isprintable() else _escaped(each) for each in text)


def markdown(text: str) -> str:
    """The text without syntax of Markdown or HTML; an invisible character keeps it from mentioning people and from linking."""
    return escaped(text).translate(MARKDOWN).replace("@", "@\u200b").replace("://", ":\u200b//")


def _escaped(character: str) -> str:
    return "  " if character == "\t" else character.encode("unicode_escape", "surrogatepass").decode("ascii")
