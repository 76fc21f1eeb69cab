"""JSON lines and arrays: values by their tokens, fast path, limits."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakegate.admission.file_signatures import BOM, has_mark
from lakegate.admission.header import MAX_COMPARED, plain
from lakegate.contract.contract_model import Shape
from lakegate.contract.field_paths import FieldPath, column_path, member_path, member_step, path_of
from lakegate.contract.file_formats import Compression, Format, Storage
from lakegate.contract.logical_types import LogicalType
from lakegate.engine.evaluate.typed_values import repeats_name, size_name, typed_value
from lakegate.engine.read.compression import (
    LONGEST_RECORD,
    Batch,
    elements,
    object_blocks,
    share_block,
    shares_of,
    unpacked,
)
from lakegate.engine.read.data_source import AT, ROW, Chunk, Expression, Level, Malformed, Share, Store, line_table
from lakegate.engine.read.stored_types import Physical
from lakegate.plan.plan import ENTRIES, OF_MAPS, Plan, PlanField
from lakegate.plan.predicates import NoRepeats, Size
from lakegate.plan.request import StagedPart
from lakegate.plan.result import Columns

if TYPE_CHECKING:
    Tokens = tuple[str, ...]

# ---- JSON texts with numbers as their own text ----


_PYTHON = re.compile(r"(?:True|False|None)\b")
_OPENINGS = frozenset({"{", "[", "[{"})
_PIECES = frozenset('"}]')
"""Beginnings of lines that are pieces of a text of several lines."""
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class MalformedError(Exception):
    """The text is not a record; the codes are those of `lakegate.verdict.file_checks`."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class NumberText(str):
    """A number's own text."""

    __slots__ = ()


Value = str | bool | dict[str, "Value"] | list["Value"] | None
"""A JSON value; numbers are `Number`."""


def parsed(text: bytes) -> dict[str, Value] | None:
    """The object of a text; None for a blank text. MalformedError if it is not an object."""
    if len(text) > LONGEST_RECORD:
        raise MalformedError("too_long")
    try:
        written = text.decode()
    except UnicodeDecodeError:
        raise MalformedError("encoding") from None
    if not written.strip(" \t\r\n"):
        return None
    try:
        value = _LOADS(written)
    except json.JSONDecodeError as error:
        raise MalformedError(_fault(written.strip(), error)) from None
    except RecursionError:
        raise MalformedError("json") from None
    if not isinstance(value, dict):
        raise MalformedError("object")
    if _SURROGATE.search(written) and not _is_text(value):
        raise MalformedError("surrogate")
    return value


def fault_at(text: bytes) -> int | None:
    """The character, from 1, at which a text is no JSON; None where it is."""
    try:
        _LOADS(text.decode(errors="replace"))
    except json.JSONDecodeError as error:
        return error.pos + 1
    except (MalformedError, RecursionError):
        return None
    return None


def _fault(text: str, error: json.JSONDecodeError) -> str:
    """The reason why a text is no JSON, by the form in which it is written."""
    rest = error.doc[error.pos :].lstrip()
    before = error.doc[: error.pos].rstrip()
    if rest.startswith("'") or _PYTHON.match(rest):
        return "python"
    if rest == "," or (before.endswith(",") and rest[:1] in {"}", "]"}):
        return "comma"
    if text in _OPENINGS or text[0] in _PIECES:
        return "spread"
    if not rest or error.msg.startswith("Unterminated string"):
        return "cut"
    if error.msg == "Extra data" and before.endswith("}") and rest.startswith("{"):
        return "several"
    return "json"


def _is_text(value: Value) -> bool:
    """Whether all texts can be written: half of a surrogate pair is not a character."""
    match value:
        case dict():
            return all(map(_is_text, value)) and all(map(_is_text, value.values()))
        case list():
            return all(map(_is_text, value))
        case str():
            return not any("\ud800" <= each <= "\udfff" for each in value)
        case _:
            return True


def _once(pairs: list[tuple[str, Value]]) -> dict[str, Value]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise MalformedError("keys")
    return found


def _constant(_: str) -> Value:
    """`NaN` and the infinities, which JSON does not have."""
    raise MalformedError("nan")


_LOADS = json.JSONDecoder(
    object_pairs_hook=_once, parse_int=NumberText, parse_float=NumberText, parse_constant=_constant
).decode


# ---- Values by their tokens ----
# `"5"` is not an integer, and `5` is not a text. The grammar of the type (docs/types.md) decides about a token, as for CSV.


MAX_EXTRA = MAX_COMPARED
"""Names of undeclared keys that are kept of one record: as many as are compared with the declared ones."""
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
        aliases = [each.alias for each in fields]
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
        found, column = pa.array(values, kind), self.columns[alias]
        if len(found) == self.rows:
            return found
        shifts = np.zeros(len(found), np.int64)
        for at, rows in column.gaps:
            shifts[at] = rows
        index = np.full(self.rows, -1)
        index[np.arange(len(found)) + np.cumsum(shifts)] = np.arange(len(found))
        return found.take(pa.array(index, mask=index < 0))


@dataclass(slots=True)
class LevelColumns:
    """The elements of one level that are being read: their places, their columns, and their number in each row."""

    cells: Cells
    places: list[str] = dataclasses.field(default_factory=list)
    ends: list[int] = dataclasses.field(default_factory=list)

    def begin(self, place: str) -> None:
        """Begin an element."""
        self.places.append(place)
        self.cells.rows += 1


class RowColumns:
    """What rows are read into: the values of a plan's fields as columns, and keys."""

    def __init__(self, fields: tuple[PlanField, ...], sized: Collection[str], compared: Collection[str]) -> None:
        self.rows = Cells.of((each for each in fields if not each.level), sized, compared)
        self.levels = {
            place: LevelColumns(Cells.of((each for each in fields if each.level == place), sized, compared))
            for place in levels(fields)
        }
        self.extra: set[str] = set()
        """Paths of undeclared keys, the first `MAX_EXTRA` of each row, and no more than a bounded number of all rows."""
        self.keys: set[Place] = set()
        """Places of declared keys that occur, with any value; of objects, whatever their keys, the place with `OBJECT`."""
        self._extra_of_row = 0

    def begin(self) -> None:
        """Begin a row."""
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
    return tuple(dict.fromkeys(each.level for each in fields if each.level))


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
    for each in fields:
        node = root
        for step in each.place:
            level_step = ENTRIES if step in OF_MAPS else step
            node = node.steps.setdefault(step, _Node(step[1:], (*node.place, level_step), (*node.key, step)))
        node.declared = each
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
        for each in parts:
            each(value, at)

    return fill


def _cell(declared: PlanField, reading: RowColumns) -> Fill:
    cells = reading.levels[declared.level].cells if declared.level else reading.rows
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


def _members(node: _Node, reading: RowColumns) -> Fill:
    named, path = any(_has_places(each) for each in node.steps.values()), node.path
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
    declared = {plain(each.name) for each in fields}
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


# ---- The fast path: flat objects with keys in one order ----
# One strict expression finds the tokens of such an object: no escape, no space but one behind `:` and `,`, nothing that RFC
# 8259 does not allow. Other objects are read by `lakegate.engine.read.json`, with the same results.


LEARNED = 20
"""Records that the order of keys is learned from."""
MAX_KEYS = 1000
"""Keys of a record that one expression finds: it grows with them."""
_WRITTEN = r'("[^"\\\x00-\x1f]*+"|-?+(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][-+]?+[0-9]++)?+|true|false|null)'
_PLAIN_KEY = re.compile(r"[^\"\\\x00-\x1f\x7f]*")
_END = r"\}[ \t\r]*+$"
_NOTHING, _TRUTHS = ("", "null"), ("true", "false")


@dataclass(frozen=True, slots=True)
class Flat:
    """The expressions for objects with these keys."""

    fields: Sequence[PlanField]
    keys: Tokens
    whole: re.Pattern[str]
    """Of objects that have all of them."""
    some: re.Pattern[str]
    """Of objects that lack some of them."""

    def split(self, texts: list[bytes]) -> tuple[list[Tokens], list[int]]:
        """The tokens of texts by key, "" for an absent one; and the indexes of the other texts."""
        together = b"\n".join(texts)
        if together.count(b"\n") == len(texts) - 1 and max(map(len, texts)) <= LONGEST_RECORD:
            try:
                found = self.whole.findall(together.decode())
            except UnicodeDecodeError:
                found = []
            if len(found) == len(texts):
                return found if len(self.keys) > 1 else [(each,) for each in found], []
        return self._one_by_one(texts)

    def _one_by_one(self, texts: list[bytes]) -> tuple[list[Tokens], list[int]]:
        found, rest = [], []
        for at, text in enumerate(texts):
            match = self.some.fullmatch(text.decode(errors="replace")) if len(text) <= LONGEST_RECORD else None
            if match and "\ufffd" not in match[0]:
                found.append(match.groups(""))
            else:
                rest.append(at)
        return found, rest

    def columns(self, tokens: list[Tokens]) -> tuple[dict[str, pa.Array], dict[str, pa.Array], set[str], set[str]]:
        """The texts by alias, whether each is a token of its field's own kind, and the declared and the undeclared keys."""
        by_key = {
            key: pa.array(column, pa.string()) for key, column in zip(self.keys, zip(*tokens, strict=True), strict=True)
        }
        keys = {key for key, column in by_key.items() if pc.any(pc.not_equal(column, "")).as_py()}
        texts, own = {}, {}
        for field in self.fields:
            column = by_key.get(field.column)
            if column is None:
                texts[field.alias], own[field.alias] = pa.nulls(len(tokens), pa.string()), _falses(len(tokens))
            else:
                texts[field.alias], own[field.alias] = _judged(column, field)
        declared = {field.column for field in self.fields}
        return texts, own, keys & declared, keys - declared


def learned(fields: Sequence[PlanField], texts: Iterable[bytes]) -> Flat | None:
    """The expressions for objects like the first ones; None if they, or the declared fields, are nested or very many."""
    if len(fields) > MAX_KEYS or not all(field.is_column for field in fields):
        return None
    keys: list[str] = []
    for text, _ in zip(texts, range(LEARNED), strict=False):
        try:
            value = parsed(text) or {}
        except MalformedError:
            continue
        if len(value) > MAX_KEYS or any(isinstance(each, (dict, list)) for each in value.values()):
            return None
        _merge(keys, value)
    extra = set(keys) - {field.column for field in fields}
    if not keys or len(extra) > MAX_EXTRA or not all(map(_PLAIN_KEY.fullmatch, keys)):
        return None
    pairs = [f"{re.escape(json.dumps(key, ensure_ascii=False))}: ?+{_WRITTEN}" for key in keys]
    whole, some = ", ?+".join(pairs), "".join(rf"(?:(?:(?<=\{{)|, ?+){pair})?+" for pair in pairs)
    return Flat(
        fields,
        tuple(keys),
        re.compile(rf"^\{{{whole}{_END}", re.MULTILINE),
        re.compile(rf"^\{{{some}{_END}", re.MULTILINE),
    )


def _merge(keys: list[str], value: Iterable[str]) -> None:
    """Insert new keys after the one that they follow."""
    at, known = 0, set(keys)
    for key in value:
        if key in known:
            at = keys.index(key) + 1
        else:
            keys.insert(at, key)
            at += 1


def _falses(rows: int) -> pa.Array:
    return pa.array(np.zeros(rows, np.bool_))


def _judged(tokens: pa.Array, field: PlanField) -> tuple[pa.Array, pa.Array]:
    """The text of each token, and whether it is of its field's own kind."""
    nothing, quoted = pc.is_in(tokens, pa.array(_NOTHING)), pc.starts_with(tokens, '"')
    texts = pc.utf8_trim(tokens, '"') if pc.any(quoted).as_py() else tokens
    texts = pc.if_else(nothing, pa.scalar(None, pa.string()), texts)
    if field.shape is Shape.ANY:
        return texts, pc.invert(nothing)
    if field.shape is not Shape.VALUE:
        return texts, _falses(len(tokens))
    truths = pc.is_in(tokens, pa.array(_TRUTHS))
    if field.type.numeric:
        return texts, pc.invert(pc.or_(pc.or_(nothing, quoted), truths))
    return texts, truths if field.type is LogicalType.BOOLEAN else quoted


# ---- JSON lines and arrays as chunks ----
# A token of the field's kind (`lakegate.engine.read.json`) is a value if the grammar of the type accepts its text
# (docs/types.md); a token of another kind is never a value.


OF_ELEMENT = 4
"""Cells of rows that a cell of an element counts as."""
SHARE_BYTES = 4 << 20
"""Bytes of an object that one share, and one block of a share, holds."""
MAX_CELLS = 1 << 20
"""Records of a chunk times declared fields: what is absent costs memory too."""
_SPACE = b" \t\r\n"


@dataclass(frozen=True, slots=True)
class JsonSource:
    """A delivery of JSON files (`lakegate.engine.read.data_source.Source`)."""

    plan: Plan
    parts: tuple[StagedPart, ...]
    store: Store
    columns: Columns
    shares: tuple[Share, ...]
    expressions: Mapping[str, Expression]
    sized: frozenset[str]
    """Aliases of the fields whose elements are counted."""
    compared: frozenset[str]
    """Aliases of the lists whose elements are compared with each other."""
    header: None = None
    is_marked: bool = False
    kinds: Mapping[str, Physical] = dataclasses.field(default_factory=dict)

    @property
    def sizes(self) -> tuple[int, ...]:
        """See `Source`."""
        return tuple(part.size for part in self.parts)

    def chunks(self, share: Share) -> Iterator[Chunk]:
        """See `Source`."""
        line, most = 0, max(1, MAX_CELLS // max(1, len(self.plan.fields)))
        for texts, taken in self.texts(share):
            start, is_begun = 0, False
            while start < len(texts) or not is_begun:
                chunk = self._chunk(texts[start : start + most], 0 if is_begun else taken, line)
                start, line, is_begun = start + chunk.lines, line + chunk.lines, True
                yield chunk

    def originals(self, share: Share) -> Iterator[pa.Table]:
        """See `Source`."""
        before = 0
        for texts, _ in self.texts(share):
            yield line_table([(row, text) for row, text in enumerate(texts, before) if text.strip(_SPACE)])
            before += len(texts)

    def texts(self, share: Share) -> Iterator[Batch]:
        """The texts of a share's records, some MiB at a time; UnreadableError if its object is damaged."""
        storage = self.plan.storage
        if storage.format is Format.JSON:
            yield from self._elements(share.address, storage.compression)
            return
        is_plain = storage.compression is Compression.NONE
        packed = object_blocks(self.store, share.address, storage.compression, SHARE_BYTES)
        mark = BOM if share.start == 0 else b""
        for block, taken in [share_block(self.store, share)] if is_plain else packed:
            yield (block.removeprefix(mark).removesuffix(b"\n").split(b"\n") if block else []), taken
            mark = b""

    def _elements(self, address: str, compression: Compression) -> Iterator[Batch]:
        """The elements of an array."""
        held: list[bytes] = []
        taken = size = 0
        with closing(self.store.stream(address)) as source:
            for texts, packed in elements(unpacked(source, compression)):
                held, taken, size = held + texts, taken + packed, size + sum(map(len, texts))
                if size >= SHARE_BYTES:
                    yield held, taken
                    held, taken, size = [], 0, 0
        yield held, taken

    def _chunk(self, texts: list[bytes], size: int, first: int) -> Chunk:
        """The chunk of the first texts, or of all, that follow `first` ones of the share."""
        flat = learned(self.plan.fields, texts)
        tokens, rest = flat.split(texts) if flat else ([], range(len(texts)))
        reading = RowReader(self.plan.fields, self.sized, self.compared)
        rows, bad, lines = _long_way(reading, texts, rest, first)
        levels: dict[Level, pa.Table] = {}
        for place, level in reading.levels.items():
            parents = pc.list_parent_indices(pa.ListArray.from_arrays([0, *level.ends], pa.nulls(len(level.places))))
            found = {ROW: _places(rows, first).take(parents), AT: pa.array(level.places, pa.string())}
            levels[place] = pa.table(found | _arrays(level.cells))
        records = pa.table({ROW: _places(rows, first)} | _arrays(reading.rows))
        keys, extra = reading.keys, set(reading.extra)
        if flat and tokens:
            columns, own, declared, more = flat.columns(tokens)
            others = set(rest)
            places = _places([at for at in range(len(texts)) if at not in others], first)
            kinds = {own_name(alias): each for alias, each in own.items()}
            kinds |= {size_name(alias): pa.nulls(len(tokens), pa.int64()) for alias in reading.rows.sizes}
            kinds |= {repeats_name(alias): pa.nulls(len(tokens), pa.bool_()) for alias in reading.rows.repeats}
            short = pa.table({ROW: places} | columns | kinds)
            records = pa.concat_tables([short, records.select(short.column_names)]).sort_by(ROW) if rows else short
            keys |= {(OBJECT,), *((f".{key}",) for key in declared)}
            extra |= set(map(column_path, more))
        malformed = tuple(bad[reason] for reason in sorted(bad))
        return Chunk(
            records, lines, size, malformed, levels, frozenset(bounded_keys(extra, self.plan.fields)), frozenset(keys)
        )


def _long_way(
    reading: RowReader, texts: list[bytes], places: Iterable[int], first: int
) -> tuple[list[int], dict[str, Malformed], int]:
    """Read texts token by token: the places of those that are records, and those that are malformed.

    The number of texts that were read comes last: elements of lists may need more memory than a chunk should.
    """
    rows: list[int] = []
    bad: dict[str, Malformed] = {}
    for at in places:
        try:
            value = parsed(texts[at])
        except MalformedError as error:
            found = Malformed(error.code, 1, (first + at,))
            bad[error.code] = bad[error.code].with_more(found) if error.code in bad else found
            continue
        if value is not None:
            rows.append(at)
            reading.add(value)
        if reading.size > MAX_CELLS:
            return rows, bad, at + 1
    return rows, bad, len(texts)


def _places(rows: list[int], first: int) -> pa.Array:
    return pc.add(pa.array(rows, pa.int64()), first)


def open_json(plan: Plan, parts: tuple[StagedPart, ...], store: Store, heads: list[bytes]) -> JsonSource:
    """The delivery as a source."""
    sized, compared = plan.read_as(Size), plan.read_as(NoRepeats)
    return JsonSource(
        plan,
        parts,
        store,
        Columns(tuple(each.name for each in plan.columns)),
        tuple(shares_of(parts, None if _is_whole(plan.storage) else SHARE_BYTES)),
        {each.alias: _expression(each, sized, compared) for each in plan.fields},
        sized,
        compared,
        is_marked=has_mark(heads),
    )


def _is_whole(storage: Storage) -> bool:
    """Whether an object is read as a whole: what is packed, and a JSON array, has no place to begin in its middle."""
    return storage.compression is not Compression.NONE or storage.format is Format.JSON


def own_name(alias: str) -> str:
    """The column of whether a field's token is of its own kind."""
    return f"k{alias}"


def _expression(field: PlanField, sized: Collection[str], compared: Collection[str]) -> Expression:
    alias, own = field.alias, own_name(field.alias)
    if field.shape is not Shape.VALUE:
        whole = Expression(alias, f"CASE WHEN {own} THEN {alias} END", alias, column=alias)
        whole = replace(whole, size=size_name(alias)) if alias in sized else whole
        return replace(whole, repeats=repeats_name(alias)) if alias in compared else whole
    value, plain = (f"CASE WHEN {own} THEN {typed_value(field, alias, plain=each)} END" for each in (False, True))
    return Expression(alias, value, alias, plain, alias)


def _arrays(cells: Cells) -> dict[str, pa.Array]:
    """The columns of a table."""
    texts = {
        name: array for alias, texts, own in cells.arrays() for name, array in ((alias, texts), (own_name(alias), own))
    }
    return texts | dict(cells.measures())
