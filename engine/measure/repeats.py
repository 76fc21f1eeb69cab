"""Patterns searched for once in each distinct value of a column whose values repeat, such as days and codes.

A text depends on the value of one raw column only: equal values have equal texts, for which a search has the same result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from lakegate.engine.evaluate.program import SOURCE

if TYPE_CHECKING:
    from collections.abc import Mapping

    import duckdb

    from lakegate.engine.evaluate.program import Program
    from lakegate.engine.read.chunk import Expression

LOOKED_AT = 4096
"""Rows at the beginning of a chunk that decide whether values repeat; smaller chunks are searched directly."""
MAX_DISTINCT = LOOKED_AT // 8
"""Distinct values among them at the most."""


def with_searches(
    program: Program, table: pa.Table, expressions: Mapping[str, Expression], connection: duckdb.DuckDBPyConnection
) -> tuple[pa.Table, tuple[str, ...]]:
    """The raw columns of a chunk with the searches of fields whose values repeat, and the aliases of these fields."""
    searched = tuple(alias for alias in program.searches if _repeats(table, expressions[alias].raw))
    for alias in searched:
        raw = expressions[alias].raw
        encoded = table.column(raw).combine_chunks().dictionary_encode()
        connection.register(SOURCE, pa.table({raw: encoded.dictionary}))
        found = connection.sql(program.search(alias, expressions[alias].text)).to_arrow_table()
        for name in found.column_names:
            table = table.append_column(name, found.column(name).take(encoded.indices))
    return table, searched


def _repeats(table: pa.Table, raw: str) -> bool:
    """Whether the values of a raw column repeat; 0 and -0 would count as one float, but have two texts."""
    if not raw or table.num_rows < LOOKED_AT or pa.types.is_floating(table.column(raw).type):
        return False
    return len(table.column(raw).slice(0, LOOKED_AT).unique()) <= MAX_DISTINCT
