"""Slices built again from what arrived: the logical hash of the rows that each of them must have.

Rows are neither judged nor stored. What was accepted is known: the originals of a delivery are all of its accepted rows.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

from lakegate.contracts.door.file_signatures import UnreadableError
from lakegate.contracts.errors import InputError
from lakegate.contracts.odf.multihash import HashCode, multihash
from lakegate.engine.digest.logical import LogicalHash
from lakegate.engine.measure.tables import database
from lakegate.engine.read.open import open_source
from lakegate.engine.slices.columns import SliceColumns
from lakegate.engine.slices.writer import schema_of, with_common

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    import pyarrow as pa

    from lakegate.contracts.plan.plan import Plan
    from lakegate.contracts.plan.request import StagedPart
    from lakegate.engine.read.chunk import Store
    from lakegate.engine.slices.writer import Begin


def logical_hashes(  # noqa: PLR0913, PLR0917 - what arrived, and where the slices begin and end
    plan: Plan, parts: tuple[StagedPart, ...], store: Store, begin: Begin, counts: Sequence[int], folder: Path
) -> tuple[str, ...]:
    """The logical hash of each slice, of which the numbers of rows are known, as multihashes.

    One more hash for rows beyond the last slice, and fewer hashes if there are not enough rows. InputError where an object cannot
    be read by the plan.
    """
    found: list[LogicalHash] = []
    try:
        columns = SliceColumns(plan, open_source(plan, parts, store))
        whole, offset = schema_of(columns.schema), begin.offset
        for at, rows in _of_slices(_tables(columns, folder), counts):
            while len(found) <= at:
                found.append(LogicalHash(whole))
            found[at].update(with_common(rows, whole, begin, offset))
            offset += len(rows)
    except UnreadableError as error:
        raise InputError(f"an original cannot be read by its plan: {error}") from None
    return tuple(multihash(HashCode.ARROW0_SHA3_256, each.digest()) for each in found)


def _tables(columns: SliceColumns, folder: Path) -> Iterator[pa.Table]:
    with database(folder) as connection:
        for share in columns.source.shares:
            for chunk in columns.source.chunks(share):
                yield columns.table(chunk, connection)


def _of_slices(tables: Iterable[pa.Table], counts: Sequence[int]) -> Iterator[tuple[int, pa.Table]]:
    """The same rows in pieces, each with the number of its slice; rows beyond the last one have the next number."""
    ends, position = list(accumulate(counts)), 0
    for table in tables:
        rest = table
        while len(rest):
            at = bisect_right(ends, position)
            piece = rest[: ends[at] - position] if at < len(ends) else rest
            yield at, piece
            position, rest = position + len(piece), rest[len(piece) :]
