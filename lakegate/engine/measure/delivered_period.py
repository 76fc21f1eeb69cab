"""The period of a delivery: the one value of a column in its accepted rows (`replaces: period`).

Values are compared as the typed values that they are, whatever file format has them: the texts `7` and `07` of a whole number
are one. Where rows are rejected singly, a bitmap for each value says which records have it, so that accepted ones alone count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from lakegate.base.json_codec import sha256_of
from lakegate.contract.delivery_policy import OnReject
from lakegate.engine.evaluate.predicate_sql import SOURCE
from lakegate.engine.read.data_source import Source
from lakegate.plan.plan import Plan
from lakegate.plan.result import MOST_PERIODS, DeliveredPeriod

if TYPE_CHECKING:
    from typing import Any

    import duckdb
    import numpy as np
    from numpy.typing import NDArray

    ChunkPeriods = tuple[tuple[str | None, pa.BooleanArray | None], ...]
    """The values of a chunk, None for records without one, each with the records that have it; no bitmap: any may have it."""

MOST_OF_CHUNK = 8
"""Values of a chunk that have a bitmap each; where there are more, none has one: the delivery has several periods anyway."""


def period_sql(plan: Plan, source: Source) -> str | None:
    """The SQL of the period of a record as text, over the raw columns; None where the plan does not ask for periods."""
    if plan.policy.period is None:
        return None
    column = next((field for field in plan.columns if field.column == plan.policy.period), None)
    return f"CAST({source.expressions[column.alias].value if column else 'NULL'} AS VARCHAR)"


def periods_of_chunk(
    records: pa.Table, sql: str, on_reject: OnReject, connection: duckdb.DuckDBPyConnection
) -> ChunkPeriods:
    """The periods of the records of a chunk."""
    if not records.num_rows:
        return ()
    connection.register(SOURCE, records)
    found = connection.sql(f"SELECT {sql} AS period FROM {SOURCE}").to_arrow_table()  # noqa: S608 - generated names
    encoded = found.column(0).combine_chunks().dictionary_encode(null_encoding="encode")
    values: list[Any] = encoded.dictionary.to_pylist()
    if on_reject is not OnReject.ROWS or len(values) == 1 or len(values) > MOST_OF_CHUNK:
        return tuple((value, None) for value in values[: MOST_PERIODS + 1])
    codes = encoded.indices.to_numpy()
    return tuple((value, pa.array(codes == code)) for code, value in enumerate(values))


def delivered_period(chunks: Iterable[tuple[ChunkPeriods, NDArray[np.bool_] | None]]) -> DeliveredPeriod | None:
    """The period of a delivery by those of its chunks, each with the records that are rejected; None without accepted ones."""
    found: set[str | None] = set()
    for periods, rejected in chunks:
        found.update(_accepted(periods, rejected))
        if len(found - {None}) > MOST_PERIODS:
            break
    values = sorted(value for value in found if value is not None)
    is_one = len(values) == len(found) == 1
    digest = sha256_of(values[0].encode(errors="surrogatepass")) if is_one else None
    return DeliveredPeriod(min(len(values), MOST_PERIODS + 1), None in found, digest) if found else None


def _accepted(periods: ChunkPeriods, rejected: NDArray[np.bool_] | None) -> Iterator[str | None]:
    """The values that an accepted record of a chunk has, or may have."""
    for value, bitmap in periods:
        if rejected is None:
            yield value
            continue
        accepted = ~rejected if bitmap is None else bitmap.to_numpy(zero_copy_only=False) & ~rejected
        if accepted.any():
            yield value
