"""Reads untrusted YAML or JSON with limits; every node has its line and column.

Refused with a located `ContractError`: more than 1 MiB, more than 32 levels, more than 50,000 nodes (aliases and merge keys
counted as often as they are used), tags, duplicate keys, keys that are not plain texts, several documents, numbers beyond
any use, invisible characters, anything but UTF-8.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import lru_cache
from typing import NoReturn

import yaml

from lakegate.base.errors import ContractError, Problem
from lakegate.contract.documents.document_tree import Document, Mark, Node, Scalar, Step, address
from lakegate.contract.documents.syntax_mistakes import mark_of, mistake_of

# ---- Types of unquoted texts ----
# This is the core schema of YAML 1.2 without octal, hexadecimal and infinite numbers and leading zeros: `NO`, `12:30`, `010`
# and `2024-01-01` are texts, as in JSON.


LONGEST_NUMBER = 100
"""Characters; longer numbers are refused, because exact arithmetic with them is too slow."""
LARGEST_EXPONENT = 400
"""Larger than the range of 64-bit floats; without a limit, exact arithmetic could exhaust the memory."""
WORDS: dict[str, bool | None] = {
    "": None,
    "~": None,
    **dict.fromkeys(("null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}

NUMBER = re.compile(r"[-+]?(?:(?P<whole>0|[1-9][0-9]*)(?P<part>\.[0-9]*)?|\.[0-9]+)(?:[eE](?P<exponent>[-+]?[0-9]+))?")


class TooLargeError(ValueError):
    """A number exceeds the limits."""


def meaning(text: str) -> Scalar:
    """The value of an unquoted text; TooLargeError for a number that exceeds the limits."""
    if text in WORDS:
        return WORDS[text]
    number = NUMBER.fullmatch(text)
    if number is None:
        return text
    if len(text) > LONGEST_NUMBER or abs(int(number["exponent"] or 0)) > LARGEST_EXPONENT:
        raise TooLargeError
    whole = number["whole"] is not None and number["part"] is None and number["exponent"] is None
    return int(text) if whole else Decimal(text)


# ---- Nodes from events of the parser ----
# An explicit stack replaces recursion, and a document that grows too large is refused at the event that exceeds the limit.


DEEPEST_LEVEL = 32
MAX_NODES = 50_000
MOST_CHARACTERS = 4 << 20
"""Of a document with its aliases, references and variables expanded: four times the longest document."""
LONGEST_KEY = 256
MAX_PROBLEMS = 100
MERGE = "<<"


def too_long(what: str) -> str:
    """The message for a document that is too long when something in it is expanded."""
    return f"The {what} of the document lead to more than {MOST_CHARACTERS:,} characters: use fewer."


def size_of_node(node: Node, inner: Sequence[Node]) -> Node:
    """The node with the size, the depth and the characters of what is in it."""
    return replace(
        node,
        size=1 + sum(entry.size for entry in inner),
        depth=1 + max((entry.depth for entry in inner), default=0),
        characters=sum(entry.characters for entry in inner),
    )


@dataclass(slots=True)
class _Open:
    """An open mapping or sequence; the nodes of a mapping alternate between keys and values."""

    mark: Mark
    mapping: bool
    anchor: str | None
    nodes: list[Node] = field(default_factory=list)

    @property
    def step(self) -> Step:
        """The step from here to the next node (for a key: the last key)."""
        if not self.mapping:
            return len(self.nodes)
        return self.nodes[(len(self.nodes) - 1) // 2 * 2].written[:LONGEST_KEY] if self.nodes else ""


@dataclass(slots=True)
class Composer:
    """Builds nodes from events, and counts them with all aliases expanded."""

    root: Node | None = None
    problems: list[Problem] = field(default_factory=list)
    stack: list[_Open] = field(default_factory=list)
    anchors: dict[str, Node] = field(default_factory=dict)
    aliased: set[Mark] = field(default_factory=set)
    count: int = 0
    characters: int = 0

    def take(self, event: yaml.Event) -> None:
        """Process the next event of the parser."""
        match event:
            case yaml.ScalarEvent():
                self._check_tag(event)
                self._add(self._scalar(event), event.anchor, characters=len(event.value))
            case yaml.AliasEvent():
                position = mark_of(event.start_mark)
                if event.anchor not in self.anchors:
                    self.refuse("unknown-alias", "The alias names nothing that is complete above it.", position)
                node = self.anchors[event.anchor]
                self.aliased.add(node.mark)
                self._check_depth(len(self.stack) + node.depth, position)
                self._add(node, None, node.size, node.characters)
            case yaml.CollectionStartEvent():
                self._check_tag(event)
                mark = mark_of(event.start_mark)
                self._check_depth(len(self.stack) + 1, mark)
                self.stack.append(_Open(mark, isinstance(event, yaml.MappingStartEvent), event.anchor))
            case yaml.CollectionEndEvent():
                done = self.stack.pop()
                self._add(self._close_node(done), done.anchor)
            case yaml.DocumentStartEvent() if self.root is not None:
                self.refuse("several-documents", "Keep one contract in one document.", mark_of(event.start_mark))
            case _:
                pass

    def refuse(self, code: str, message: str, mark: Mark) -> NoReturn:
        """Stop with an error: the rest cannot be read reliably."""
        self._note(code, message, mark)
        raise ContractError(tuple(self.problems))

    def _note(self, code: str, message: str, mark: Mark, *steps: Step) -> None:
        path = address((*(entry.step for entry in self.stack), *steps))
        self.problems.append(Problem(code, path, mark.line, message, mark.column))
        if len(self.problems) == MAX_PROBLEMS:
            raise ContractError(tuple(self.problems))

    def _check_tag(self, event: yaml.ScalarEvent | yaml.CollectionStartEvent) -> None:
        if event.tag is not None:
            self._note("tag", "Tags (`!…`) are not allowed: remove it.", mark_of(event.start_mark))

    def _scalar(self, event: yaml.ScalarEvent) -> Node:
        mark, bare = mark_of(event.start_mark), bool(event.implicit[0])
        value: Scalar = event.value
        if bare:
            try:
                value = meaning(event.value)
            except TooLargeError:
                self._note("number-too-large", "The number is longer or larger than any contract needs.", mark)
        return Node(mark, value, {}, event.value, bare, characters=len(event.value))

    def _check_depth(self, depth: int, mark: Mark) -> None:
        if depth > DEEPEST_LEVEL:
            self.refuse("too-deep", f"The document has more than {DEEPEST_LEVEL} levels: flatten it.", mark)

    def _add(self, node: Node, anchor: str | None, weight: int = 1, characters: int = 0) -> None:
        self.count += weight
        self.characters += characters
        if self.count > MAX_NODES:
            self.refuse("too-many-nodes", f"The document has more than {MAX_NODES:,} values: split it.", node.mark)
        if self.characters > MOST_CHARACTERS:
            self.refuse("document-too-large", too_long("aliases"), node.mark)
        if anchor is not None:
            self.anchors[anchor] = node
        if self.stack:
            self.stack[-1].nodes.append(node)
        else:
            self.root = node

    def _close_node(self, done: _Open) -> Node:
        if not done.mapping:
            return size_of_node(Node(done.mark, tuple(done.nodes), {}), done.nodes)
        content: dict[str, Node] = {}
        keys: dict[str, Mark] = {}
        merged: list[Node] = []
        for key, value in zip(done.nodes[::2], done.nodes[1::2], strict=True):
            if key.bare and key.written == MERGE:
                merged += self._mappings(value, key.mark)
            elif self._key_is_good(key, keys):
                content[key.written], keys[key.written] = value, key.mark
        for source in merged:
            for name, value in _entries_of(source):
                content.setdefault(name, value)
                keys.setdefault(name, source.keys[name])
        return size_of_node(Node(done.mark, content, keys), done.nodes)

    def _mappings(self, value: Node, mark: Mark) -> list[Node]:
        sources = value.content if isinstance(value.content, tuple) else (value,)
        if not all(isinstance(source.content, Mapping) for source in sources):
            self._note("merge-of-no-mapping", "`<<` takes a mapping or a list of mappings: merge those.", mark)
            return []
        return list(sources)

    def _key_is_good(self, key: Node, keys: Mapping[str, Mark]) -> bool:
        if isinstance(key.content, tuple | Mapping) or len(key.written) > LONGEST_KEY:
            message = f"A key is one text of at most {LONGEST_KEY:,} characters."
            if isinstance(key.content, Mapping):
                message = "Braces open a mapping, whose keys are texts: put a value such as `'{{ title }}'` in quotes."
            self._note("key-not-plain", message, key.mark)
            return False
        if key.written in keys:
            first = keys[key.written].line
            self._note("duplicate-key", f"The key stands on line {first} already: keep one.", key.mark, key.written)
            return False
        return True


def _entries_of(node: Node) -> Iterator[tuple[str, Node]]:
    yield from node.content.items() if isinstance(node.content, Mapping) else ()


# ---- Documents ----


LARGEST_BYTES = 1 << 20
KEPT = 4
"""Documents that are kept after they were read: a command reads one, those that it inherits from, and the version before."""
_UNSEEN = "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
"""Compiled for a document beyond ASCII only: that takes 8 ms."""
_UNSEEN_OF_ASCII = re.compile("[^\t\n\r\x20-\x7e]")
_COMMENTS = re.compile(
    r"""
      "(?:[^"\\\n]|\\.)*" | '(?:[^'\n]|'')*' | (?<!\S)\#[^\n]*
    | (?<![^\s,{}\[\]]) (?P<comment>//|/\*)
    """,
    re.VERBOSE,
)
"""Texts in quotes and comments of YAML, and where comments of JSON begin outside of them."""
_PAIR = re.compile(r"(?<!\\)((?:\\\\)*)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")


@lru_cache(KEPT)
def document_of(text: bytes) -> Document:
    """The parsed document; the same bytes are parsed once, whoever asks. ContractError with all its problems."""
    return parse(text)


def parse(text: bytes) -> Document:
    """Parse a text, or a part of a document; ContractError with all its problems."""
    decoded = _decode_text(text)
    _refuse_comments(decoded)
    composer = Composer()
    try:
        for event in yaml.parse(_pair_escapes(decoded), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            composer.take(event)
    except yaml.MarkedYAMLError as error:
        words, mark = mistake_of(error, decoded)
        composer.refuse("syntax", f"This is neither YAML nor JSON: {words}.", mark)
    if composer.root is None:
        composer.refuse("empty-document", "The document is empty: write a contract into it.", Mark(1, 1))
    if composer.problems:
        raise ContractError(tuple(sorted(composer.problems, key=lambda problem: problem.line or 0)))
    return Document(composer.root, tuple(decoded.splitlines()), text, aliased=frozenset(composer.aliased))


def _decode_text(text: bytes) -> str:
    if len(text) > LARGEST_BYTES:
        _refuse_document("document-too-large", 1, f"The document has more than {LARGEST_BYTES:,} bytes: split it.")
    try:
        decoded = text.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        _refuse_document("not-utf-8", line, f"Byte {error.start + 1} is not UTF-8: save the document as UTF-8.")
    unseen = _UNSEEN_OF_ASCII.search(decoded) if decoded.isascii() else re.search(_UNSEEN, decoded)
    if unseen is not None:
        line = len(decoded[: unseen.start() + 1].splitlines())
        _refuse_document(
            "unseen-character", line, f"The character U+{ord(unseen[0]):04X} may not stand in a document: remove it."
        )
    return decoded


def _refuse_comments(text: str) -> None:
    """ContractError for a document of JSON with comments, which YAML would read as keys and values."""
    if not text.lstrip().startswith(("{", "[", "//", "/*")) or ("//" not in text and "/*" not in text):
        return
    match = next((entry for entry in _COMMENTS.finditer(text) if entry["comment"]), None)
    if match is not None:
        line = text.count("\n", 0, match.start("comment")) + 1
        words = "JSON has no comments: remove them, or write YAML, whose comments begin with `#`"
        _refuse_document("syntax", line, f"This is neither YAML nor JSON: {words}.")


def _refuse_document(code: str, line: int, message: str) -> NoReturn:
    raise ContractError((Problem(code, "$", line, message),))


def _pair_escapes(text: str) -> str:
    r"""JSON writes characters beyond U+FFFF as two escapes (`\ud83d\ude00`), which YAML's own escapes do not know."""
    return _PAIR.sub(_join_escapes, text) if text.lstrip().startswith(("{", "[")) else text


def _join_escapes(pair: re.Match[str]) -> str:
    return pair[1] + (bytes.fromhex(pair[2]) + bytes.fromhex(pair[3])).decode("utf-16-be")
