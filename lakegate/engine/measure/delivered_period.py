"""The period of a delivery: the one value of a column in its accepted rows (`replaces: period`).

Values are compared as the typed values that they are, whatever file format has them: the texts `7` and `07` of a whole number
are one. Where rows are rejected singly, the place of each record's value is kept, so that accepted records alone count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lakegate.base.json_codec import sha256_of
from lakegate.contract.delivery_policy import OnReject
from lakegate.engine.evaluate.predicate_sql import SOURCE
from lakegate.engine.read.data_source import ROW, Source
from lakegate.plan.plan import Plan
from lakegate.plan.result import MOST_PERIODS, DeliveredPeriod

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa
    from numpy.typing import NDArray

    ChunkPeriods = tuple[tuple[str | None, ...], NDArray[np.uint8] | None]
    """The values of a chunk, None for records without one, and the place of each record's; None: any may have any."""

MOST_OF_CHUNK = 255
"""Values of a chunk that records are told apart by: of more the delivery has several periods anyway."""


@dataclass(frozen=True, slots=True)
class PeriodColumn:
    """The column whose values are the periods of records."""

    alias: str
    """Empty where no column of the plan has the name."""
    sql: str
    """Its value as text, over the raw columns of a chunk."""
    by_rows: bool
    """Whether it matters which records have a value."""


def period_column(plan: Plan, source: Source) -> PeriodColumn | None:
    """The column that the plan names; None where it does not ask for periods."""
    if plan.policy.period is None:
        return None
    column = next((field for field in plan.columns if field.column == plan.policy.period), None)
    sql = f"CAST({source.expressions[column.alias].value if column else 'NULL'} AS VARCHAR)"
    return PeriodColumn(column.alias if column else "", sql, plan.policy.on_reject is OnReject.ROWS)


def periods_of_chunk(records: pa.Table, period: PeriodColumn, connection: duckdb.DuckDBPyConnection) -> ChunkPeriods:
    """The periods of the records of a chunk. Each raw value is looked at once, because a chunk has few."""
    if not records.num_rows:
        return (), None
    connection.register(SOURCE, records)
    raw = ", ".join(name for name in records.column_names if re.fullmatch(f"[a-z]?{period.alias}", name)) or ROW
    distinct = f"SELECT DISTINCT {period.sql} FROM (SELECT DISTINCT {raw} FROM {SOURCE}) LIMIT {MOST_OF_CHUNK + 1}"  # noqa: S608 - generated names
    values: tuple[str | None, ...] = tuple(value for (value,) in connection.sql(distinct).fetchall())
    if not period.by_rows or len(values) == 1 or len(values) > MOST_OF_CHUNK:
        return values, None
    texts = connection.sql(f"SELECT {period.sql} FROM {SOURCE}").to_arrow_table().column(0).combine_chunks()  # noqa: S608 - likewise
    encoded = texts.dictionary_encode(null_encoding="encode")
    return tuple(encoded.dictionary.to_pylist()), encoded.indices.to_numpy().astype(np.uint8)


def delivered_period(chunks: Iterable[tuple[ChunkPeriods, NDArray[np.bool_] | None]]) -> DeliveredPeriod | None:
    """The period of a delivery by those of its chunks, each with the records that are rejected; None without accepted ones."""
    found: set[str | None] = set()
    for periods, rejected in chunks:
        found.update(_accepted(periods, rejected))
        if len(found - {None}) > MOST_PERIODS:
            return DeliveredPeriod(MOST_PERIODS + 1, has_rows_without=False, digest=None)
    values = [value for value in found if value is not None]
    is_one = len(values) == len(found) == 1
    digest = sha256_of(values[0].encode(errors="surrogatepass")) if is_one else None
    return DeliveredPeriod(len(values), None in found, digest) if found else None


def _accepted(periods: ChunkPeriods, rejected: NDArray[np.bool_] | None) -> Iterable[str | None]:
    """The values that an accepted record of a chunk has, or may have."""
    values, codes = periods
    if rejected is None or not values:
        return values
    if codes is None:
        return () if rejected.all() else values
    return (values[code] for code in np.unique(codes[~rejected]))
