"""Explains syntax errors of YAML in words: the cause, what to write, and the line where the mistake was made.

The parser names the token that it could not place. For an author that is often too late (a quote is missed at the end of the
text) and in the words of a grammar.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from lakegate.contract.documents.document_tree import Mark

if TYPE_CHECKING:
    import yaml


class SyntaxMistake(NamedTuple):
    """A mistake and its remedy, as a clause, and its place."""

    words: str
    mark: Mark


CONFLICT = ("<<<<<<< ", ">>>>>>> ")
FOREIGN_INDENT = re.compile("[ -]*([\t\u00a0\u2000-\u200a\u202f\u3000])")
SECOND_COLON = re.compile(r"[ -]*[^\s:#][^:#]*:\s+\S")
"""A line up to a colon that stands in a value."""
QUOTED = "a text with such a character stands in quotes"
INDENT = "indent it as the keys or items beside it"
CAUSES = {
    "cannot start any token": f"no value begins with this character: {QUOTED}",
    "unknown escape": "in double quotes a backslash begins an escape, and this is none: put the text in single quotes",
    "alphabetic or numeric": f"`*` begins an alias and `&` an anchor, which have a name: {QUOTED}",
    "comment or": f"`|` and `>` begin a text of several lines: {QUOTED}",
    "chomping": f"`|` and `>` begin a text of several lines: {QUOTED}",
    "end of stream": "the quote that opens here is never closed: close it, or write it twice inside of a text",
    "could not find expected ':'": "this line is neither a key with a colon and a blank after it, nor an item of a list",
    "sequence entries": "a list begins on a line of its own, below its key: `-` stands there, or the text in quotes",
    "mapping keys": f"`?` begins a key: {QUOTED}",
    "node content": f"a value is missing here, or a bracket is not closed: {QUOTED}",
}
"""Explanations, by a part of the message of the parser in C or of the one in Python."""
AT_BEGINNING = ("could not find expected ':'", "unexpected end of stream")
"""Parts of messages whose mistake is where the parser began with the value, not where it stopped."""

OF_BLOCK = ("expected key", "'-' indicator", "<block end>")
OF_INDENT = (*OF_BLOCK, "mapping values", "tab character", "character '\\t'")
"""Parts of messages that the indentation of a line may lead to."""


def mistake_of(error: yaml.MarkedYAMLError, text: str) -> SyntaxMistake:
    """The mistake in a text that the parser refused."""
    lines = text.splitlines()
    conflict = next((number for number, line in enumerate(lines, 1) if line.startswith(CONFLICT)), None)
    if conflict is not None:
        return SyntaxMistake("a merge conflict is not resolved: keep one side, and remove its marks", Mark(conflict, 1))
    problem = str(error.problem)
    is_early = error.context_mark is not None and any(part in problem for part in AT_BEGINNING)
    mark, begin = mark_of(error.context_mark if is_early else error.problem_mark), mark_of(error.context_mark)
    if any(part in problem for part in OF_INDENT):
        for number in (mark.line, mark.line - 1):
            foreign = FOREIGN_INDENT.match("".join(lines[max(0, number - 1) : number]))
            if foreign:
                name = "a tab" if foreign[1] == "\t" else f"the character U+{ord(foreign[1]):04X}"
                return SyntaxMistake(
                    f"the line is indented by {name}: indent by blanks only", Mark(number, len(foreign[0]))
                )
    return SyntaxMistake(_words(problem, begin, "".join(lines[mark.line - 1 : mark.line])[: mark.column - 1]), mark)


def mark_of(mark: object) -> Mark:
    """The parser's mark, from 1; the start of the document if it has none."""
    return Mark(getattr(mark, "line", 0) + 1, getattr(mark, "column", 0) + 1)


def _words(problem: str, begin: Mark, before: str) -> str:
    """The mistake, by the parser's message, where it began with the value, and what is before it in its line."""
    if "mapping values" in problem:
        if SECOND_COLON.match(before):
            return "the value contains a colon that is followed by a blank: put the value in quotes"
        return f"this line continues the value above it: {INDENT}, and write a blank after each colon"
    if "expected ',' or" in problem:
        opened = f"the bracket that opens in line {begin.line}, column {begin.column}"
        return f"a comma is missing here, or {opened}, is not closed: a text with brackets or commas stands in quotes"
    if any(part in problem for part in OF_BLOCK):
        if before.strip(" -"):
            return "more follows what is a whole value, such as a closed quote: put all of the value in quotes"
        return f"this line fits neither the lines above it nor the list or mapping of line {begin.line}: {INDENT}"
    return next((words for part, words in CAUSES.items() if part in problem), problem)
