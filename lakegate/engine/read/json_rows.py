"""Rows of JSON: values by their tokens, as columns of the declared fields.

`"5"` is not an integer, and `5` is not a text. The grammar of the type (docs/types.md) decides about a token, as for CSV.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakegate.admission.header import MAX_COMPARED, plain
from lakegate.contract.contract_model import Shape
from lakegate.contract.field_paths import FieldPath, column_path, member_path, member_step, path_of
from lakegate.contract.logical_types import LogicalType
from lakegate.engine.evaluate.typed_values import repeats_name, size_name
from lakegate.engine.read.json_texts import NumberText, Value
from lakegate.plan.plan import ENTRIES, OF_MAPS, PlanField

MAX_EXTRA = MAX_COMPARED
"""Names of undeclared keys that are kept of one record: as many as are compared with the declared ones."""
OF_ELEMENT = 4
"""Cells of rows that a cell of an element counts as."""
_MAX_EXTRA_OF_ROWS = 20 * MAX_EXTRA
OBJECT = ""
"""The last step of a place at which an object occurs (`RowReader.keys`)."""
RECORD, LIST = "{...}", "[...]"
"""The texts of nested values."""


@dataclass(slots=True)
class JsonColumn:
    """The values of a field that occur, in their order; absent ones cost nothing."""

    texts: list[str | None] = dataclasses.field(default_factory=list)
    own: list[bool] = dataclasses.field(default_factory=list)
    """Whether each is a token of the field's own kind."""
    end: int = 0
    """The row or element after the last one."""
    gaps: list[tuple[int, int]] = dataclasses.field(default_factory=list)
    """Before which values rows have none, and how many."""


@dataclass(slots=True)
class Cells:
    """Columns that are being built, by alias of their field."""

    columns: dict[str, JsonColumn]
    sizes: dict[str, list[int | None]]
    """Numbers of elements, entries or members of the values that occur; of the fields whose rules read them."""
    repeats: dict[str, list[bool | None]]
    """Whether two elements are equal; likewise."""
    rows: int = 0
    """Rows or elements that are begun."""

    @staticmethod
    def of(fields: Iterable[PlanField], sized: Collection[str], compared: Collection[str]) -> Cells:
        """Empty columns of some fields."""
        aliases = [field.alias for field in fields]
        return Cells(
            {alias: JsonColumn() for alias in aliases},
            {alias: [] for alias in aliases if alias in sized},
            {alias: [] for alias in aliases if alias in compared},
        )

    @property
    def size(self) -> int:
        """Rows times columns."""
        return self.rows * len(self.columns)

    def arrays(self) -> Iterator[tuple[str, pa.Array, pa.Array]]:
        """Alias, texts, and whether each is of its field's own kind, of all rows."""
        none = pa.array(np.zeros(self.rows, np.bool_))
        for alias, column in self.columns.items():
            own = pc.fill_null(self._spread(alias, column.own, pa.bool_()), fill_value=False) if column.own else none
            yield alias, self._spread(alias, column.texts, pa.string()), own

    def measures(self) -> Iterator[tuple[str, pa.Array]]:
        """Names and columns of sizes and repeats, of all rows."""
        for alias, sizes in self.sizes.items():
            yield size_name(alias), self._spread(alias, sizes, pa.int64())
        for alias, repeats in self.repeats.items():
            yield repeats_name(alias), self._spread(alias, repeats, pa.bool_())

    def _spread(self, alias: str, values: list[Any], kind: pa.DataType) -> pa.Array:
        """Values of a column in their rows; the others are null."""
        if not values:
            return pa.nulls(self.rows, kind)
        array, column = pa.array(values, kind), self.columns[alias]
        if len(array) == self.rows:
            return array
        shifts = np.zeros(len(array), np.int64)
        for at, rows in column.gaps:
            shifts[at] = rows
        index = np.full(self.rows, -1)
        index[np.arange(len(array)) + np.cumsum(shifts)] = np.arange(len(array))
        return array.take(pa.array(index, mask=index < 0))


@dataclass(slots=True)
class LevelColumns:
    """The elements of one level that are being read: their places, their columns, and their number in each row."""

    cells: Cells
    places: list[str] = dataclasses.field(default_factory=list)
    ends: list[int] = dataclasses.field(default_factory=list)

    def begin(self, place: str) -> None:
        self.places.append(place)
        self.cells.rows += 1


class RowColumns:
    """The columns that rows are read into: the values of a plan's fields, and keys."""

    def __init__(self, fields: tuple[PlanField, ...], sized: Collection[str], compared: Collection[str]) -> None:
        self.rows = Cells.of((field for field in fields if not field.level), sized, compared)
        self.levels = {
            place: LevelColumns(Cells.of((field for field in fields if field.level == place), sized, compared))
            for place in levels(fields)
        }
        self.extra: set[str] = set()
        """Paths of undeclared keys, the first `MAX_EXTRA` of each row, and no more than a bounded number of all rows."""
        self.keys: set[Place] = set()
        """Places of declared keys that occur, with any value; of objects, whatever their keys, the place with `OBJECT`."""
        self._extra_of_row = 0

    def cells_of(self, declared: PlanField) -> Cells:
        """The columns of a field's level."""
        return self.levels[declared.level].cells if declared.level else self.rows

    def begin(self) -> None:
        self.rows.rows += 1
        self._extra_of_row = 0

    def add_extra(self, record: FieldPath, key: str) -> None:
        """An undeclared key of the row, or of a record in it."""
        if self._extra_of_row < MAX_EXTRA and len(self.extra) < _MAX_EXTRA_OF_ROWS:
            self._extra_of_row += 1
            self.extra.add(member_path(record, key) if record else column_path(key))


class RowReader:
    """Rows that are being read. It leads to its columns, and they not to it: their memory is free with the last use of it.

    `sized` and `compared` are aliases of the fields whose elements are counted, or compared with each other.
    """

    def __init__(
        self, fields: tuple[PlanField, ...], sized: Collection[str] = (), compared: Collection[str] = ()
    ) -> None:
        self._columns = RowColumns(fields, sized, compared)
        self._members = _tree(fields, self._columns)
        self.rows, self.levels = self._columns.rows, self._columns.levels
        self.extra, self.keys = self._columns.extra, self._columns.keys

    def add(self, value: dict[str, Value] | None) -> None:
        """One row; without an object, one without values."""
        self._columns.begin()
        self._members(value, "")
        for level in self.levels.values():
            level.ends.append(len(level.places))

    @property
    def size(self) -> int:
        """Cells of rows and elements, those of absent values too; elements have a place, and many are read at once."""
        return self.rows.size + sum(OF_ELEMENT * level.cells.size for level in self.levels.values())


def levels(fields: tuple[PlanField, ...]) -> tuple[tuple[str, ...], ...]:
    """The levels of a plan's fields, outer ones first."""
    return tuple(dict.fromkeys(field.level for field in fields if field.level))


Place = tuple[str, ...]
"""Steps to a key, as those of `PlanField.place`."""
Fill = Callable[[Any, str], None]
"""Puts a value, and what is below it, into its columns; the text is its place, for those that have one."""


@dataclass(slots=True)
class _Node:
    """A step on the way to fields."""

    name: str
    place: Place = ()
    """Its steps, with those of keys and values of a map as one (`PlanField.level`)."""
    key: Place = ()
    """Its steps."""
    declared: PlanField | None = None
    steps: dict[str, _Node] = dataclasses.field(default_factory=dict)

    @property
    def path(self) -> FieldPath:
        """Its path; of the row an empty text."""
        return path_of(self.key) if self.key else FieldPath("")


def _tree(fields: tuple[PlanField, ...], reading: RowColumns) -> Fill:
    root = _Node("")
    for field in fields:
        node = root
        for step in field.place:
            level_step = ENTRIES if step in OF_MAPS else step
            node = node.steps.setdefault(step, _Node(step[1:], (*node.place, level_step), (*node.key, step)))
        node.declared = field
    return _members(root, reading)


def _filler(node: _Node, reading: RowColumns) -> Fill:
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
        for part in parts:
            part(value, at)

    return fill


def _cell(declared: PlanField, reading: RowColumns) -> Fill:
    cells = reading.cells_of(declared)
    column, own = cells.columns[declared.alias], _own_tokens(declared)
    texts, add_text, add_own = column.texts, column.texts.append, column.own.append

    def fill(value: Value, _at: str) -> None:
        token = type(value)
        missing = cells.rows - 1 - column.end
        if missing:
            column.gaps.append((len(texts), missing))
        column.end = cells.rows
        add_text(value if token in _PLAIN else _SHOWN[token](value))  # type: ignore[arg-type] # a plain token is a text
        add_own(token in own)

    return fill


def _counts(declared: PlanField, reading: RowColumns) -> Iterator[Fill]:
    """Fills what rules about a whole list, map or record read."""
    cells, own = reading.cells_of(declared), _own_tokens(declared)
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


def _members(node: _Node, reading: RowColumns) -> Fill:
    named, path = any(_has_places(step) for step in node.steps.values()), node.path
    inner = {
        step[1:]: (_filler(each, reading), member_step(step[1:]) if path else column_path(step[1:]))
        for step, each in node.steps.items()
    }
    unseen = {None: (*node.key, OBJECT)} | {step[1:]: each.key for step, each in node.steps.items()}

    def fill(value: Value, at: str) -> None:
        if type(value) is not dict:
            return
        if unseen and (None in unseen or not unseen.keys().isdisjoint(value)):
            reading.keys.update(unseen.pop(each) for each in (None, *value) if each in unseen)
        for key, each in value.items():
            if key not in inner:
                reading.add_extra(path, key)
                continue
            into, step = inner[key]
            into(each, at + step if named else at)

    return fill


def _has_places(node: _Node) -> bool:
    """Whether the parts of a node need places: elements and undeclared keys do."""
    return bool(node.steps) or (node.declared is not None and node.declared.shape is Shape.RECORD)


def _items(node: _Node, reading: RowColumns) -> Fill:
    level, into = reading.levels[(*node.place, "[]")], _filler(node.steps["[]"], reading)

    def fill(value: Value, at: str) -> None:
        if type(value) is list:
            for index, each in enumerate(value):
                place = f"{at}[{index}]"
                level.begin(place)
                into(each, place)

    return fill


def _entries(node: _Node, reading: RowColumns) -> Fill:
    level = reading.levels[(*node.place, ENTRIES)]
    key, value_of = (
        _filler(node.steps[step], reading) if step in node.steps else None for step in ("{key}", "{value}")
    )

    def fill(value: Value, at: str) -> None:
        if type(value) is dict:
            for index, (name, each) in enumerate(value.items()):
                level.begin(f"{at}[{index}]")
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


def bounded_keys(keys: set[str], fields: tuple[PlanField, ...]) -> set[str]:
    """At most `MAX_COMPARED` undeclared keys, those first that may be declared ones in another spelling."""
    if len(keys) <= MAX_COMPARED:
        return keys
    declared = {plain(field.name) for field in fields}
    return set(sorted(keys, key=lambda key: (plain(key) not in declared, key))[:MAX_COMPARED])


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
