"""Values of the texts of a chunk: those of types with an order are computed once, whatever predicates ask of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakegate.contract.logical_types import GRAMMARS, Cast, LogicalType
from lakegate.engine.evaluate.predicate_sql import FIELDS_OF_QUERY, SOURCE, Program
from lakegate.engine.evaluate.typed_values import LONGEST_PLAIN, PLAIN, present_name, value_name
from lakegate.engine.measure.chunk_queries import ChunkQueries
from lakegate.engine.read.data_source import Expression
from lakegate.engine.read.json import own_name
from lakegate.plan.plan import PlanField

ORDERED: Final[Mapping[LogicalType, tuple[Callable[[pa.DataType], bool], ...]]] = {
    LogicalType.INTEGER: (pa.types.is_integer,),
    LogicalType.NUMBER: (pa.types.is_integer, pa.types.is_float64),
    LogicalType.DATE: (pa.types.is_date32,),
    LogicalType.TIMESTAMP: (pa.types.is_timestamp,),
}
"""Columns in whose order the values of the field's type are a range, and stand in the order of that type."""
_ARROW: Final = {Cast.LONG: pa.int64(), Cast.DOUBLE: pa.float64()}
"""Types to which Arrow casts a plain text as DuckDB does, in half of the time; it refuses some, which DuckDB decides about."""


def with_values(
    program: Program, table: pa.Table, expressions: Mapping[str, Expression], queries: ChunkQueries
) -> pa.Table:
    """A chunk with the values of texts, and with what `count_texts` needs of them."""
    there, values = set(table.column_names), dict[str, pa.ChunkedArray]()
    left: list[str] = []
    for own in program.own:
        read = expressions[own.alias]
        if own.type not in ORDERED or read.raw not in there or not pa.types.is_string(table.column(read.raw).type):
            continue
        texts = table.column(read.raw)
        if texts.null_count == len(texts):
            continue
        alphabet = PLAIN.get(GRAMMARS[own.type].cast) if read.plain else None
        is_plain = alphabet is not None and _consists_of(texts, alphabet)
        is_text_alone = read.column == read.raw and own_name(own.alias) not in there
        found = _cast(texts, own) if is_plain and is_text_alone else None
        if found is not None:
            values[value_name(own.alias)] = found
            continue
        left.append(f"{read.plain if is_plain else read.value} AS {value_name(own.alias)}")
        if not read.column:
            left.append(f"{read.text} IS NOT NULL AS {present_name(own.alias)}")
    for start in range(0, len(left), FIELDS_OF_QUERY):
        query = f"SELECT {', '.join(left[start : start + FIELDS_OF_QUERY])} FROM {SOURCE}"  # noqa: S608 - generated names
        computed = queries.table(table, query)
        values |= dict(zip(computed.column_names, computed.columns, strict=True))
    return table if not values else pa.table(dict(zip(table.column_names, table.columns, strict=True)) | values)


def count_texts(own: PlanField, expression: Expression, table: pa.Table) -> int:
    """Records of a chunk in which a field has a text."""
    if expression.column:
        return len(table) - int(table.column(expression.column).null_count)
    return pc.sum(table.column(present_name(own.alias))).as_py() or 0


def _cast(texts: pa.ChunkedArray, own: PlanField) -> pa.ChunkedArray | None:
    try:
        return pc.cast(texts, _ARROW[GRAMMARS[own.type].cast])
    except pa.ArrowInvalid:
        return None


def _consists_of(texts: pa.ChunkedArray, alphabet: bytes) -> bool:
    """Whether all texts of a column consist of these characters, and are no longer than the grammars allow."""
    for chunk in texts.chunks:
        data = chunk.buffers()[2]
        if data is None or not len(chunk):
            continue
        bounds = np.frombuffer(chunk.buffers()[1], np.int32)[chunk.offset : chunk.offset + len(chunk) + 1]
        if bytes(memoryview(data)[bounds[0] : bounds[-1]]).translate(None, alphabet):
            return False
        if np.diff(bounds).max() > LONGEST_PLAIN:
            return False
    return True
