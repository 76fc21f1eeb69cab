"""The accepted rows of a delivery as slices: which shares are one slice, where it begins, and its file.

Consecutive shares are put together until a slice is large enough. The division depends on the delivery alone, not on the
engine: every engine writes the same slices.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from lakegate.contracts.lake.lifecycle import instant_of, moment
from lakegate.contracts.model.policy import OnReject
from lakegate.contracts.plan.slices import WrittenSlice
from lakegate.engine.read.chunk import ROW
from lakegate.engine.slices.columns import SliceColumns
from lakegate.engine.slices.writer import Begin, write_slice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    import duckdb
    from numpy.typing import NDArray

    from lakegate.contracts.plan.plan import Plan
    from lakegate.contracts.plan.request import Request
    from lakegate.engine.read.chunk import Source
    from lakegate.engine.split.rejected import Rejected

    Keep = Callable[[Path, str], str]
    """Puts a file at an address that has no object yet; returns the ETag or checksum of the object."""

SLICE_ROWS: Final = 1 << 20
SLICE_SHARES: Final = 32
"""A slice ends with the share that reaches one of the two."""


@dataclass(frozen=True, slots=True)
class SharesOfSlice:
    """The accepted rows of consecutive shares, which become one slice."""

    uri: str
    begin: Begin
    lines: tuple[tuple[int, NDArray[np.int64]], ...]
    """Of each share its number and the lines of its accepted records."""

    def write(
        self, columns: SliceColumns, connection: duckdb.DuckDBPyConnection, folder: Path, keep: Keep
    ) -> WrittenSlice:
        """Write it by way of a folder of this machine; `connection`: a database that is not locked."""
        return written_slice(self.rows(columns, connection), columns.schema, self.begin, self.uri, folder, keep)

    def rows(self, columns: SliceColumns, connection: duckdb.DuckDBPyConnection) -> Iterator[pa.Table]:
        """Its accepted rows as typed columns."""
        for number, lines in self.lines:
            share = columns.source.shares[number]
            for chunk in columns.source.chunks(share) if len(lines) else ():
                accepted = np.isin(chunk.records.column(ROW).to_numpy(), lines, assume_unique=True)
                if accepted.any():
                    yield columns.table(chunk, connection).filter(pa.array(accepted))


def written_slice(  # noqa: PLR0913, PLR0917 - rows with their columns, where they begin, and how they are stored
    rows: Iterable[pa.Table], schema: pa.Schema, begin: Begin, uri: str, folder: Path, keep: Keep
) -> WrittenSlice:
    """Write rows as a slice at an address, by way of a folder of this machine."""
    target = folder / "slice.parquet"
    found = write_slice(rows, schema, begin, target)
    etag = keep(target, uri)
    target.unlink()
    statistics = found.statistics
    first, last = statistics.event_times
    return WrittenSlice(
        uri,
        found.size,
        etag,
        statistics.last_offset + 1 - statistics.first_offset,
        statistics.first_offset,
        (moment(first), moment(last)),
        found.logical,
        found.physical,
        found.late,
    )


@dataclass(frozen=True, slots=True)
class AcceptedSlices:
    """The accepted rows of a delivery, divided into slices."""

    columns: SliceColumns
    slices: tuple[SharesOfSlice, ...]
    begin: Begin

    @staticmethod
    def of(plan: Plan, request: Request, source: Source, rejected: Rejected) -> AcceptedSlices:
        """Those that the request orders; its delivery is accepted."""
        order = request.slices
        assert order is not None
        watermark = instant_of(order.watermark) if order.watermark else None
        begin = Begin(order.offset, datetime.fromisoformat(request.judged_at), order.event_time, watermark)
        offset = order.offset
        found: list[SharesOfSlice] = []
        held: list[tuple[int, NDArray[np.int64]]] = []
        for at, partial in enumerate(rejected.partials, start=1):
            lines, broken = rejected.reasons(partial)
            held.append((partial.number, lines if plan.policy.on_reject is OnReject.FILE else lines[broken == 0]))
            rows = sum(len(each) for _, each in held)
            is_full = rows >= SLICE_ROWS or len(held) >= SLICE_SHARES or at == len(rejected.partials)
            if rows and is_full:
                uri = f"{request.output_uri}/slices/part-{len(found):05}.parquet"
                found.append(SharesOfSlice(uri, replace(begin, offset=offset), tuple(held)))
                offset, held = offset + rows, []
        return AcceptedSlices(SliceColumns(plan, source), tuple(found), begin)
