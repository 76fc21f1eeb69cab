"""`$ref` to definitions, in the document and in other files, expanded as nodes."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from lakegate.base.errors import ContractError, InputError, Problem
from lakegate.base.text import did_you_mean, quote
from lakegate.contract.documents.document_tree import Document, Mark, Node, Notes, Place
from lakegate.contract.documents.read_document import (
    DEEPEST_LEVEL,
    MAX_NODES,
    MOST_CHARACTERS,
    document_of,
    size_of_node,
    too_long,
)
from lakegate.contract.documents.schema_validation import COMMENT, NO_VALUE, begins_comment

# ---- Definitions in files beside a document, and on the web ----
#     bundled(text, read, above)   the document with the definitions that it uses, in the key `definitionFiles` at its end
#     embedded(document)           the document in which these are definitions of its own
#
# A reference is `FILE#/definitions/NAME`, `FILE#/other/keys`, or `FILE` alone, which is one definition as a whole. FILE is below
# the folder of the document, may begin with `./`, and leads upwards (`../`) as far as a root that the caller names.
#
# A bundled document needs no file: it is what is published, and its digest pins what its references mean. Its text before the
# key is unchanged, so that every line keeps its number. Each file has its SHA-256. A definition that cannot be read has the
# reason in its place, which becomes an error at each reference to it.


FileReader: TypeAlias = Callable[[str], bytes]
"""The bytes of a file by its path from the folder of the document. Raises InputError with the reason."""
FILES, DEFINITIONS, REFERENCE = "definitionFiles", "definitions", "$ref"
POINTER = f"#/{DEFINITIONS}/"
MAX_FILES = 16
ABOVE = "it leads above the folder that may be read: name one with both files by `--root FOLDER`, or give it to `lakegate lint`"
_FOLDERS = r"(?:\.\.?/)*(?:\w[\w.-]{0,99}/){0,8}"
HIGHEST = 8
"""The most folders that a reference leads upwards."""
WEB = "https://"
_URL = rf"{WEB}[A-Za-z0-9.-]{{1,253}}(?::[0-9]{{1,5}})?/[A-Za-z0-9._~/%+@=-]{{1,1024}}"
_POINTER = r"#(?:(?:/[A-Za-z0-9_-]{1,256}){1,16})?"
_OUTSIDE = re.compile(
    rf"(?P<file>{_URL}|{_FOLDERS}\w[\w.-]{{0,99}}\.(?:ya?ml|json))(?P<pointer>{POINTER}(?P<name>[A-Za-z0-9/_-]{{1,256}})|{_POINTER})?"
)
WHOLE = "#"
"""The name, in `definitionFiles`, of a definition that is a whole file; of other places than `definitions`, it begins so."""
_ESCAPED = "[\x7f-\uffff]"
"""Compiled where it is used: that takes 8 ms."""


@dataclass(frozen=True, slots=True)
class OutsideReference:
    """A reference that leads out of the document."""

    file: str
    """An address, or the path from the folder of the document, without `./` and detours."""
    name: str
    """A name below `definitions`, `#` for the whole file, or `#/keys` for another place."""

    @property
    def text(self) -> str:
        """The reference in the one form that all ways to write it have in common."""
        return f"{self.file}{self.name}" if self.name.startswith(WHOLE) else f"{self.file}{POINTER}{self.name}"

    @property
    def level(self) -> int:
        """How many folders it leads above that of the document."""
        return self.file.split("/").count("..")


def outside_reference(text: str, file: str = "") -> OutsideReference | None:
    """What a reference in a document, or in a file that it refers to, leads to; None for one inside, or of another form."""
    match = _OUTSIDE.fullmatch(file + text if text.startswith(WHOLE) else text)
    if match is None:
        return None
    is_relative = bool(file) and not text.startswith((WHOLE, WEB))
    path = _straight(file[: file.rfind("/") + 1] + match["file"] if is_relative else match["file"])
    return None if path is None else OutsideReference(path, match["name"] or match["pointer"] or WHOLE)


def _straight(file: str) -> str | None:
    """A path without `.`, and with `..` at its beginning alone; None where it leads too far upwards, on the web at all."""
    host, steps = file.startswith(WEB) * WEB, list[str]()
    for step in file.removeprefix(WEB if host else "").split("/"):
        if step == ".." and steps and steps[-1] != "..":
            steps.pop()
        elif step != ".":
            steps.append(step)
    return host + "/".join(steps) if steps.count("..") <= HIGHEST and not (host and "/../" in file) else None


def bundle_definitions(text: bytes, read: FileReader, above: int = 0) -> bytes:
    """The document with the definitions of files that it uses; unchanged if it uses none, has them already, or is no document.

    `above`: how many folders above that of the document may be read.
    """
    if REFERENCE.encode() not in text:
        return text
    try:
        document = document_of(text)
    except ContractError:
        return text
    if not isinstance(document.root.content, dict) or FILES in document.root.content:
        return text
    bundle = UsedDefinitions(read, above)
    bundle.follow(document.root)
    return _append_bundle(document, bundle) if bundle.found else text


@dataclass(slots=True)
class UsedDefinitions:
    """The definitions of files that a document uses, and those that they use."""

    read: FileReader
    above: int = 0
    found: dict[str, dict[str, Node | str]] = field(default_factory=dict)
    """By file and name; a text is the reason why there is none."""
    digests: dict[str, str] = field(default_factory=dict)
    size: int = 0
    _tops: dict[str, Place | str] = field(default_factory=dict)

    def follow(self, root: Node) -> None:
        """Find all definitions that lead from a node; each is read once, so that circles end."""
        waiting = [("", reference) for reference in _references(root)]
        while waiting:
            file, text = waiting.pop()
            outside = outside_reference(text, file)
            if outside is None or outside.name in self.found.setdefault(outside.file, {}):
                continue
            found = ABOVE if outside.level > self.above else self._definition(outside.file, outside.name)
            self.found[outside.file][outside.name] = found
            if isinstance(found, Node):
                waiting += [(outside.file, reference) for reference in _references(found)]

    def entry(self, file: str) -> str:
        """A file with its digest and definitions, in the form of JSON."""
        named = [
            f"{_quote_text(name)}: {_write_definition(value, file)}" for name, value in sorted(self.found[file].items())
        ]
        digest = f'"sha256": "{self.digests[file]}", ' if file in self.digests else ""
        return f'{_quote_text(file)}: {{{digest}"{DEFINITIONS}": {{{", ".join(named)}}}}}'

    def refused(self, reason: str) -> UsedDefinitions:
        """The same with a reason instead of each definition."""
        return replace(self, found={file: dict.fromkeys(names, reason) for file, names in self.found.items()})

    def _definition(self, file: str, name: str) -> Node | str:
        if file not in self._tops:
            self._tops[file] = self._top(file)
        top = self._tops[file]
        if isinstance(top, str):
            return top
        place = top if name.startswith(WHOLE) else top[DEFINITIONS][name]
        if not place.present or name.startswith(WHOLE):
            place, steps = (top, name.split("/")[1:]) if name.startswith(WHOLE) else (top[DEFINITIONS], name.split("/"))
            for step in steps:
                place = place[step]
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
            top = document_of(text).top
        except InputError as error:
            return str(error)
        except ContractError as error:
            return f"line {error.problems[0].line} of the file: {error.problems[0].message}"
        self.digests[file] = hashlib.sha256(text).hexdigest()
        return top


def outside(reference: Place, document: Document) -> str:
    """The message about a reference that leads out of the document, or nowhere."""
    if reference.scalar is None and not reference.items and not reference.entries:
        return NO_VALUE + (COMMENT if begins_comment(reference, document) else "")
    found = outside_reference(reference.text or "")
    reason = document.unread.get(found.text) if found else None
    if reason is not None:
        return f"{quote(reference.text)} cannot be used: {reason.rstrip('.')}."
    return (
        f"{quote(reference.written)} is outside of the document. A definition of it is `{POINTER}NAME`; one of the web, which"
        f" only commands read, `https://HOST/FILE.yaml{POINTER}NAME`; one of a file beside it or below is"
        f" `FILE.yaml{POINTER}NAME`, or `FILE.yaml` for a whole file, and is read where the document itself is read from a"
        " folder: else copy it in."
    )


def embed_definitions(document: Document) -> Document:
    """The document without `definitionFiles`; their definitions are its own, at the line of the first reference to a file."""
    files, own = document.top[FILES], document.top[DEFINITIONS]
    content = document.root.content
    if not files.present or not isinstance(content, dict):
        return document
    names: dict[str, str] = {}
    nodes: dict[str, Node] = {}
    unread: dict[str, str] = {}
    for number, (file, place) in enumerate(files.entries.items()):
        for name, entry in place[DEFINITIONS].entries.items():
            if entry.entries and entry.node is not None:
                key = (
                    f"{FILES}/{number}{name.replace(WHOLE, '-whole')}" if WHOLE in name else f"{FILES}/{number}/{name}"
                )
                names[OutsideReference(file, name).text], nodes[key] = POINTER + key, entry.node
            else:
                unread[OutsideReference(file, name).text] = entry.text or "it is no definition"
    mark = next((item.mark for item in document.named(REFERENCE) if _is_among(item, names)), files.mark)
    kept = {key: _rename_references(node, names) for key, node in content.items() if key != FILES}
    inner = own.node if own.node is not None else Node(mark, {}, {})
    if isinstance(inner.content, dict):
        found = {key: _rename_references(node, names, mark) for key, node in nodes.items()}
        renamed = {key: _rename_references(node, names) for key, node in inner.content.items()}
        marks = {**inner.keys, **dict.fromkeys(found, mark)}
        inner = replace(inner, content={**renamed, **found}, keys=marks)
    root = replace(
        document.root, content={**kept, DEFINITIONS: inner}, keys={**document.root.keys, DEFINITIONS: inner.mark}
    )
    return replace(document, root=root, unread=unread)


def _is_among(reference: Place, names: Mapping[str, str]) -> bool:
    """Whether a reference leads to one of the definitions."""
    found = outside_reference(reference.text or "")
    return found is not None and found.text in names


def _append_bundle(document: Document, bundle: UsedDefinitions) -> bytes:
    """The text with the bundle at its end; with the reason instead of definitions where that is no document any more."""
    try:
        return _join_bundle(document, bundle)
    except ContractError as error:
        reason = f"with the definitions of files, the document cannot be read: {error.problems[0].message}"
    try:
        return _join_bundle(document, bundle.refused(reason))
    except ContractError:
        return document.text


def _join_bundle(document: Document, bundle: UsedDefinitions) -> bytes:
    """Raises ContractError for a text that is no document."""
    entries = [bundle.entry(file) for file in sorted(bundle.found)]
    text = document.text.decode()
    if text.lstrip("\ufeff \t\r\n").startswith("{"):
        before, brace, after = text.rpartition("}")
        made = f'{before.rstrip()}, "{FILES}": {{{", ".join(entries)}}}{brace}{after}'
    else:
        made = "\n".join([text.removesuffix("\n"), f"{FILES}:", *(f"  {entry}" for entry in entries), ""])
    again = document_of(made.encode())
    if not again.top[FILES].present or again.without(FILES).plain() != document.plain():
        reason = "it does not end with its root, to which they are added: remove what follows"
        raise ContractError((Problem("syntax", "$", None, reason),))
    return made.encode()


def _references(node: Node) -> Iterator[str]:
    if isinstance(node.content, tuple):
        for entry in node.content:
            yield from _references(entry)
    elif isinstance(node.content, Mapping):
        for key, value in node.content.items():
            if key == REFERENCE and isinstance(value.content, str):
                yield value.content
            yield from _references(value)


def _absolute(file: str, text: str) -> str:
    """A reference of a file as the document would write it; one of another form never leads into the document."""
    reference = outside_reference(text, file)
    if reference is not None:
        return reference.text
    return file + text if text.startswith("#") else text


def _write_definition(node: Node | str, file: str) -> str:
    """A definition in the form of JSON; numbers as the file has them, references as the document would write them."""
    content = node if isinstance(node, str) else node.content
    if isinstance(content, str):
        return _quote_text(content)
    assert isinstance(node, Node)
    if isinstance(content, tuple):
        return f"[{', '.join(_write_definition(item, file) for item in content)}]"
    if isinstance(content, dict):
        parts = (
            f"{_quote_text(key)}: "
            + (
                _quote_text(_absolute(file, part.content))
                if key == REFERENCE and isinstance(part.content, str)
                else _write_definition(part, file)
            )
            for key, part in content.items()
        )
        return f"{{{', '.join(parts)}}}"
    return json.dumps(content) if content is None or isinstance(content, bool) else node.written


def _quote_text(text: str) -> str:
    """A text that YAML and JSON read alike."""
    return re.sub(_ESCAPED, lambda match: f"\\u{ord(match[0]):04x}", json.dumps(text, ensure_ascii=False))


def _rename_references(node: Node, names: Mapping[str, str], mark: Mark | None = None) -> Node:
    """The node with the references to these names; all of it at a mark, if one is given."""
    node = node if mark is None else replace(node, mark=mark)
    if isinstance(node.content, tuple):
        return replace(node, content=tuple(_rename_references(entry, names, mark) for entry in node.content))
    if not isinstance(node.content, dict):
        return node
    parts = {key: _rename_references(value, names, mark) for key, value in node.content.items()}
    reference = parts.get(REFERENCE)
    found = (
        outside_reference(reference.content) if reference is not None and isinstance(reference.content, str) else None
    )
    if reference is not None and found is not None and found.text in names:
        name = names[found.text]
        parts[REFERENCE] = replace(reference, content=name, written=name)
    return replace(node, content=parts, keys=node.keys if mark is None else dict.fromkeys(parts, mark))


# ---- Definitions of DCS: the first layer with a key wins ----
# Nothing is copied, so that problems of a definition are reported at the definition. The number of fields and levels reached
# through references is limited, because definitions that refer to each other can grow exponentially. In ODCS and DCM the
# document is expanded before it is read (`expanded`).


INSIDE_DOCUMENT = "#/"
DCS_DEFINITIONS = "#/definitions/"
MAX_FIELDS = 5_000


@dataclass(frozen=True, slots=True)
class Layers:
    """A field, followed by the definitions it refers to."""

    places: tuple[Place, ...]
    trail: tuple[str, ...] = ()
    """The paths of the definitions that led here, including those of the enclosing fields."""
    level: int = 0
    """The number of enclosing fields."""

    def __getitem__(self, key: str) -> Place:
        """The value of a key in the first layer that has it."""
        for place in self.places:
            found = place[key]
            if found.present:
                return found
        return self.places[0][key]

    @property
    def own(self) -> Place:
        """The field itself."""
        return self.places[0]


@dataclass(slots=True)
class Definitions:
    """The definitions of a document, and counts of what was read through them."""

    document: Document
    notes: Notes
    used: set[str] = field(default_factory=set)
    read: int = 0
    """Fields reached through references."""
    nodes: int = 0
    """Nodes of the definitions that references lead to, each as often as one leads there."""
    characters: int = 0
    """The characters of their texts."""

    @property
    def top(self) -> Place:
        """The root of the document."""
        return self.document.top

    def layers(self, place: Place, around: Layers | None = None) -> Layers | None:
        """A field with its definitions; None, with an error noted, if a limit is exceeded."""
        level = around.level + 1 if around is not None else 0
        self.read += around is not None and bool(around.trail)
        if self.read > MAX_FIELDS or level > DEEPEST_LEVEL:
            self._refuse_more(place, f"{MAX_FIELDS:,} fields or {DEEPEST_LEVEL} levels of them")
            return None
        places, trail = [place], list(around.trail if around is not None else ())
        while (reference := places[-1][REFERENCE]).present:
            definition = self._find_definition(reference)
            if definition is None:
                break
            if definition.path in trail:
                self.notes.error("circular-reference", reference, f"{quote(reference.text)} leads back to itself.")
                break
            places.append(definition)
            trail.append(definition.path)
            self.nodes += definition.node.size if definition.node else 0
            self.characters += definition.node.characters if definition.node else 0
            if self.nodes > MAX_NODES or self.characters > MOST_CHARACTERS or len(places) > DEEPEST_LEVEL:
                most = (
                    f"{MAX_NODES:,} values, {MOST_CHARACTERS:,} characters or {DEEPEST_LEVEL} definitions of one field"
                )
                self._refuse_more(place, most)
                return None
        return Layers(tuple(places), tuple(trail), level)

    def _refuse_more(self, place: Place, most: str) -> None:
        if all(problem.code != "too-many-fields" for problem in self.notes.errors):
            self.notes.error("too-many-fields", place, f"References lead to more than {most}: flatten them.")

    def _find_definition(self, reference: Place) -> Place | None:
        """The definition a reference points to: by its whole name (which may contain `/`), else step by step."""
        text = reference.text or ""
        if not text.startswith(INSIDE_DOCUMENT):
            if not text and self.notes.blames(reference):
                return None
            self.notes.error("external-reference", reference, outside(reference, self.document))
            return None
        place = self.top["definitions"][text.removeprefix(DCS_DEFINITIONS)]
        if not place.present:
            place = self.top.at_pointer(text)
        if not place.entries:
            self.notes.error(
                "dangling-reference", reference, f"{quote(text)} names no definition here.{self._hint(text)}"
            )
            return None
        self.used.add(place.path)
        return place

    def _hint(self, text: str) -> str:
        """A hint at a similar name."""
        return did_you_mean(text, [DCS_DEFINITIONS + entry for entry in self.top["definitions"].entries])


# ---- Definitions of ODCS and DCM: the document is expanded ----
# A mapping with `$ref` has the keys of the definition, and its own keys override them. Nothing outside the document is read, no
# file and no network: definitions of files are part of it before (`bundled`). The expanded document keeps the limits of a
# document, so that definitions that use each other cannot grow without bound. DCS has references of its own (`Definitions`).


INSIDE = f"#/{DEFINITIONS}/"


def is_aliased(definition: Place, document: Document) -> bool:
    """Whether an alias of YAML repeats a definition, or a part of it: then it is used without a reference."""
    if definition.node is None or not document.aliased:
        return False
    begin, waiting = definition.mark, [definition.node]
    while waiting:
        node = waiting.pop()
        is_own = (node.mark.line, node.mark.column) >= (begin.line, begin.column)
        if is_own and node.mark in document.aliased:
            return True
        if isinstance(node.content, tuple | dict):
            waiting += node.content.values() if isinstance(node.content, dict) else node.content
    return False


def expand_references(document: Document, notes: Notes) -> Document:
    """The document without `definitions`, and with each `$ref` replaced by what it refers to.

    ContractError where it exceeds a limit: what is left of such a document takes seconds to judge, and means nothing.
    """
    top = document.top
    if not top[DEFINITIONS].present and not document.named(REFERENCE):
        return document
    expansion = Expansion(document, notes)
    root = expansion.of(replace(top, node=document.without(DEFINITIONS).root), (), 0)
    if expansion.exceeded is not None:
        raise ContractError((expansion.exceeded,))
    for name, entry in top[DEFINITIONS].entries.items():
        if name not in expansion.used and not is_aliased(entry, document):
            notes.warning("unused-definition", entry, "No reference leads to this definition.")
    return replace(document, root=root)


@dataclass(slots=True)
class Expansion:
    """The definitions of a document, and what was built from them."""

    document: Document
    notes: Notes
    used: set[str] = field(default_factory=set)
    built: int = 0
    """Nodes of the expanded document."""
    characters: int = 0
    """Characters of its texts."""
    exceeded: Problem | None = None
    """The limit that was exceeded: then nothing more is expanded."""

    @property
    def definitions(self) -> Place:
        """The definitions of the document."""
        return self.document.top[DEFINITIONS]

    def of(self, place: Place, trail: tuple[str, ...], level: int) -> Node:
        """The expanded node of a place; `trail` are the definitions that led here, `level` the mappings and lists around it."""
        node = place.node
        assert node is not None
        self.built += 1
        if self.exceeded is not None or self._exceeds(place, level, len(trail)):
            return node
        if isinstance(node.content, tuple):
            items = tuple(self.of(item, trail, level + 1) for item in place.items)
            return size_of_node(replace(node, content=items), items)
        if not isinstance(node.content, dict):
            self.characters += node.characters
            return node
        own = {key: self.of(entry, trail, level + 1) for key, entry in place.entries.items() if key != REFERENCE}
        merged = replace(node, content=own, keys={key: node.keys[key] for key in own})
        if REFERENCE in node.content:
            base = self._base(place[REFERENCE], trail, level)
            if base is not None and isinstance(base.content, dict):
                merged = replace(node, content={**base.content, **own}, keys={**base.keys, **merged.keys})
        return size_of_node(merged, tuple(merged.content.values()))  # type: ignore[union-attr]  # a mapping

    def _base(self, reference: Place, trail: tuple[str, ...], level: int) -> Node | None:
        """The expanded definition that a reference leads to; None, with an error, if there is none."""
        text = reference.text or ""
        if not text.startswith(INSIDE):
            self.notes.error("external-reference", reference, outside(reference, self.document))
            return None
        name = text.removeprefix(INSIDE).replace("~1", "/").replace("~0", "~")
        place = self.definitions[name]
        if not place.entries:
            self.notes.error("dangling-reference", reference, f"{quote(text)} is not a definition.{self._hint(name)}")
            return None
        self.used.add(name)
        if name in trail:
            self.notes.error("circular-reference", reference, f"{quote(text)} leads back to itself.")
            return None
        return self.of(place, (*trail, name), level)

    def _exceeds(self, place: Place, level: int, steps: int) -> bool:
        """Whether a limit was exceeded, which ends the expansion."""
        if self.built > MAX_NODES:
            code, message = "too-many-nodes", f"References lead to more than {MAX_NODES:,} values: use fewer."
        elif self.characters > MOST_CHARACTERS:
            code, message = "document-too-large", too_long("references")
        elif level > DEEPEST_LEVEL or steps > DEEPEST_LEVEL:
            code, message = "too-deep", f"References lead to more than {DEEPEST_LEVEL} levels: flatten them."
        else:
            return False
        self.exceeded = Problem(code, place.path, place.mark.line, message, place.mark.column)
        return True

    def _hint(self, name: str) -> str:
        """A hint at a similar name."""
        return did_you_mean(name, self.definitions.entries)
