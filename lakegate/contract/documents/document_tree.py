"""Document, nodes with positions, places, notes of problems."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property, reduce
from operator import getitem

from lakegate.base.errors import Problem
from lakegate.contract.contract_model import Example, Origin

Scalar = str | bool | int | Decimal | None


# ---- Nodes with positions, and places ----
# A `Place` is tolerant: an absent value or one of another type reads as nothing. So a reader can read an invalid document to
# its end, while its schema reports what is invalid, and all errors are reported at once.


Step = str | int
Plain = Scalar | list["Plain"] | dict[str, "Plain"]
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_STEP = re.compile(r'\.(?P<word>[A-Za-z_][A-Za-z0-9_-]*)|\[(?P<index>[0-9]{1,9})\]|\[(?P<name>"(?:[^"\\]|\\.)*")\]')


@dataclass(frozen=True, slots=True)
class Mark:
    """A position in the text, both from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A value of a document, its position, and its text."""

    mark: Mark
    content: Scalar | tuple[Node, ...] | dict[str, Node]
    keys: Mapping[str, Mark]
    """The position of each key of a mapping."""
    written: str = ""
    """The text of a scalar, with quotes and escapes resolved."""
    bare: bool = False
    """Whether a scalar was written without quotes."""
    size: int = 1
    """Nodes below and including this one, aliases expanded."""
    depth: int = 0
    """Levels of mappings and sequences, including this one."""
    characters: int = 0
    """Characters of the texts below and including this one, aliases expanded."""

    def plain(self) -> Plain:
        """The value in the plain types of JSON; numbers with a point or an exponent are `Decimal`."""
        if isinstance(self.content, tuple):
            return [node.plain() for node in self.content]
        if isinstance(self.content, dict):
            return {key: node.plain() for key, node in self.content.items()}
        return self.content

    def step(self, step: Step) -> tuple[Node | None, Mark]:
        """The child node and its position: of the key in a mapping, of the item in a sequence, else of this node."""
        if isinstance(self.content, dict) and step in self.content:
            return self.content[str(step)], self.keys[str(step)]
        if isinstance(self.content, tuple) and isinstance(step, int) and step < len(self.content):
            return self.content[step], self.content[step].mark
        return None, self.mark


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A node, or the absence of one, and the path that leads there."""

    node: Node | None
    steps: tuple[Step, ...]
    mark: Mark

    def __getitem__(self, step: Step) -> Place:
        """The child place; the mark of an absent node is that of its nearest existing ancestor."""
        node, mark = self.node.step(step) if self.node is not None else (None, self.mark)
        return Place(node, (*self.steps, step), mark)

    def below(self, *steps: Step) -> Place:
        """The place that steps lead to."""
        return reduce(getitem, steps, self)

    def at_pointer(self, pointer: str) -> Place:
        """The place of a JSON Pointer (RFC 6901)."""
        return self.below(*(step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]))

    @property
    def present(self) -> bool:
        """Whether the document has a value here, which may be null."""
        return self.node is not None

    @property
    def path(self) -> str:
        """The address of the place, e.g. `$.quality[3].columns[0]`."""
        return address(self.steps)

    @property
    def origin(self) -> Origin:
        """The address with its line."""
        return Origin(self.path, self.mark.line)

    @property
    def items(self) -> list[Place]:
        """The items of a sequence; empty if there is none."""
        count = len(self.node.content) if self.node is not None and isinstance(self.node.content, tuple) else 0
        return [self[index] for index in range(count)]

    @property
    def is_list(self) -> bool:
        """Whether there is a sequence."""
        return self.node is not None and isinstance(self.node.content, tuple)

    @property
    def entries(self) -> dict[str, Place]:
        """The entries of a mapping; empty if there is none."""
        keys = self.node.content if self.node is not None and isinstance(self.node.content, dict) else ()
        return {key: self[key] for key in keys}

    @property
    def scalar(self) -> Scalar:
        """The value of a scalar; None if there is none."""
        content = self.node.content if self.node is not None else None
        return None if isinstance(content, tuple | dict) else content

    @property
    def text(self) -> str | None:
        """The value if it is a text, else None."""
        value = self.scalar
        return value if isinstance(value, str) else None

    @property
    def number(self) -> Decimal | None:
        """The value if it is a number, else None."""
        value = self.scalar
        return Decimal(value) if isinstance(value, int | Decimal) and not isinstance(value, bool) else None

    @property
    def flag(self) -> bool | None:
        """The value if it is true or false, else None."""
        value = self.scalar
        return value if isinstance(value, bool) else None

    @property
    def written(self) -> str:
        """The text of a scalar; empty if there is none."""
        return self.node.written if self.node is not None else ""


def address(steps: tuple[Step, ...]) -> str:
    """The address of steps: `("a", 3, "b c")` is `$.a[3]["b c"]`."""
    return "$" + "".join(_render_step(step) for step in steps)


def steps_of(path: str) -> tuple[Step, ...]:
    """The steps of an address that `address` made."""
    return tuple(
        match["word"] or (int(match["index"]) if match["index"] else str(json.loads(match["name"])))
        for match in _STEP.finditer(path)
    )


def _render_step(step: Step) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if _WORD.fullmatch(step) else f"[{json.dumps(step)}]"


# ---- Documents ----


@dataclass(frozen=True, eq=False)
class Document:
    """A parsed document; documents are compared by identity."""

    root: Node
    lines: tuple[str, ...]
    text: bytes = b""
    """The unchanged bytes of the document, for storage."""
    unread: Mapping[str, str] = field(default_factory=dict)
    """References to files that cannot be used, with the reasons (`lakegate.contract.documents.ref_definitions`)."""
    aliased: frozenset[Mark] = frozenset()
    """The positions of nodes that an alias of YAML (`*name`) repeats elsewhere."""

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
        """The place of the whole document."""
        return Place(self.root, (), self.root.mark)

    def at(self, path: str) -> Place:
        """The place with that address, e.g. `$.quality[3]`; absent if the document has none."""
        return self.top.below(*steps_of(path))

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


def _collect(place: Place, name: str, places: dict[str, list[Place]]) -> None:
    places.setdefault(name, []).append(place)
    for item in place.items:
        _collect(item, f"{name}[]", places)
    for key, entry in place.entries.items():
        _collect(entry, key, places)


# ---- Errors and warnings ----


MOST_NOTED = 5_000
"""Errors, and warnings, of one document: a hostile one has millions."""


@dataclass(frozen=True, slots=True)
class Notes:
    """Collects problems, the first ones of each kind."""

    errors: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)

    def blames(self, place: Place) -> bool:
        """Whether a place or a part of it has an error: then no further problem is reported for it."""
        path = place.path
        return any(error.path == path or error.path.startswith((f"{path}.", f"{path}[")) for error in self.errors)

    def error(self, code: str, place: Place, message: str) -> None:
        """Add an error: the document cannot be used."""
        self._add(self.errors, code, place, message)

    def warning(self, code: str, place: Place, message: str) -> None:
        """Add a warning: the document can be used."""
        self._add(self.warnings, code, place, message)

    @staticmethod
    def _add(problems: list[Problem], code: str, place: Place, message: str) -> None:
        if len(problems) < MOST_NOTED:
            problems.append(Problem(code, place.path, place.mark.line, message))


# ---- Arguments of rules ----


def exact(place: Place) -> object:
    """The value of a place as an immutable value; None if there is none."""
    return _exact_node(place.node) if place.node is not None else None


def _exact_node(node: Node) -> object:
    match node.content:
        case tuple(items):
            return tuple(_exact_node(item) for item in items)
        case Mapping() as entries:
            return {key: _exact_node(entry) for key, entry in entries.items()}
        case int() as number if not isinstance(number, bool):
            return Decimal(number)
        case scalar:
            return scalar


def texts(place: Place) -> tuple[str, ...]:
    """The items of a list as they are written: `1.10` stays `1.10`."""
    return tuple(item.written for item in place.items)


def examples(*lists: Place) -> tuple[Example, ...]:
    """The scalars of lists of examples, with their places. Lists and mappings are left out."""
    places = (item for place in lists for item in (place.items or [place]))
    return tuple(
        Example(item.written if item.scalar is not None else None, item.origin)
        for item in places
        if item.node is not None and not isinstance(item.node.content, tuple | Mapping)
    )


def rule_id(ordinals: Counter[str], subject: str, kind: str) -> str:
    """The generated id of a rule without one: `<subject>:<kind>:<ordinal>`."""
    stem = f"{subject}:{kind}"
    ordinals[stem] += 1
    return f"{stem}:{ordinals[stem]}"
