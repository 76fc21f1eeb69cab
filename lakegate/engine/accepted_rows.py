"""Accepted rows as typed tables, divided into files of Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from lakegate.contract.delivery_policy import OnReject
from lakegate.engine.read.data_source import ROW, Source
from lakegate.engine.rejected_rows import Rejected
from lakegate.plan.plan import Plan

if TYPE_CHECKING:
    import duckdb
    from numpy.typing import NDArray

    from lakegate.engine.typed_columns import TypedColumns

# Consecutive shares are put together until a file is large enough. The division depends on the delivery alone, not on the
# engine: every engine writes the same files.


FILE_ROWS: Final = 1 << 20
FILE_SHARES: Final = 32
"""A file ends with the share that reaches one of the two."""


@dataclass(frozen=True, slots=True)
class RowsOfFile:
    """The accepted rows of consecutive shares, which become one file."""

    lines: tuple[tuple[int, NDArray[np.int64]], ...]
    """Of each share its number and the lines of its accepted records."""

    @property
    def count(self) -> int:
        """The number of rows."""
        return sum(len(lines) for _, lines in self.lines)

    def tables(self, columns: TypedColumns, connection: duckdb.DuckDBPyConnection) -> Iterator[pa.Table]:
        """The rows as typed columns."""
        for number, lines in self.lines:
            share = columns.source.shares[number]
            for chunk in columns.source.chunks(share) if len(lines) else ():
                accepted = np.isin(chunk.records.column(ROW).to_numpy(), lines, assume_unique=True)
                if accepted.any():
                    yield columns.table(chunk, connection).filter(pa.array(accepted))


@dataclass(frozen=True, slots=True)
class AcceptedRows:
    """The rows of an accepted delivery, but for the rejected ones."""

    plan: Plan
    source: Source
    rejected: Rejected

    def files(self) -> Iterator[RowsOfFile]:
        """The rows of each file; none of a delivery without rows."""
        held: list[tuple[int, NDArray[np.int64]]] = []
        partials = self.rejected.partials
        for at, partial in enumerate(partials, start=1):
            lines, broken = self.rejected.reasons(partial)
            is_whole = self.plan.policy.on_reject is OnReject.FILE
            held.append((partial.number, lines if is_whole else lines[broken == 0]))
            found = RowsOfFile(tuple(held))
            is_full = found.count >= FILE_ROWS or len(held) >= FILE_SHARES or at == len(partials)
            if found.count and is_full:
                yield found
                held = []
