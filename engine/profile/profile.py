"""The profile of a delivery: one scan into tables of texts, which DuckDB then measures (decision 105)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lakegate.contracts.draft.keys import may_be_key
from lakegate.contracts.draft.profile import Profile, ProfiledColumn
from lakegate.contracts.model.types import LogicalType
from lakegate.contracts.plan.plan import Shape
from lakegate.engine.measure.tables import database
from lakegate.engine.profile.columns import LevelTable, MeasuredField
from lakegate.engine.profile.fields import FoundField, step_of
from lakegate.engine.profile.spellings import with_separators
from lakegate.engine.profile.tables import read
from lakegate.engine.profile.unique import unique_columns, unique_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from lakegate.contracts.model.storage import Csv, NullWords
    from lakegate.contracts.plan.plan import PlanField
    from lakegate.contracts.plan.request import StagedPart
    from lakegate.engine.read.chunk import Level, Store

    ByPlace = dict[tuple[str, ...], MeasuredField]


def profile(
    parts: tuple[StagedPart, ...], store: Store, folder: Path, taken: Callable[[int], None] = lambda _: None
) -> Profile:
    """The profile of files, which are one delivery; what does not fit into memory is spilled below `folder`.

    `taken` is called with numbers of bytes while they are read. UnreadableError where no contract could accept the files,
    duckdb.Error where memory or disk do not suffice.
    """
    with database(folder) as connection:
        texts = read(connection, parts, store, taken)
        found = dict(zip(texts.plan.fields, _flat(texts.fields), strict=True))
        tables = [
            LevelTable(connection, each.name, {field: found[field] for field in each.fields}, texts.plan.storage.format)
            for each in texts.tables
        ]
        words = tuple(sorted({word for each in tables for word in each.find_null_words()}))
        own = [found for each in tables for found in each.values_like(words)] if words else []
        csv = replace(texts.plan.csv, null_values=words, null_values_by_column=tuple(sorted(own, key=_name)))
        rows = {each.level: table.rows() for each, table in zip(texts.tables, tables, strict=True)}
        by_place = _measured(tables, csv, frozenset())
        spelled = [each for each in by_place.values() if each.values.spelling and each.values.spelling.separators]
        plain = any(each.type is LogicalType.NUMBER for each in by_place.values())
        other = with_separators(csv, [each.values.spelling for each in spelled if each.values.spelling])
        if other is not None and (other.decimal_separator == "." or not plain):
            again = _measured(tables, other, frozenset(each.field for each in spelled))
            if all(again[each.field.place].present == each.present for each in spelled):
                csv, by_place = other, again
        values = [by_place[(f".{each.name}",)] for each in texts.fields if each.shape is Shape.VALUE]
        unique = unique_columns(connection, values, rows[()])
        kinds = {each.field.name: each.meaning for each in values}
        has_key = any(may_be_key(name, kinds[name]) for name in unique)
        pairs = () if has_key else unique_pairs(connection, values, rows[()])
    return Profile(
        texts.plan.storage,
        csv,
        rows[()],
        len(parts),
        tuple(_column(each, (f".{each.name}",), rows[()], by_place, rows) for each in texts.fields),
        unique,
        pairs,
        texts.malformed,
    )


def _name(each: NullWords) -> str:
    return each.column


def _measured(tables: Sequence[LevelTable], csv: Csv, numbers: frozenset[PlanField]) -> ByPlace:
    """The fields of all tables by their places, read with a dialect."""
    found: ByPlace = {}
    for table in tables:
        table.csv, table.numbers, table.spellings = csv, numbers, {}
        found |= {one.field.place: one for one in table.measured()}
    return found


def _flat(fields: tuple[FoundField, ...]) -> list[FoundField]:
    """The fields in the order of a plan: columns first."""
    return [*fields, *(part for each in fields for part in _inner(each))]


def _inner(each: FoundField) -> list[FoundField]:
    return [one for part in each.parts for one in (part, *_inner(part))]


def _column(
    found: FoundField, place: tuple[str, ...], around: int, by_place: ByPlace, rows: dict[Level, int]
) -> ProfiledColumn:
    """A field with its parts; `around` is the number of its rows."""
    own = by_place[place]
    inner = [(part, (*place, step_of(part, found))) for part in found.parts]
    parts = tuple(
        _column(
            part, at, own.present if found.shape is Shape.RECORD else rows[by_place[at].field.level], by_place, rows
        )
        for part, at in inner
    )
    return ProfiledColumn(
        found.name, own.type, found.shape, found.is_certain, found.physical, around, own.present, own.values, parts
    )
