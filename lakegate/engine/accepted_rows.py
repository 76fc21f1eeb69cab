"""Accepted rows as typed tables, divided into files of Parquet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import pyarrow as pa

from lakegate.contract.delivery_policy import OnReject
from lakegate.engine.measure.chunk_queries import ChunkQueries
from lakegate.engine.read.data_source import ROW, Source
from lakegate.engine.rejected_rows import Rejected
from lakegate.plan.plan import Plan

if TYPE_CHECKING:
    import duckdb
    from numpy.typing import NDArray

    from lakegate.engine.measure.partial_results import Partial
    from lakegate.engine.typed_columns import TypedColumns

    ShareLines: TypeAlias = tuple[int, NDArray[np.int64]]
    """The number of a share, and the lines of its accepted records."""

# Consecutive shares are put together until a file is large enough. The division depends on the delivery alone, not on the
# engine: every engine writes the same files.


FILE_ROWS: Final = 1 << 20
FILE_SHARES: Final = 32
"""A file ends with the share that reaches one of the two."""


@dataclass(frozen=True, slots=True)
class RowsOfFile:
    """The accepted rows of consecutive shares, which become one file."""

    lines: tuple[ShareLines, ...]

    @property
    def count(self) -> int:
        """The number of rows."""
        return sum(len(lines) for _, lines in self.lines)

    def tables(self, columns: TypedColumns, connection: duckdb.DuckDBPyConnection) -> Iterator[pa.Table]:
        """The rows as typed columns."""
        queries = ChunkQueries(connection)
        for number, lines in self.lines:
            share = columns.source.shares[number]
            for chunk in columns.source.chunks(share) if len(lines) else ():
                accepted = np.isin(chunk.records.column(ROW).to_numpy(), lines, assume_unique=True)
                if accepted.any():
                    yield columns.table(chunk, queries).filter(pa.array(accepted))


@dataclass(frozen=True, slots=True)
class AcceptedRows:
    """The rows of an accepted delivery, but for the rejected ones."""

    plan: Plan
    source: Source
    rejected: Rejected

    def files(self) -> Iterator[RowsOfFile]:
        """The rows of each file; none of a delivery without rows."""
        return _divided(self._lines(partial) for partial in self.rejected.partials)

    def _lines(self, partial: Partial) -> ShareLines:
        lines, broken = self.rejected.reasons(partial)
        is_whole = self.plan.policy.on_reject is OnReject.FILE
        return partial.number, lines if is_whole else lines[broken == 0]


def readable_rows(source: Source) -> Iterator[RowsOfFile]:
    """Every row of a source that can be read, divided likewise: of accepted data, which was judged before."""
    return _divided(
        (number, np.concatenate([_none(), *(chunk.records.column(ROW).to_numpy() for chunk in source.chunks(share))]))
        for number, share in enumerate(source.shares)
    )


def _none() -> NDArray[np.int64]:
    return np.empty(0, np.int64)


def _divided(shares: Iterable[ShareLines]) -> Iterator[RowsOfFile]:
    held: list[ShareLines] = []
    for each in shares:
        held.append(each)
        found = RowsOfFile(tuple(held))
        if found.count and (found.count >= FILE_ROWS or len(held) >= FILE_SHARES):
            yield found
            held = []
    if (last := RowsOfFile(tuple(held))).count:
        yield last
