"""A parsed document as nodes that remember where they stand, and places: nodes with the way that leads to them.

A `Place` is tolerant: what is absent or of another type reads as nothing. So a reader runs to the end of a broken document
(its schema says what is broken), and every error is reported at once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from contracts.model import Origin
from contracts.scalars import Scalar

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
    """A value of a document, where it begins, and how it was written."""

    mark: Mark
    content: Scalar | tuple[Node, ...] | dict[str, Node]
    keys: Mapping[str, Mark]
    """Where each key of a mapping stands."""
    written: str = ""
    """A scalar as it was written, quotes and escapes resolved."""
    bare: bool = False
    """Whether a scalar was written without quotes."""
    size: int = 1
    """Nodes below and including this one, aliases expanded."""
    depth: int = 0
    """Levels of mappings and sequences, this one included."""

    def plain(self) -> Plain:
        """The value in the plain types of JSON; numbers with a point or an exponent are `Decimal`."""
        if isinstance(self.content, tuple):
            return [node.plain() for node in self.content]
        if isinstance(self.content, dict):
            return {key: node.plain() for key, node in self.content.items()}
        return self.content

    def step(self, step: Step) -> tuple[Node | None, Mark]:
        """What lies one step below, and where: at the key of a mapping, at the item of a sequence, else here."""
        if isinstance(self.content, dict) and step in self.content:
            return self.content[str(step)], self.keys[str(step)]
        if isinstance(self.content, tuple) and isinstance(step, int) and step < len(self.content):
            return self.content[step], self.content[step].mark
        return None, self.mark


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A node, or the absence of one, and the way that leads there."""

    node: Node | None
    steps: tuple[Step, ...]
    mark: Mark

    def __getitem__(self, step: Step) -> Place:
        """The place one step below; an absent node's mark is that of the nearest node above."""
        node, mark = self.node.step(step) if self.node is not None else (None, self.mark)
        return Place(node, (*self.steps, step), mark)

    @property
    def present(self) -> bool:
        """Whether the document says something here, be it null."""
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
        """The items of a sequence; none where there is no sequence."""
        count = len(self.node.content) if self.node is not None and isinstance(self.node.content, tuple) else 0
        return [self[index] for index in range(count)]

    @property
    def entries(self) -> dict[str, Place]:
        """The entries of a mapping; none where there is no mapping."""
        keys = self.node.content if self.node is not None and isinstance(self.node.content, dict) else ()
        return {key: self[key] for key in keys}

    @property
    def scalar(self) -> Scalar:
        """The value of a scalar; None where there is none."""
        content = self.node.content if self.node is not None else None
        return None if isinstance(content, tuple | dict) else content

    @property
    def text(self) -> str | None:
        """The value where it is a text."""
        value = self.scalar
        return value if isinstance(value, str) else None

    @property
    def number(self) -> Decimal | None:
        """The value where it is a number."""
        value = self.scalar
        return Decimal(value) if isinstance(value, int | Decimal) and not isinstance(value, bool) else None

    @property
    def flag(self) -> bool | None:
        """The value where it is true or false."""
        value = self.scalar
        return value if isinstance(value, bool) else None

    @property
    def written(self) -> str:
        """A scalar as it was written; empty where there is none."""
        return self.node.written if self.node is not None else ""


def address(steps: tuple[Step, ...]) -> str:
    """Steps as an address: `("a", 3, "b c")` is `$.a[3]["b c"]`."""
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
