"""Nodes of a parsed document with their positions, and places: nodes with the path that leads to them.

A `Place` is tolerant: an absent value or one of another type reads as nothing. So a reader can read an invalid document to its
end, while its schema reports what is invalid, and all errors are reported at once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from lakegate.contracts.documents.scalars import Scalar
from lakegate.contracts.model.contract import Origin

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
    return "$" + "".join(_rendered(step) for step in steps)


def steps_of(path: str) -> tuple[Step, ...]:
    """The steps of an address that `address` made."""
    return tuple(
        match["word"] or (int(match["index"]) if match["index"] else str(json.loads(match["name"])))
        for match in _STEP.finditer(path)
    )


def _rendered(step: Step) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if _WORD.fullmatch(step) else f"[{json.dumps(step)}]"
