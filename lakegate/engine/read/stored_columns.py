"""Columns of files with a schema, by name, as texts and values."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from lakegate.admission.file_signatures import UnreadableError
from lakegate.admission.header import differences, named_twice, other_names, quote_names
from lakegate.contract.contract_model import Shape
from lakegate.contract.delivery_policy import OnReject
from lakegate.contract.field_paths import column_path, member_path, member_step, path_of
from lakegate.contract.file_formats import Format
from lakegate.contract.logical_types import LogicalType
from lakegate.engine.evaluate.typed_values import exact_type, repeats_name, size_name, sql_type, typed_value
from lakegate.engine.read.data_source import AT, MAX_LINES, ROW, Chunk, Expression, Level, Malformed, Share, of_object
from lakegate.engine.read.json_rows import levels
from lakegate.engine.read.read_bounds import (
    GRACE,
    GRACE_VALUES,
    LONGEST_RECORD,
    MAX_INSIDE,
    RATIO,
    refuse_columns,
    unreadable,
)
from lakegate.engine.read.stored_types import Kind, Physical, holds, keep_fitting, mark_present
from lakegate.plan.plan import ENTRIES, Plan, PlanField
from lakegate.plan.predicates import NoRepeats, Size
from lakegate.plan.request import StagedPart
from lakegate.plan.result import Columns, IncompatibleType
from lakegate.verdict.value_mistakes import BEYOND_CALENDARS, BEYOND_TYPE

if TYPE_CHECKING:
    Found = tuple[PlanField, Physical | None]
    """A field, and its type in the file; None if the file does not have it."""

# ---- Parts of Arrow columns ----


Part = tuple[pa.Array, Physical]
_OPENED = {"[]": (Kind.LIST, "[]"), ENTRIES: (Kind.MAP, "{value}")}
"""The kind that a step opens, and the part of its elements that contains deeper levels."""


@dataclass(frozen=True, slots=True)
class Elements:
    """The records of a batch, or the elements of one level in it."""

    parts: Mapping[str, Part]
    """By step: columns of records; of elements of a list `[]`, of entries of a map `{key}` and `{value}`."""
    rows: pa.Array
    """The row of each."""
    depth: int = 0
    """Steps of a field's place before the one that `parts` knows."""
    at: pa.Array | None = None
    """The place of each element in its row (`items[2]`); records have none."""

    def column(self, field: PlanField) -> pa.Array:
        """The values of a field that the file has."""
        first, *rest = field.place[self.depth :]
        part: Part | None = self.parts[first]
        for step in rest:
            assert part is not None
            part = _member(part, step)
        assert part is not None
        return part[0]

    def level(self, level: Level) -> Elements | None:
        """The elements of one level, opening lists from the outside in; None if the file has none."""
        elements, words = self, ""
        here: Part | None = self.parts.get(level[0])
        for depth, step in enumerate(level):
            if here is None:
                return None
            if step in _OPENED:
                kind, part = _OPENED[step]
                if here[1].kind is not kind:
                    return None
                elements, words = elements._opened(here, words, depth), ""
                here = elements.parts[part]
            else:
                words += member_step(step[1:]) if depth else column_path(step[1:])
                here = _member(here, step) if depth else here
        return elements

    def _opened(self, part: Part, words: str, depth: int) -> Elements:
        array, kind = part
        lists = _lists(array, kind)
        parts = {step: (pc.list_flatten(each), inner) for (step, inner), each in zip(kind.parts, lists, strict=True)}
        parents, places = _stand(lists[-1])
        texts = (pc.cast(places, pa.string()), pa.scalar("]"), pa.scalar(""))
        before = pa.scalar("") if self.at is None else self.at.take(parents)
        at = pc.binary_join_element_wise(before, pa.scalar(f"{words}["), *texts)
        return Elements(parts, self.rows.take(parents), depth, at)


def count_inside(array: pa.Array, *, is_inside: bool = False) -> int:
    """The number of values in lists and maps, at every level: elements, keys, and members of records that are elements."""
    own = len(array) if is_inside else 0
    if pa.types.is_struct(array.type):
        members = (array.field(at) for at in range(array.type.num_fields))
        return own + sum(count_inside(member, is_inside=is_inside) for member in members)
    if pa.types.is_map(array.type):
        whole = pa.concat_arrays([array.slice(0, 0), array])
        return own + sum(count_inside(each, is_inside=True) for each in (whole.keys, whole.items))
    if pa.types.is_list(array.type) or pa.types.is_large_list(array.type) or pa.types.is_fixed_size_list(array.type):
        return own + count_inside(pc.list_flatten(array), is_inside=True)
    return own


def sizes(array: pa.Array, kind: Physical) -> pa.Array:
    """The number of elements of each list, of entries of each map, or of members of each record that have a value."""
    if kind.kind is not Kind.RECORD:
        return pc.list_value_length(_lists(array, kind)[0]).cast(pa.int64())
    found = pa.array([0] * len(array), pa.int64())
    for at in range(len(kind.parts)):
        found = pc.add(found, pc.struct_field(array, [at]).is_valid().cast(pa.int64()))
    return pc.if_else(array.is_valid(), found, pa.scalar(None, pa.int64()))


def repeats(array: pa.Array, kind: Physical) -> pa.Array:
    """Whether two elements of each list are equal, which nulls are; elements with parts are compared as texts."""
    lists = _lists(array, kind)[0]
    values, (parents, _) = pc.list_flatten(lists), _stand(lists)
    if pa.types.is_nested(values.type):
        values = pa.array([repr(_zeroed(each)) for each in map_moments(values, _numbers).to_pylist()], pa.string())
    elif pa.types.is_floating(values.type):
        values = pc.add(values, pa.scalar(0.0, values.type))
    coded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode(null_encoding="encode")
    pairs = pa.table({"list": parents, "element": coded.indices})
    counted = pairs.group_by(["list", "element"]).aggregate([([], "count_all")])
    twice = counted.filter(pc.greater(counted["count_all"], 1))["list"]
    found = pc.is_in(pa.arange(0, len(lists)), value_set=twice.combine_chunks().cast(pa.int64()))
    return pc.if_else(lists.is_valid(), found, pa.scalar(None, pa.bool_()))


def map_moments(array: pa.Array, change: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """The same with moments, days and times at every level as a function makes them: Python's own end with the year 9999."""
    kind, changed = array.type, partial(map_moments, change=change)
    if pa.types.is_temporal(kind):
        return change(array)
    if pa.types.is_struct(kind):
        names = [each.name for each in kind]
        return pa.StructArray.from_arrays(list(map(changed, array.flatten())), names, mask=array.is_null())
    if not pa.types.is_nested(kind):
        return array
    if pa.types.is_fixed_size_list(kind):
        array = array.cast(pa.list_(kind.value_type))
    whole = pa.concat_arrays([array.slice(0, 0), array])
    if pa.types.is_map(kind):
        return pa.MapArray.from_arrays(whole.offsets, changed(whole.keys), changed(whole.items), mask=whole.is_null())
    lists = pa.LargeListArray if pa.types.is_large_list(kind) else pa.ListArray
    return lists.from_arrays(whole.offsets, changed(whole.values), mask=whole.is_null())


def _numbers(array: pa.Array) -> pa.Array:
    """Moments, days or times as the numbers that they are stored as: they are only told apart, never shown."""
    return array.view(pa.int64() if array.type.bit_width == pa.int64().bit_width else pa.int32())


def _zeroed(value: Any) -> Any:  # noqa: ANN401 - any value of Arrow
    """A value in which no zero is negative."""
    match value:
        case float():
            return value + 0.0
        case dict():
            return {key: _zeroed(each) for key, each in value.items()}
        case list() | tuple():
            return [_zeroed(each) for each in value]
        case _:
            return value


def _lists(array: pa.Array, kind: Physical) -> tuple[pa.Array, ...]:
    """A list as it is; a map as a list of keys and one of values."""
    if kind.kind is Kind.LIST:
        return (array if pa.types.is_large_list(array.type) else array.cast(pa.list_(array.type.value_type)),)
    whole = pa.concat_arrays([array.slice(0, 0), array])
    return tuple(
        pa.ListArray.from_arrays(whole.offsets, each, mask=whole.is_null()) for each in (whole.keys, whole.items)
    )


def _stand(lists: pa.Array) -> tuple[pa.Array, pa.Array]:
    """The list of each element, and its place there, from 0; a null may have elements below it, which do not count."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0).cast(pa.int64())
    ends = pc.cumulative_sum(lengths)
    begins = pc.subtract(ends, lengths)
    count = ends[-1].as_py() if len(ends) else 0
    offsets = pa.concat_arrays([pa.array([0], pa.int64()), ends])
    parents = pc.list_parent_indices(pa.LargeListArray.from_arrays(offsets, pa.nulls(count)))
    return parents, pc.subtract(pa.arange(0, count), begins.take(parents))


def _member(part: Part, step: str) -> Part | None:
    """The part of a record after a step; None if it has none."""
    array, kind = part
    names = [name for name, _ in kind.parts]
    if kind.kind is not Kind.RECORD or step[1:] not in names:
        return None
    at = names.index(step[1:])
    return pc.struct_field(array, [at]), kind.parts[at][1]


# ---- The schema of a file and the declared fields ----
# A declared column that the file lacks is absent; a column that is not declared is extra. Their order is of no account: readers
# of these formats find columns by name.


UNWRITTEN = {Kind.TIME, Kind.OTHER, Kind.NOTHING}
"""Kinds whose values Spark cannot write as they came."""


@dataclass(frozen=True, slots=True)
class Table:
    """Schema and size of a file."""

    schema: Physical
    rows: int
    bounds: tuple[int, ...]
    """The beginnings of its shares (row groups, stripes, bytes of blocks), and the end of the last one."""


def schema_of(tables: Sequence[Table]) -> Physical:
    """The schema of a delivery; UnreadableError where its objects have different ones, or name a column twice."""
    schema = tables[0].schema
    other = next((number for number, each in enumerate(tables) if each.schema != schema), None)
    if other is not None:
        message = f"the schema is not that of the first object: it {_difference(tables[other].schema, schema)}"
        raise UnreadableError("schema", f"{message}; give all objects of a delivery the same schema").of_part(other)
    names = [name for name, _ in schema.parts]
    if not names:
        raise UnreadableError("header", "the file has no columns: write it with its columns")
    if len(set(names)) < len(names):
        raise UnreadableError("header", named_twice(names))
    return schema


def _difference(found: Physical, first: Physical) -> str:
    """How the schema of a file differs from that of the first one."""
    there, wanted = dict(found.parts), dict(first.parts)
    other = [
        f"{name} as {there[name].words}, not as {each.words}"
        for name, each in wanted.items()
        if name in there and there[name].words != each.words
    ]
    words = [*differences(there, wanted), *([f"stores {quote_names(other)}"] if other else ())]
    return " and ".join(words) or "has another order or other parts of columns"


def names_of(schema: Physical, plan: Plan) -> list[str]:
    """The columns that are read: the declared ones, and all of them where rows may have to be written again."""
    names = [name for name, _ in schema.parts]
    if plan.policy.on_reject is not OnReject.ROWS:
        declared = {field.column for field in plan.columns}
        return [name for name in names if name in declared]
    is_orc = plan.storage.format is Format.ORC
    for name, column in schema.parts:
        # Spark writes moments to ORC without a zone
        if any(leaf.kind in UNWRITTEN or (is_orc and leaf.has_zone) for leaf in column.leaves()):
            words = f"the column {name} has a type that cannot be written to split files"
            raise UnreadableError("schema", f"{words}: give it another one, or refuse whole files")
    return names


def found_in(schema: Physical, plan: Plan) -> list[Found]:
    """Each declared field with what the file has in its place."""
    return [(field, _physical(schema, field)) for field in plan.fields]


def columns_of(schema: Physical, plan: Plan, found: list[Found]) -> Columns:
    """The file's columns against the declared fields; UnreadableError where it has none of them."""
    names = [name for name, _ in schema.parts]
    declared = {field.column: field.physical for field in plan.columns}
    if not set(names) & declared.keys():
        words = other_names(names, declared, {name: each for name, each in declared.items() if each})
        raise UnreadableError("header", words or "the file has none of the declared columns: is it of this dataset?")
    foreign = [(field, each) for field, each in found if each is not None and not holds(each, field)]
    return Columns(
        found=plan.paths_of(names),
        absent=tuple(field.name for field, each in found if each is None and not _is_in_foreign(field, foreign)),
        extra=tuple(_extra(schema, plan, found)),
        foreign=tuple(IncompatibleType(field.name, each.words) for field, each in foreign),
    )


def _physical(schema: Physical, field: PlanField) -> Physical | None:
    part: Physical | None = schema
    for step in field.place:
        part = part.part(step) if part is not None else None
    return part


def _is_in_foreign(field: PlanField, foreign: list[tuple[PlanField, Physical]]) -> bool:
    """Whether a part is missing because its parent is of another type, which is reported."""
    return any(field.place[: len(each.place)] == each.place for each, _ in foreign)


def _extra(schema: Physical, plan: Plan, found: list[Found]) -> list[str]:
    """Undeclared columns and members of records."""
    declared = {field.place for field in plan.fields}
    extra: list[str] = [column_path(name) for name, _ in schema.parts if (f".{name}",) not in declared]
    for field, physical in found:
        if physical is not None and physical.kind is Kind.RECORD and field.shape.value == "record":
            inner = (name for name, _ in physical.parts if (*field.place, f".{name}") not in declared)
            extra += [member_path(path_of(field.place), name) for name in inner]
    return extra


def refuse_wide(schema: Physical) -> None:
    """UnreadableError where a file has too many columns."""
    refuse_columns(sum(1 for _ in schema.leaves()))


def refuse_values(table: Table, unpacked: int, size: int) -> None:
    """UnreadableError if a file declares far more values than its bytes can contain."""
    leaves = sum(1 for _ in table.schema.leaves())
    if unpacked > max(GRACE, RATIO * size) or table.rows * leaves * 8 > max(GRACE_VALUES, RATIO * size):
        raise unreadable("bomb")


# ---- Columns as texts and values, in SQL (docs/data.md) ----
# A value of its column's own type is a value of the declared one where the two agree (`lakegate.engine.read.stored_types`), but
# for those that a text could not write: `NaN` and the infinities are no numbers, days before the year 0 or after 9999 are no
# dates, and a number beyond the digits of its declared type is none of it. `-0` is 0. A 32-bit float means its shortest
# decimal.
#
# Texts are written as Spark's `CAST(… AS STRING)` writes them, so that samples, lengths and patterns mean the same in both
# engines.


_EXACT_DIGITS, _EXACT_SCALE = 15, 22
"""Of a decimal whose digits and whose power of ten are both 64-bit floats: their quotient is rounded once."""
_PLAIN_SCALE = 6
"""Decimals of more digits after the point are written with an exponent where they are small."""
_DAYS = "BETWEEN DATE '0000-01-01' AND DATE '9999-12-31'"
_MOMENTS = "BETWEEN TIMESTAMP '0000-01-01 00:00:00' AND TIMESTAMP '9999-12-31 23:59:59.999999'"
_KNOWN_MOMENTS = "BETWEEN TIMESTAMP '-290000-01-01 00:00:00' AND TIMESTAMP '294000-01-01 00:00:00'"
"""Moments that DuckDB can write; it fails at the very first ones that 64 bits hold."""
_BEYOND = f"'{BEYOND_CALENDARS}'"


def raw_name(alias: str) -> str:
    """The column of a field's unchanged value."""
    return f"r{alias}"


def valid_name(alias: str) -> str:
    """The column of a field's values, NULL if a text is not UTF-8, or a number does not fit the file's own type."""
    return f"u{alias}"


def counted_expression(
    field: PlanField, physical: Physical | None, sized: Collection[str], compared: Collection[str]
) -> Expression:
    """A field as `expression` has it, with what rules about a whole list, map or record read."""
    found, alias = expression(field, physical), field.alias
    if physical is None or field.shape is Shape.VALUE or not holds(physical, field) or physical.kind is Kind.NOTHING:
        return found
    found = replace(found, size=size_name(alias)) if alias in sized else found
    return replace(found, repeats=repeats_name(alias)) if alias in compared else found


def expression(field: PlanField, physical: Physical | None) -> Expression:
    """A field as text and as value; both are NULL where the file has nothing in its place."""
    nothing = f"CAST(NULL AS {sql_type(field)})"
    if physical is None or physical.kind is Kind.NOTHING:
        return Expression("CAST(NULL AS VARCHAR)", nothing)
    raw = raw_name(field.alias)
    if is_binary(field, physical):
        return Expression(raw, raw, raw, column=raw)
    text = _marked(_TEXTS[physical.kind](raw, physical), raw, physical)
    own = valid_name(field.alias) if _has_valid(physical) else raw
    value = nothing
    if holds(physical, field):
        value = text if field.shape is not Shape.VALUE else _VALUES[field.type](field, physical, own)
    return Expression(text, value, raw, column=raw)


def _has_valid(physical: Physical) -> bool:
    """Whether values that do not fit the file's own type have to be told apart from those that do."""
    return physical.kind is Kind.EXACT or physical.limits is not None


def _marked(text: str, raw: str, physical: Physical) -> str:
    """The text of a number, of one that does not fit the file's own type with a mark."""
    if physical.limits is not None:
        is_beyond = f"{raw} NOT BETWEEN {physical.limits[0]} AND {physical.limits[1]}"
    elif physical.kind is Kind.EXACT:
        digits = f"ltrim(regexp_replace(CAST({raw} AS VARCHAR), '[^0-9]', '', 'g'), '0')"
        is_beyond = f"length({digits}) > {physical.digits[0]}"
    else:
        return text
    return f"CASE WHEN {is_beyond} THEN concat({text}, '{BEYOND_TYPE}') ELSE {text} END"


def is_binary(field: PlanField, physical: Physical) -> bool:
    """Whether a field's column contains bytes, as texts with one character (0 to 255) for each."""
    return field.type is LogicalType.BINARY and field.shape is Shape.VALUE and holds(physical, field)


def _shown(word: str) -> Callable[[str, Physical], str]:
    """Of values that have no text, the column is true where one is there, and NULL elsewhere."""
    return lambda raw, _: f"CASE WHEN {raw} THEN '{word}' END"


def _cast(raw: str, _: Physical) -> str:
    return f"CAST({raw} AS VARCHAR)"


def _exact(raw: str, physical: Physical) -> str:
    precision, scale = physical.digits
    text = f"CAST({raw} AS VARCHAR)"
    if precision == scale:  # DuckDB writes no zero before the point where there is no room for another digit
        text = rf"regexp_replace({text}, '^(-?)\.', '\10.')"
    if scale <= _PLAIN_SCALE:
        return text
    digits = f"regexp_replace(CAST({raw} AS VARCHAR), '^-?0?\\.?0*(.)', '\\1')"
    small = _scientific(f"{raw} < 0", digits, f"length({digits}) - 1 - {scale}", point="")
    return f"CASE WHEN abs({raw}) >= 0.000001 THEN {text} WHEN {raw} IS NOT NULL THEN {small} END"


def _float(raw: str, _: Physical) -> str:
    """Java writes numbers below 0.001, and from ten millions on, with an exponent, and always a digit after the point."""
    text = f"CAST(abs({raw}) AS VARCHAR)"
    whole = f"replace(regexp_extract({text}, '^[^e]*'), '.', '')"
    digits = f"coalesce(nullif(regexp_replace(ltrim({whole}, '0'), '0+$', ''), ''), '0')"
    zeros, whole_digits = f"regexp_extract({text}, '^0\\.(0*)', 1)", f"regexp_extract({text}, '^[0-9]+')"
    before = f"CASE WHEN {text} LIKE '0.%' THEN -length({zeros}) ELSE length({whole_digits}) END"
    exponent = f"{before} - 1 + coalesce(try_cast(regexp_extract({text}, 'e(.*)$', 1) AS INTEGER), 0)"
    return (
        f"CASE WHEN isnan({raw}) THEN 'NaN' WHEN isinf({raw}) THEN CASE WHEN {raw} > 0 THEN 'Infinity' ELSE '-Infinity' END "
        f"WHEN {raw} = 0 OR (abs({raw}) >= 0.001 AND abs({raw}) < 10000000) THEN CAST({raw} AS VARCHAR) "
        f"WHEN {raw} IS NOT NULL THEN {_scientific(f'{raw} < 0', digits, exponent, point='.0')} END"
    )


def _scientific(is_negative: str, digits: str, exponent: str, point: str) -> str:
    """Digits with a point behind the first one, and an exponent; `point` follows a single digit."""
    rest = f"CASE WHEN length({digits}) > 1 THEN '.' || substr({digits}, 2) ELSE '{point}' END"
    return f"concat(CASE WHEN {is_negative} THEN '-' ELSE '' END, substr({digits}, 1, 1), {rest}, 'E', {exponent})"


def _day(raw: str, _: Physical) -> str:
    near = f"WHEN {raw} {_DAYS} THEN strftime({raw}, '%Y-%m-%d')"
    return f"CASE {near} WHEN isfinite({raw}) THEN {_far_day(raw)} WHEN {raw} IS NOT NULL THEN {_BEYOND} END"


def _moment_of_text(raw: str, _: Physical) -> str:
    near = f"WHEN {raw} {_MOMENTS} THEN concat(strftime({raw}, '%Y-%m-%d'), {_clock(raw)})"
    far = f"WHEN {raw} {_KNOWN_MOMENTS} THEN concat({_far_day(raw)}, {_clock(raw)})"
    return f"CASE {near} {far} WHEN {raw} IS NOT NULL THEN {_BEYOND} END"


def _far_day(raw: str) -> str:
    sign = f"CASE WHEN year({raw}) < 0 THEN '-' WHEN year({raw}) > 9999 THEN '+' ELSE '' END"
    return f"concat({sign}, printf('%04d-%02d-%02d', abs(year({raw})), month({raw}), day({raw})))"


def _clock(raw: str) -> str:
    return f"regexp_replace(strftime({raw}, ' %H:%M:%S.%f'), '\\.?0*$', '')"


_TEXTS: dict[Kind, Callable[[str, Physical], str]] = {
    Kind.TEXT: lambda raw, _: raw,
    Kind.TIME: lambda raw, _: raw,
    Kind.BYTES: _shown("bytes"),
    Kind.RECORD: _shown("{...}"),
    Kind.LIST: _shown("[...]"),
    Kind.MAP: _shown("{...}"),
    Kind.OTHER: _shown("?"),
    Kind.WHOLE: _cast,
    Kind.BOOLEAN: _cast,
    Kind.EXACT: _exact,
    Kind.FLOAT: _float,
    Kind.DOUBLE: _float,
    Kind.DATE: _day,
    Kind.MOMENT: _moment_of_text,
}


def _number(_: PlanField, physical: Physical, raw: str) -> str:
    match physical.kind:
        case Kind.FLOAT:
            return f"CASE WHEN isfinite({raw}) THEN CAST(CAST({raw} AS VARCHAR) AS DOUBLE) + 0.0::DOUBLE END"
        case Kind.DOUBLE:
            return f"CASE WHEN isfinite({raw}) THEN {raw} + 0.0::DOUBLE END"
        case Kind.EXACT if physical.digits[0] > _EXACT_DIGITS or physical.digits[1] > _EXACT_SCALE:
            return f"CAST(CAST({raw} AS VARCHAR) AS DOUBLE)"
        case _:
            return f"CAST({raw} AS DOUBLE)"


def _decimal(field: PlanField, physical: Physical, raw: str) -> str:
    exact = f"try_cast({raw} AS {exact_type(field.scale)})"
    if physical.digits[1] <= field.scale:
        return exact
    again = f"try_cast({exact} AS DECIMAL({physical.digits[0]},{physical.digits[1]}))"
    return f"CASE WHEN {again} = {raw} THEN {exact} END"


_VALUES: dict[LogicalType, Callable[[PlanField, Physical, str], str]] = {
    LogicalType.STRING: lambda field, _, __: valid_name(field.alias),
    LogicalType.INTEGER: lambda _, __, raw: f"try_cast({raw} AS BIGINT)",
    LogicalType.NUMBER: _number,
    LogicalType.DECIMAL: _decimal,
    LogicalType.BOOLEAN: lambda _, __, raw: raw,
    LogicalType.DATE: lambda _, __, raw: f"CASE WHEN {raw} {_DAYS} THEN {raw} END",
    LogicalType.TIME: lambda field, _, raw: typed_value(field, raw),
    LogicalType.TIMESTAMP: lambda _, __, raw: f"CASE WHEN {raw} {_MOMENTS} THEN {raw} END",
}


# ---- Files with a schema of their own, as chunks ----


_SURROGATE, _REPLACED = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]"), "\ufffd".encode()
"""Half of a pair is shown as one character, as Java shows it."""


class Reader(Protocol):
    """A format with a schema of its own."""

    def described(self, address: str) -> Table:
        """Schema and size of a file; UnreadableError if it is damaged, or a decompression bomb."""
        ...

    def batches(self, share: Share, names: list[str]) -> Iterator[pa.RecordBatch]:
        """These columns of a share; UnreadableError if the file is damaged."""
        ...


@dataclass(frozen=True, slots=True)
class TableSource:
    """A delivery of such files (`lakegate.engine.read.data_source.Source`)."""

    reader: Reader
    tables: tuple[Table, ...]
    names: list[str]
    """The columns that are read."""
    found: list[Found]
    levels: tuple[Level, ...]
    columns: Columns
    shares: tuple[Share, ...]
    expressions: Mapping[str, Expression]
    header: None = None
    is_marked: bool = False
    titles: bytes = b""

    @property
    def kinds(self) -> dict[str, Physical]:
        kinds = dict(self.tables[0].schema.parts)
        return {name: kinds[name] for name in self.names}

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(table.rows for table in self.tables)

    def chunks(self, share: Share) -> Iterator[Chunk]:
        row = 0
        for batch in self.reader.batches(share, self.names):
            for piece in self._pieces(batch):
                yield self._chunk(piece, row)
                row += piece.num_rows

    def originals(self, share: Share) -> Iterator[pa.Table]:
        row = 0
        for batch in self.reader.batches(share, self.names):
            columns = self._columns(batch)
            names = [f"x{at}" for at in range(len(columns))]
            yield pa.table([pa.arange(row, row + batch.num_rows), *columns], names=[ROW, *names])
            row += batch.num_rows

    def _columns(self, batch: pa.RecordBatch) -> list[pa.Array]:
        """The columns that are read, in the order of `names`."""
        return [batch.column(batch.schema.get_field_index(name)) for name in self.names]

    def _pieces(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The rows in pieces with a bounded number of values in lists, which take far more memory there than in a batch."""
        half = batch.num_rows // 2
        if half == 0 or not self._has_too_many(batch):
            yield batch
        else:
            yield from self._pieces(batch.slice(0, half))
            yield from self._pieces(batch.slice(half))

    def _has_too_many(self, batch: pa.RecordBatch) -> bool:
        return sum(map(count_inside, self._columns(batch))) > MAX_INSIDE

    def _chunk(self, batch: pa.RecordBatch, first: int) -> Chunk:
        if batch.num_rows == 1 and self._has_too_many(batch):
            nothing = self._chunk(batch.slice(0, 0), first)
            return replace(nothing, lines=1, size=1, malformed=(Malformed("elements", 1, (first,)),))
        columns = zip(self.kinds.items(), self._columns(batch), strict=True)
        parts = {f".{name}": (column, kind) for (name, kind), column in columns}
        records = Elements(parts, pa.arange(first, first + batch.num_rows))
        long = _too_long(records, self._of(()))
        malformed: tuple[Malformed, ...] = ()
        if long is not None:
            rows = records.rows.filter(long)
            malformed = (Malformed("too_long", len(rows), tuple(rows[:MAX_LINES].to_pylist())),)
            keep = pc.invert(long)
            kept = {step: (column.filter(keep), kind) for step, (column, kind) in parts.items()}
            records = Elements(kept, records.rows.filter(keep))
        tables = {level: self._table(records.level(level), level) for level in self.levels}
        return Chunk(self._table(records, ()), batch.num_rows, batch.num_rows, malformed, tables)

    def _of(self, level: Level) -> list[tuple[PlanField, Physical]]:
        """The fields of a level that the file has."""
        return [(field, kind) for field, kind in self.found if kind is not None and field.level == level]

    def _table(self, elements: Elements | None, level: Level) -> pa.Table:
        if elements is None:
            return pa.table({ROW: pa.array([], pa.int64()), AT: pa.array([], pa.string())})
        columns = {ROW: elements.rows}
        if level:
            columns[AT] = elements.at
        for field, kind in self._of(level):
            array, read = elements.column(field), self.expressions[field.alias]
            columns |= _raw(array, kind, field)
            if read.size == size_name(field.alias):
                columns[read.size] = sizes(array, kind)
            if read.repeats == repeats_name(field.alias):
                columns[read.repeats] = repeats(array, kind)
        return pa.table(columns)


def open_tables(reader: Reader, plan: Plan, parts: tuple[StagedPart, ...]) -> TableSource:
    """The delivery as a source; UnreadableError where its files are damaged, bombs, or of other columns."""
    tables: list[Table] = []
    for number, part in enumerate(parts):
        with of_object(number):
            tables.append(reader.described(part.uri))
    schema = schema_of(tables)
    found = found_in(schema, plan)
    sized, compared = plan.read_as(Size), plan.read_as(NoRepeats)
    return TableSource(
        reader,
        tuple(tables),
        names_of(schema, plan),
        found,
        levels(plan.fields),
        columns_of(schema, plan, found),
        tuple(
            Share(number, part.uri, start, end)
            for number, (part, table) in enumerate(zip(parts, tables, strict=True))
            for start, end in pairwise(table.bounds)
        ),
        {field.alias: counted_expression(field, kind, sized, compared) for field, kind in found},
    )


def _too_long(records: Elements, found: Iterable[Found]) -> pa.Array | None:
    """The rows with a text beyond the longest record; None if there are none."""
    long = None
    for field, kind in found:
        if kind is None or kind.kind is not Kind.TEXT:
            continue
        texts = records.column(field)
        longest = pc.max(pc.binary_length(texts.dictionary if pa.types.is_dictionary(texts.type) else texts))
        if (longest.as_py() or 0) > LONGEST_RECORD:
            lengths = pc.binary_length(_decoded(texts))
            over = pc.fill_null(pc.greater(lengths, LONGEST_RECORD), fill_value=False)
            long = over if long is None else pc.or_(long, over)
    return long


def _raw(array: pa.Array, kind: Physical, field: PlanField) -> dict[str, pa.Array]:
    """The raw columns of a field, and a second one in which what is no UTF-8, or does not fit the file's own type, is null."""
    alias = field.alias
    if is_binary(field, kind):
        texts = _binary(_decoded(array)).to_pylist()  # one character for each byte
        characters = [text if text is None else text.decode("latin-1") for text in texts]
        return {raw_name(alias): pa.array(characters, pa.string())}
    if kind.kind is Kind.MOMENT or _has_valid(kind):
        shown, valid = keep_fitting(_decoded(array), kind)
        return {raw_name(alias): shown} | ({valid_name(alias): valid} if _has_valid(kind) else {})
    if kind.kind is not Kind.TEXT:
        return {} if kind.kind is Kind.NOTHING else {raw_name(alias): _READ.get(kind.kind, _decoded)(_decoded(array))}
    try:
        (array.dictionary if pa.types.is_dictionary(array.type) else array).validate(full=True)
    except pa.ArrowInvalid:
        shown, valid = _repaired(_decoded(array))
        return {raw_name(alias): shown, valid_name(alias): valid}
    return {raw_name(alias): array, valid_name(alias): array}


def _binary(array: pa.Array) -> pa.Array:
    is_large = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
    return array.cast(pa.large_binary() if is_large else pa.binary())


def _repaired(texts: pa.Array) -> tuple[pa.Array, pa.Array]:
    binary = _binary(texts).to_pylist()
    shown = [each if each is None else _SURROGATE.sub(_REPLACED, each).decode(errors="replace") for each in binary]
    return pa.array(shown, pa.string()), pa.array([_valid(each) for each in binary], pa.string())


def _valid(text: bytes | None) -> str | None:
    try:
        return None if text is None else text.decode()
    except UnicodeDecodeError:
        return None


def _decoded(array: pa.Array) -> pa.Array:
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


_READ: dict[Kind, Callable[[pa.Array], pa.Array]] = {
    **dict.fromkeys((Kind.BYTES, Kind.OTHER, Kind.RECORD, Kind.LIST, Kind.MAP), mark_present),
    Kind.FLOAT: lambda array: array.cast(pa.float32()),  # of 16 bits or 32
    Kind.DATE: lambda array: array.cast(pa.date32()),  # checked: what is no whole day is refused
    Kind.TIME: lambda array: array.cast(pa.string()),  # what is no time of day is written as one that is out of range
}
