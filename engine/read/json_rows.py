"""The values of a plan's fields in JSON objects, as columns: judged by the token that each is written with, before any cast.

`"5"` is not an integer, and `5` is not a text. The grammar of the type (docs/types.md) decides about a token, as for CSV.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from lakegate.contracts.model.types import LogicalType
from lakegate.contracts.plan.plan import ENTRIES, OF_MAPS, Shape
from lakegate.engine.read.json_text import NumberText, Value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from lakegate.contracts.plan.plan import PlanField

MAX_EXTRA = 20
"""Names of undeclared keys that are kept of one record."""
RECORD, LIST = "{...}", "[...]"
"""The texts of nested values."""


@dataclass(slots=True)
class Cells:
    """Columns that are being built: texts of fields by alias, and whether each is a token of its field's own kind."""

    texts: dict[str, list[str | None]]
    own: dict[str, list[bool]]
    sizes: dict[str, list[int | None]]
    """Numbers of elements, entries or members; of the fields whose rules read them."""
    repeats: dict[str, list[bool | None]]
    """Whether two elements are equal; likewise."""

    @staticmethod
    def of(fields: Iterable[PlanField], sized: Collection[str], compared: Collection[str]) -> Cells:
        """Empty columns of some fields."""
        aliases = [each.alias for each in fields]
        return Cells(
            {alias: [] for alias in aliases},
            {alias: [] for alias in aliases},
            {alias: [] for alias in aliases if alias in sized},
            {alias: [] for alias in aliases if alias in compared},
        )


@dataclass(slots=True)
class LevelColumns:
    """The elements of one level that are being read: their places, their columns, and their number in each row."""

    cells: Cells
    places: list[str] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)


class RowReader:
    """Rows that are being read: the values of a plan's fields as columns, and undeclared keys by row.

    `sized` and `compared` are aliases of the fields whose elements are counted, or compared with each other.
    """

    def __init__(
        self, fields: tuple[PlanField, ...], sized: Collection[str] = (), compared: Collection[str] = ()
    ) -> None:
        self.rows = Cells.of((each for each in fields if not each.level), sized, compared)
        self.levels = {
            place: LevelColumns(Cells.of((each for each in fields if each.level == place), sized, compared))
            for place in levels(fields)
        }
        self.extra: list[list[str]] = []
        self._members = _tree(fields, self)

    def add(self, value: dict[str, Value] | None) -> None:
        """One row; without an object, one without values."""
        self.extra.append([])
        self._members(value or {}, "")
        for level in self.levels.values():
            level.ends.append(len(level.places))


def levels(fields: tuple[PlanField, ...]) -> tuple[tuple[str, ...], ...]:
    """The levels of a plan's fields, outer ones first."""
    return tuple(dict.fromkeys(each.level for each in fields if each.level))


Fill = Callable[[Any, str], None]
"""Puts a value, and what is below it, into its columns; the text is its place, for those that have one."""


@dataclass(slots=True)
class _Node:
    """A step on the way to fields."""

    name: str
    place: tuple[str, ...] = ()
    declared: PlanField | None = None
    steps: dict[str, _Node] = field(default_factory=dict)


def _tree(fields: tuple[PlanField, ...], reading: RowReader) -> Fill:
    root = _Node("")
    for each in fields:
        node = root
        for step in each.place:
            level_step = ENTRIES if step in OF_MAPS else step
            node = node.steps.setdefault(step, _Node(step[1:], (*node.place, level_step)))
        node.declared = each
    return _members(root, reading)


def _filler(node: _Node, reading: RowReader) -> Fill:
    """Fills the cell of a node, and then its parts."""
    parts = [_cell(node.declared, reading), *_counts(node.declared, reading)] if node.declared else []
    if "[]" in node.steps:
        parts.append(_items(node, reading))
    elif node.steps.keys() & set(OF_MAPS):
        parts.append(_entries(node, reading))
    elif node.steps or (node.declared and node.declared.shape is Shape.RECORD):
        parts.append(_members(node, reading))
    if len(parts) == 1:
        return parts[0]

    def fill(value: Value, at: str) -> None:
        for each in parts:
            each(value, at)

    return fill


def _cell(declared: PlanField, reading: RowReader) -> Fill:
    cells = reading.levels[declared.level].cells if declared.level else reading.rows
    add_text, add_own = cells.texts[declared.alias].append, cells.own[declared.alias].append
    own = _own_tokens(declared)

    def fill(value: Value, _at: str) -> None:
        token = type(value)
        add_text(value if token in _PLAIN else _SHOWN[token](value))  # type: ignore[arg-type] # a plain token is a text
        add_own(token in own)

    return fill


def _counts(declared: PlanField, reading: RowReader) -> Iterator[Fill]:
    """Fills what rules about a whole list, map or record read."""
    cells, own = reading.levels[declared.level].cells if declared.level else reading.rows, _own_tokens(declared)
    for columns, measure in ((cells.sizes, _size), (cells.repeats, _has_repeats)):
        if declared.alias in columns:
            yield _measuring(columns[declared.alias], measure, own, declared.shape)


def _measuring(column: list[Any], measure: Callable[[Any, Shape], Any], own: frozenset[type], shape: Shape) -> Fill:
    def fill(value: Value, _at: str) -> None:
        column.append(measure(value, shape) if type(value) in own else None)

    return fill


def _size(value: Any, shape: Shape) -> int:  # noqa: ANN401 - a list or an object
    """A member without a value is none; an entry of a map counts by its key."""
    return sum(each is not None for each in value.values()) if shape is Shape.RECORD else len(value)


def _has_repeats(value: list[Value], _shape: Shape) -> bool:
    return len(set(map(_written_once, value))) < len(value)


def _written_once(value: Value) -> Hashable:
    """A value in the one form that equal values have: numbers without their spelling, objects without order and nulls.

    Forms are hashed as texts, whose hashes nobody can foresee.
    """
    match value:
        case NumberText():
            return "number", _number_once(value)
        case dict():
            return "object", frozenset((key, _written_once(each)) for key, each in value.items() if each is not None)
        case list():
            return "list", tuple(map(_written_once, value))
        case _:
            return type(value).__name__, str(value)


def _number_once(text: str) -> str:
    try:
        sign, digits, exponent = Decimal(text).as_tuple()
    except InvalidOperation:
        return text
    written = "".join(map(str, digits))
    significant = written.strip("0")
    zeros = len(written) - len(written.rstrip("0"))
    return f"{'-' * sign}{significant}e{int(exponent) + zeros}" if significant else "0"


def _members(node: _Node, reading: RowReader) -> Fill:
    inner = [(step[1:], each.name, _filler(each, reading)) for step, each in node.steps.items()]
    known = {key for key, _, _ in inner}
    named = any(_has_places(each) for each in node.steps.values())

    def fill(value: Value, at: str) -> None:
        members = value if type(value) is dict else {}
        if not members.keys() <= known:
            extra = reading.extra[-1]
            extra += [f"{at}.{key}" if at else key for key in members if key not in known][: MAX_EXTRA - len(extra)]
        for key, name, into in inner:
            into(members.get(key), f"{at}.{name}" if at and named else name)

    return fill


def _has_places(node: _Node) -> bool:
    """Whether the parts of a node need places: elements and undeclared keys do."""
    return bool(node.steps) or (node.declared is not None and node.declared.shape is Shape.RECORD)


def _items(node: _Node, reading: RowReader) -> Fill:
    level, into = reading.levels[(*node.place, "[]")], _filler(node.steps["[]"], reading)

    def fill(value: Value, at: str) -> None:
        if type(value) is list:
            for index, each in enumerate(value):
                level.places.append(f"{at}[{index}]")
                into(each, f"{at}[{index}]")

    return fill


def _entries(node: _Node, reading: RowReader) -> Fill:
    level = reading.levels[(*node.place, ENTRIES)]
    key, value_of = (
        _filler(node.steps[step], reading) if step in node.steps else None for step in ("{key}", "{value}")
    )

    def fill(value: Value, at: str) -> None:
        if type(value) is dict:
            for index, (name, each) in enumerate(value.items()):
                level.places.append(f"{at}[{index}]")
                for into, it in ((key, name), (value_of, each)):
                    if into is not None:
                        into(it, f"{at}[{index}]")

    return fill


def _own_tokens(declared: PlanField) -> frozenset[type]:
    """The tokens that values of a field are written with."""
    if declared.shape is not Shape.VALUE:
        return _OF_SHAPES[declared.shape]
    if declared.type.numeric:
        return frozenset({NumberText})
    return frozenset({bool if declared.type is LogicalType.BOOLEAN else str})


_PLAIN = frozenset({str, NumberText, type(None)})
_SHOWN: dict[type, Callable[[Any], str]] = {
    bool: lambda value: "true" if value else "false",
    dict: lambda _: RECORD,
    list: lambda _: LIST,
}
_OF_SHAPES: dict[Shape, frozenset[type]] = {
    Shape.RECORD: frozenset({dict}),
    Shape.MAP: frozenset({dict}),
    Shape.LIST: frozenset({list}),
    Shape.ANY: frozenset({str, NumberText, bool, dict, list}),
}
