"""Reads untrusted YAML or JSON with limits; every node has its line and column.

Refused with a located `ContractError`: more than 1 MiB, more than 32 levels, more than 50,000 nodes (aliases and merge keys
counted as often as they are used), tags, duplicate keys, keys that are not plain texts, several documents, numbers beyond
any use, invisible characters, anything but UTF-8. `lakegate.contracts.documents.scalars` defines the types of unquoted texts.

The parser's events are composed with an explicit stack: nesting needs no recursion, and a document that grows too large is
refused at the event that exceeds the limit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn

import yaml

from lakegate.contracts.documents.nodes import Mark, Node, Place, Plain, Step, address, steps_of
from lakegate.contracts.documents.scalars import Scalar, TooLargeError, meaning
from lakegate.contracts.errors import ContractError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

LARGEST_BYTES = 1 << 20
DEEPEST_LEVEL = 32
MOST_NODES = 50_000
LONGEST_KEY = 256
MOST_PROBLEMS = 100
MERGE = "<<"

_UNSEEN = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_PAIR = re.compile(r"(?<!\\)((?:\\\\)*)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")


@dataclass(frozen=True, eq=False)
class Document:
    """A parsed document; documents are compared by identity."""

    root: Node
    lines: tuple[str, ...]
    text: bytes = b""
    """The unchanged bytes of the document, for storage."""

    @cached_property
    def places(self) -> Mapping[str, tuple[Place, ...]]:
        """All places by their last key, in the order of the document; items of a sequence by its key and `[]`."""
        found: dict[str, list[Place]] = {}
        _collect(self.top, "", found)
        return {key: tuple(places) for key, places in found.items()}

    def named(self, *keys: str) -> tuple[Place, ...]:
        """The places under any of these keys; with the suffix `[]`, the items of the sequence there."""
        return tuple(place for key in keys for place in self.places.get(key, ()))

    @property
    def top(self) -> Place:
        """The root place."""
        return Place(self.root, (), self.root.mark)

    def at(self, path: str) -> Place:
        """The place with that address, e.g. `$.quality[3]`; absent if the document has none."""
        place = self.top
        for step in steps_of(path):
            place = place[step]
        return place

    def line(self, path: str) -> int:
        """The line of an address, from 1, or of its nearest existing ancestor."""
        return self.at(path).mark.line

    def without(self, key: str) -> Document:
        """The document without a key of its root."""
        entries = self.root.content
        if not isinstance(entries, Mapping) or key not in entries:
            return self
        return replace(
            self, root=replace(self.root, content={name: node for name, node in entries.items() if name != key})
        )

    def plain(self) -> Plain:
        """The whole document in the plain types of JSON."""
        return self.root.plain()


def _collect(place: Place, name: str, found: dict[str, list[Place]]) -> None:
    found.setdefault(name, []).append(place)
    for each in place.items:
        _collect(each, f"{name}[]", found)
    for key, each in place.entries.items():
        _collect(each, key, found)


def parse(text: bytes) -> Document:
    """Parse a text; ContractError with all its problems."""
    decoded = _decoded(text)
    composer = _Composer()
    try:
        for event in yaml.parse(_paired(decoded), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            composer.take(event)
    except yaml.MarkedYAMLError as error:
        composer.refuse("syntax", f"This is neither YAML nor JSON: {error.problem}.", _mark(error.problem_mark))
    if composer.root is None:
        composer.refuse("empty-document", "The document is empty: write a contract into it.", Mark(1, 1))
    if composer.problems:
        raise ContractError(tuple(sorted(composer.problems, key=lambda problem: problem.line or 0)))
    return Document(composer.root, tuple(decoded.splitlines()), text)


def _decoded(text: bytes) -> str:
    if len(text) > LARGEST_BYTES:
        _refused("document-too-large", 1, f"The document has more than {LARGEST_BYTES:,} bytes: split it.")
    try:
        decoded = text.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        _refused("not-utf-8", line, f"Byte {error.start + 1} is not UTF-8: save the document as UTF-8.")
    unseen = _UNSEEN.search(decoded)
    if unseen is not None:
        line = len(decoded[: unseen.start() + 1].splitlines())
        _refused(
            "unseen-character", line, f"The character U+{ord(unseen[0]):04X} may not stand in a document: remove it."
        )
    return decoded


def _refused(code: str, line: int, message: str) -> NoReturn:
    raise ContractError((Problem(code, "$", line, message),))


def _paired(text: str) -> str:
    r"""JSON writes characters beyond U+FFFF as two escapes (`\ud83d\ude00`), which YAML's own escapes do not know."""
    return _PAIR.sub(_joined, text) if text.lstrip().startswith(("{", "[")) else text


def _joined(pair: re.Match[str]) -> str:
    return pair[1] + (bytes.fromhex(pair[2]) + bytes.fromhex(pair[3])).decode("utf-16-be")


def _mark(mark: object) -> Mark:
    """The parser's mark, from 1; the start of the document if it has none."""
    return Mark(getattr(mark, "line", 0) + 1, getattr(mark, "column", 0) + 1)


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
class _Composer:
    """Builds nodes from events, and counts them with all aliases expanded."""

    root: Node | None = None
    problems: list[Problem] = field(default_factory=list)
    stack: list[_Open] = field(default_factory=list)
    anchors: dict[str, Node] = field(default_factory=dict)
    count: int = 0

    def take(self, event: yaml.Event) -> None:
        """Process the next event of the parser."""
        match event:
            case yaml.ScalarEvent():
                self._check_tag(event)
                self._add(self._scalar(event), event.anchor)
            case yaml.AliasEvent():
                node = self._aliased(event)
                self._add(node, None, node.size)
            case yaml.CollectionStartEvent():
                self._check_tag(event)
                self._open(event)
            case yaml.CollectionEndEvent():
                done = self.stack.pop()
                self._add(self._closed(done), done.anchor)
            case yaml.DocumentStartEvent() if self.root is not None:
                self.refuse("several-documents", "Keep one contract in one document.", _mark(event.start_mark))
            case _:
                pass

    def refuse(self, code: str, message: str, mark: Mark) -> NoReturn:
        """Stop with an error: the rest cannot be read reliably."""
        self._note(code, message, mark)
        raise ContractError(tuple(self.problems))

    def _note(self, code: str, message: str, mark: Mark, *steps: Step) -> None:
        path = address((*(each.step for each in self.stack), *steps))
        self.problems.append(Problem(code, path, mark.line, message, mark.column))
        if len(self.problems) == MOST_PROBLEMS:
            raise ContractError(tuple(self.problems))

    def _check_tag(self, event: yaml.ScalarEvent | yaml.CollectionStartEvent) -> None:
        if event.tag is not None:
            self._note("tag", "Tags (`!…`) are not allowed: remove it.", _mark(event.start_mark))

    def _scalar(self, event: yaml.ScalarEvent) -> Node:
        mark, bare = _mark(event.start_mark), bool(event.implicit[0])
        value: Scalar = event.value
        if bare:
            try:
                value = meaning(event.value)
            except TooLargeError:
                self._note("number-too-large", "The number is longer or larger than any contract needs.", mark)
        return Node(mark, value, {}, event.value, bare)

    def _aliased(self, event: yaml.AliasEvent) -> Node:
        mark = _mark(event.start_mark)
        if event.anchor not in self.anchors:
            self.refuse("unknown-alias", "The alias names nothing that is complete above it.", mark)
        node = self.anchors[event.anchor]
        self._check_depth(len(self.stack) + node.depth, mark)
        return node

    def _open(self, event: yaml.CollectionStartEvent) -> None:
        mark = _mark(event.start_mark)
        self._check_depth(len(self.stack) + 1, mark)
        self.stack.append(_Open(mark, isinstance(event, yaml.MappingStartEvent), event.anchor))

    def _check_depth(self, depth: int, mark: Mark) -> None:
        if depth > DEEPEST_LEVEL:
            self.refuse("too-deep", f"The document has more than {DEEPEST_LEVEL} levels: flatten it.", mark)

    def _add(self, node: Node, anchor: str | None, weight: int = 1) -> None:
        self.count += weight
        if self.count > MOST_NODES:
            self.refuse("too-many-nodes", f"The document has more than {MOST_NODES:,} values: split it.", node.mark)
        if anchor is not None:
            self.anchors[anchor] = node
        if self.stack:
            self.stack[-1].nodes.append(node)
        else:
            self.root = node

    def _closed(self, done: _Open) -> Node:
        size = 1 + sum(node.size for node in done.nodes)
        depth = 1 + max((node.depth for node in done.nodes), default=0)
        if not done.mapping:
            return Node(done.mark, tuple(done.nodes), {}, size=size, depth=depth)
        content, keys = self._entries(done)
        return Node(done.mark, content, keys, size=size, depth=depth)

    def _entries(self, done: _Open) -> tuple[dict[str, Node], dict[str, Mark]]:
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
        return content, keys

    def _mappings(self, value: Node, mark: Mark) -> list[Node]:
        sources = value.content if isinstance(value.content, tuple) else (value,)
        if not all(isinstance(source.content, Mapping) for source in sources):
            self._note("merge-of-no-mapping", "`<<` takes a mapping or a list of mappings: merge those.", mark)
            return []
        return list(sources)

    def _key_is_good(self, key: Node, keys: Mapping[str, Mark]) -> bool:
        if isinstance(key.content, tuple | Mapping) or len(key.written) > LONGEST_KEY:
            self._note("key-not-plain", f"A key is one text of at most {LONGEST_KEY:,} characters.", key.mark)
            return False
        if key.written in keys:
            first = keys[key.written].line
            self._note("duplicate-key", f"The key stands on line {first} already: keep one.", key.mark, key.written)
            return False
        return True


def _entries_of(node: Node) -> Iterator[tuple[str, Node]]:
    yield from node.content.items() if isinstance(node.content, Mapping) else ()
