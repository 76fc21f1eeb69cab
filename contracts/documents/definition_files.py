"""Definitions in files beside a document: `$ref: 'common.yaml#/definitions/email'`.

::

    bundled(text, read)    the document with the definitions that it uses, in the key `definitionFiles` at its end
    embedded(document)     the document in which these are definitions of its own

A bundled document needs no file: it is what is published, and its digest pins what its references mean. Its text before the key
is unchanged, so that every line keeps its number. Each file has its SHA-256. A definition that cannot be read has the reason in
its place, which becomes an error at each reference to it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from lakegate.contracts.documents.composer import MAX_NODES
from lakegate.contracts.documents.document import Document, parse
from lakegate.contracts.documents.nodes import Mark, Node, Place
from lakegate.contracts.errors import ContractError, InputError, Problem
from lakegate.contracts.words import did_you_mean, shown

FileReader: TypeAlias = Callable[[str], bytes]
"""The bytes of a file by its path below the folder of the document. Raises InputError with the reason."""
FILES, DEFINITIONS, REFERENCE = "definitionFiles", "definitions", "$ref"
POINTER = f"#/{DEFINITIONS}/"
MAX_FILES = 16
_FOLDERS = r"(?:\w[\w.-]{0,99}/){0,8}"
_OUTSIDE = re.compile(
    rf"(?P<file>{_FOLDERS}\w[\w.-]{{0,99}}\.(?:ya?ml|json)){POINTER}(?P<name>[A-Za-z0-9/_-]{{1,256}})"
)
_ESCAPED = re.compile("[\x7f-\uffff]")


def bundled(text: bytes, read: FileReader) -> bytes:
    """The document with the definitions of files that it uses; unchanged if it uses none, has them already, or is no document."""
    if REFERENCE.encode() not in text:
        return text
    try:
        document = parse(text)
    except ContractError:
        return text
    if not isinstance(document.root.content, dict) or FILES in document.root.content:
        return text
    bundle = UsedDefinitions(read)
    bundle.follow(document.root)
    return _appended(document, bundle) if bundle.found else text


@dataclass(slots=True)
class UsedDefinitions:
    """The definitions of files that a document uses, and those that they use."""

    read: FileReader
    found: dict[str, dict[str, Node | str]] = field(default_factory=dict)
    """By file and name; a text is the reason why there is none."""
    digests: dict[str, str] = field(default_factory=dict)
    size: int = 0
    _tops: dict[str, Place | str] = field(default_factory=dict)

    def follow(self, root: Node) -> None:
        """Find all definitions that lead from a node; each is read once, so that circles end."""
        waiting = [("", each) for each in _references(root)]
        while waiting:
            file, text = waiting.pop()
            outside = _OUTSIDE.fullmatch(_absolute(file, text))
            if outside is None or outside["name"] in self.found.setdefault(outside["file"], {}):
                continue
            found = self._definition(outside["file"], outside["name"])
            self.found[outside["file"]][outside["name"]] = found
            if isinstance(found, Node):
                waiting += [(outside["file"], each) for each in _references(found)]

    def entry(self, file: str) -> str:
        """A file with its digest and definitions, in the form of JSON."""
        named = [f"{_quoted(name)}: {_written(each, file)}" for name, each in sorted(self.found[file].items())]
        digest = f'"sha256": "{self.digests[file]}", ' if file in self.digests else ""
        return f'{_quoted(file)}: {{{digest}"{DEFINITIONS}": {{{", ".join(named)}}}}}'

    def refused(self, reason: str) -> UsedDefinitions:
        """The same with a reason instead of each definition."""
        return replace(self, found={file: dict.fromkeys(names, reason) for file, names in self.found.items()})

    def _definition(self, file: str, name: str) -> Node | str:
        if file not in self._tops:
            self._tops[file] = self._top(file)
        top = self._tops[file]
        if isinstance(top, str):
            return top
        place = top[DEFINITIONS][name]
        if not place.entries:
            return f"the file has no such definition.{did_you_mean(name, top[DEFINITIONS].entries)}"
        assert place.node is not None
        self.size += place.node.size
        return place.node if self.size <= MAX_NODES else f"definitions of files have more than {MAX_NODES:,} values"

    def _top(self, file: str) -> Place | str:
        if len(self._tops) >= MAX_FILES:
            return f"a document uses at most {MAX_FILES} files"
        try:
            text = self.read(file)
            top = parse(text).top
        except InputError as error:
            return str(error)
        except ContractError as error:
            return f"line {error.problems[0].line} of the file: {error.problems[0].message}"
        self.digests[file] = hashlib.sha256(text).hexdigest()
        return top


def outside(reference: Place, document: Document) -> str:
    """The message about a reference that leads out of the document."""
    reason = document.unread.get(reference.text or "")
    if reason is not None:
        return f"{shown(reference.text)} cannot be used: {reason.rstrip('.')}."
    return (
        f"{shown(reference.written)} is outside of the document. A definition of it is `{POINTER}NAME`; one of a file beside it"
        f" or below is `FILE.yaml{POINTER}NAME`, and is read where the document itself is read from a folder: else copy it in."
    )


def embedded(document: Document) -> Document:
    """The document without `definitionFiles`; their definitions are its own, at the line of the first reference to a file."""
    files, own = document.top[FILES], document.top[DEFINITIONS]
    content = document.root.content
    if not files.present or not isinstance(content, dict):
        return document
    names: dict[str, str] = {}
    nodes: dict[str, Node] = {}
    unread: dict[str, str] = {}
    for number, (file, place) in enumerate(files.entries.items()):
        for name, each in place[DEFINITIONS].entries.items():
            if each.entries and each.node is not None:
                key = f"{FILES}/{number}/{name}"
                names[f"{file}{POINTER}{name}"], nodes[key] = POINTER + key, each.node
            else:
                unread[f"{file}{POINTER}{name}"] = each.text or "it is no definition"
    mark = next((each.mark for each in document.named(REFERENCE) if each.text in names), files.mark)
    kept = {key: _renamed(node, names) for key, node in content.items() if key != FILES}
    inner = own.node if own.node is not None else Node(mark, {}, {})
    if isinstance(inner.content, dict):
        found = {key: _renamed(node, names, mark) for key, node in nodes.items()}
        renamed = {key: _renamed(node, names) for key, node in inner.content.items()}
        marks = {**inner.keys, **dict.fromkeys(found, mark)}
        inner = replace(inner, content={**renamed, **found}, keys=marks)
    root = replace(
        document.root, content={**kept, DEFINITIONS: inner}, keys={**document.root.keys, DEFINITIONS: inner.mark}
    )
    return replace(document, root=root, unread=unread)


def _appended(document: Document, bundle: UsedDefinitions) -> bytes:
    """The text with the bundle at its end; with the reason instead of definitions where that is no document any more."""
    try:
        return _joined(document, bundle)
    except ContractError as error:
        reason = f"with the definitions of files, the document cannot be read: {error.problems[0].message}"
    try:
        return _joined(document, bundle.refused(reason))
    except ContractError:
        return document.text


def _joined(document: Document, bundle: UsedDefinitions) -> bytes:
    """Raises ContractError for a text that is no document."""
    entries = [bundle.entry(file) for file in sorted(bundle.found)]
    text = document.text.decode()
    if text.lstrip("\ufeff \t\r\n").startswith("{"):
        before, brace, after = text.rpartition("}")
        made = f'{before.rstrip()}, "{FILES}": {{{", ".join(entries)}}}{brace}{after}'
    else:
        made = "\n".join([text.removesuffix("\n"), f"{FILES}:", *(f"  {each}" for each in entries), ""])
    again = parse(made.encode())
    if not again.top[FILES].present or again.without(FILES).plain() != document.plain():
        reason = "it does not end with its root, to which they are added: remove what follows"
        raise ContractError((Problem("syntax", "$", None, reason),))
    return made.encode()


def _references(node: Node) -> Iterator[str]:
    if isinstance(node.content, tuple):
        for each in node.content:
            yield from _references(each)
    elif isinstance(node.content, Mapping):
        for key, each in node.content.items():
            if key == REFERENCE and isinstance(each.content, str):
                yield each.content
            yield from _references(each)


def _absolute(file: str, text: str) -> str:
    """A reference of a file as the document would write it; there is no way upwards, so it stays below the folder."""
    if not file:
        return text
    return file + text if text.startswith("#") else file[: file.rfind("/") + 1] + text


def _written(each: Node | str, file: str) -> str:
    """A definition in the form of JSON; numbers as the file has them, references as the document would write them."""
    content = each if isinstance(each, str) else each.content
    if isinstance(content, str):
        return _quoted(content)
    assert isinstance(each, Node)
    if isinstance(content, tuple):
        return f"[{', '.join(_written(item, file) for item in content)}]"
    if isinstance(content, dict):
        parts = (
            f"{_quoted(key)}: "
            + (
                _quoted(_absolute(file, part.content))
                if key == REFERENCE and isinstance(part.content, str)
                else _written(part, file)
            )
            for key, part in content.items()
        )
        return f"{{{', '.join(parts)}}}"
    return json.dumps(content) if content is None or isinstance(content, bool) else each.written


def _quoted(text: str) -> str:
    """A text that YAML and JSON read alike."""
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))


def _renamed(node: Node, names: Mapping[str, str], mark: Mark | None = None) -> Node:
    """The node with the references to these names; all of it at a mark, if one is given."""
    node = node if mark is None else replace(node, mark=mark)
    if isinstance(node.content, tuple):
        return replace(node, content=tuple(_renamed(each, names, mark) for each in node.content))
    if not isinstance(node.content, dict):
        return node
    parts = {key: _renamed(each, names, mark) for key, each in node.content.items()}
    reference = parts.get(REFERENCE)
    if reference is not None and reference.content in names:
        name = names[str(reference.content)]
        parts[REFERENCE] = replace(reference, content=name, written=name)
    return replace(node, content=parts, keys=node.keys if mark is None else dict.fromkeys(parts, mark))
