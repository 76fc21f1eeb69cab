"""Writes YAML with comments. Every text is escaped: nothing of a file can end its value, its comment or its line.

A plain text is written plainly only if no parser of YAML 1.1 or 1.2 reads another type or any syntax in it; every other text is
double-quoted, with escapes for whatever does not print (YAML 1.2 §5.7).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from lakegate.contract.documents.read_document import LONGEST_NUMBER

Scalar = str | int | Decimal | None
LONGEST_NOTE = 160
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*(?: [A-Za-z0-9_(-][A-Za-z0-9_().-]*)*")
_WORDS = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"])
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_LONGEST_ESCAPE_OF_TWO, _LONGEST_ESCAPE_OF_FOUR = 0xFF, 0xFFFF


@dataclass(frozen=True, slots=True)
class YamlEntry:
    """A key of a mapping, its value, and a comment beside it."""

    key: str
    value: Node
    note: str = ""


@dataclass(frozen=True, slots=True)
class Remark:
    """A comment on a line of its own."""

    text: str


@dataclass(frozen=True, slots=True)
class Mapping:
    """A mapping in block style."""

    entries: Sequence[YamlEntry | Remark]


@dataclass(frozen=True, slots=True)
class Items:
    """A sequence in block style."""

    items: Sequence[Node | Remark]


@dataclass(frozen=True, slots=True)
class Flow:
    """A list of scalars in one line."""

    items: Sequence[Scalar]


Node = Scalar | Mapping | Items | Flow


def write_document(top: Mapping) -> str:
    """The document of a mapping, with a final line feed."""
    return "".join(f"{line}\n" for line in _lines(top, 0))


def nodes(node: Node) -> int:
    """The number of nodes (mappings, sequences, keys and scalars) of a value: the limit of a document counts them."""
    match node:
        case Mapping(entries):
            return 1 + sum(1 + nodes(entry.value) for entry in entries if isinstance(entry, YamlEntry))
        case Items(items):
            return 1 + sum(nodes(item) for item in items if not isinstance(item, Remark))
        case Flow(items):
            return 1 + len(items)
        case _:
            return 1


def scalar(value: Scalar) -> str:
    """A scalar on one line; a text is read as the same text by every parser, a number within the limits of documents."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if not isinstance(value, str):
        plain = f"{value:f}" if isinstance(value, Decimal) else str(value)
        return plain if len(plain) <= LONGEST_NUMBER else f"{value:E}"
    is_plain = _PLAIN.fullmatch(value) is not None and value.casefold() not in _WORDS
    return value if is_plain else f'"{"".join(map(_escape_character, value))}"'


def comment(text: str) -> str:
    """A comment on one line: what does not print is escaped."""
    shown = "".join(entry if entry.isprintable() else _escape_character(entry) for entry in text)
    return f"# {shown if len(shown) <= LONGEST_NOTE else shown[:LONGEST_NOTE] + '…'}"


def _escape_character(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    if code <= _LONGEST_ESCAPE_OF_TWO:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= _LONGEST_ESCAPE_OF_FOUR else f"\\U{code:08x}"


def _lines(node: Mapping | Items, depth: int) -> Iterator[str]:
    indent = "  " * depth
    if isinstance(node, Mapping):
        for entry in node.entries:
            yield from (f"{indent}{line}" for line in _entry(entry))
        return
    for item in node.items:
        if isinstance(item, Remark):
            yield f"{indent}{comment(item.text)}"
        elif isinstance(item, Mapping | Items) and not _is_empty(item):
            first, *rest = _lines(item, 0)
            yield f"{indent}- {first}"
            yield from (f"{indent}  {line}" for line in rest)
        else:
            yield f"{indent}- {_inline(item)}"


def _entry(entry: YamlEntry | Remark) -> Iterator[str]:
    if isinstance(entry, Remark):
        yield comment(entry.text)
        return
    note = f"  {comment(entry.note)}" if entry.note else ""
    if isinstance(entry.value, Mapping | Items) and not _is_empty(entry.value):
        yield f"{scalar(entry.key)}:{note}"
        yield from _lines(entry.value, 1)
    else:
        yield f"{scalar(entry.key)}: {_inline(entry.value)}{note}"


def _is_empty(value: Mapping | Items) -> bool:
    return not (value.entries if isinstance(value, Mapping) else value.items)


def _inline(value: Node) -> str:
    match value:
        case Mapping():
            return "{}"
        case Items():
            return "[]"
        case Flow(items):
            return f"[{', '.join(map(scalar, items))}]"
        case _:
            return scalar(value)


def for_editors(version: str) -> tuple[Remark, Remark]:
    """The first lines of a document of ODCS: the file with its schema, for the YAML language server, and how to write it."""
    form = f"odcs-{version.removeprefix('v')}"
    file = f"lakegate-{form}.schema.json"
    return (
        Remark(f"yaml-language-server: $schema={file}"),
        Remark(f"An editor completes and checks this document by that file: lakegate schema {form} --output {file}"),
    )
