"""Text of contracts, files and data where it is shown: on a terminal it moves no cursor, in Markdown it forms no syntax."""

from __future__ import annotations

from lakegate.contracts.words import printable as escaped

__all__ = ["escaped", "markdown"]

MARKDOWN = str.maketrans(
    {character: f"\\{character}" for character in "\\`*_{}[]()#+-.!|~"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
)


def markdown(text: str) -> str:
    """The text without syntax of Markdown or HTML; an invisible character keeps it from mentioning people and from linking."""
    return escaped(text).translate(MARKDOWN).replace("@", "@\u200b").replace("://", ":\u200b//")
