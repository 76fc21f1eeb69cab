"""Finds columns, and pairs of columns, that no two records share."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

from lakegate.contracts.draft.keys import may_be_key, sounds_like_key
from lakegate.contracts.model.types import LogicalType
from lakegate.engine.type.values import typed_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

    from lakegate.engine.profile.columns import MeasuredField

NEAR = 0.9
"""Estimated numbers of distinct values are exact to a few percent: only columns near the number of rows are counted."""
MAX_COLUMNS, MAX_PAIRS = 16, 30
SAMPLE = 20_000
MAX_GAPS = 5
"""Different distances between the moments of a regular series: of months 28 to 31 days, and an hour of summer time."""


def unique_columns(
    connection: duckdb.DuckDBPyConnection, measured: Sequence[MeasuredField], rows: int
) -> tuple[str, ...]:
    """The columns that have a value in each of the rows, and none twice; moments only of a regular series, not by chance."""
    near = [each for each in measured if rows > 1 and each.present == rows and each.values.distinct >= NEAR * rows]
    return tuple(
        each.field.name
        for each in near
        if _is_unique(connection, (each,), rows)
        and (each.meaning is not LogicalType.TIMESTAMP or _is_regular(connection, each))
    )


def unique_pairs(
    connection: duckdb.DuckDBPyConnection, measured: Sequence[MeasuredField], rows: int
) -> tuple[tuple[str, str], ...]:
    """The pairs of columns without nulls that are unique together: names of keys first, then few combinations."""
    full = [
        each for each in measured if rows > 1 and each.present == rows and _may_be_part(each) and _is_part(each, rows)
    ]
    chosen = sorted(full, key=lambda each: not sounds_like_key(each.field.name))[:MAX_COLUMNS]
    pairs = [each for each in combinations(chosen, 2) if _combinations(each) >= NEAR * rows]
    pairs.sort(key=lambda pair: (sum(not sounds_like_key(each.field.name) for each in pair), _combinations(pair)))
    likely = [pair for pair in pairs if _is_unique(connection, pair, min(rows, SAMPLE), SAMPLE)][:MAX_PAIRS]
    order = {each.field.name: at for at, each in enumerate(measured)}
    found = [tuple(each.field.name for each in pair) for pair in likely if _is_unique(connection, pair, rows)]
    return tuple((one, other) if order[one] < order[other] else (other, one) for one, other in found)


def _may_be_part(each: MeasuredField) -> bool:
    return each.meaning is LogicalType.TIME or may_be_key(each.field.name, each.meaning)


def _is_part(each: MeasuredField, rows: int) -> bool:
    """Whether a column may be part of a key: one that is nearly unique by itself has mistakes, which another column hides."""
    return each.values.distinct > 1 and (each.values.distinct < NEAR * rows or sounds_like_key(each.field.name))


def _combinations(pair: tuple[MeasuredField, ...]) -> int:
    return pair[0].values.distinct * pair[1].values.distinct


def _is_unique(
    connection: duckdb.DuckDBPyConnection, columns: tuple[MeasuredField, ...], rows: int, sample: int | None = None
) -> bool:
    texts = ", ".join(f"{each.text} AS k{at}" for at, each in enumerate(columns))
    tables = " POSITIONAL JOIN ".join(dict.fromkeys(each.table for each in columns))
    limit = "" if sample is None else f"LIMIT {sample}"
    keys = ", ".join(f"k{at}" for at in range(len(columns)))
    query = f"SELECT count(*) FROM (SELECT 1 FROM (SELECT {texts} FROM {tables} {limit}) GROUP BY {keys})"  # noqa: S608 - generated names
    ((groups,),) = connection.execute(query).fetchall()
    return bool(groups == rows)


def _is_regular(connection: duckdb.DuckDBPyConnection, each: MeasuredField) -> bool:
    if each.type is not each.meaning:
        return False
    moment = typed_value(replace(each.field, type=each.type), each.text)
    gaps = (
        f"SELECT moment - lag(moment) OVER (ORDER BY moment) AS gap FROM (SELECT {moment} AS moment FROM {each.table})"  # noqa: S608 - generated names
    )
    ((found,),) = connection.execute(f"SELECT count(DISTINCT gap) FROM ({gaps})").fetchall()  # noqa: S608 - likewise
    return bool(found <= MAX_GAPS)
