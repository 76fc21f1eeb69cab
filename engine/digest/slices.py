"""What ODF's common columns say of a slice: its offsets, operations and times (specification, *Common Data Schema*; RFC-015)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as is_type

from lakegate.contracts.errors import InputError
from lakegate.contracts.odf.columns import COMMON

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

OPERATIONS = ("append", "retract", "correctFrom", "correctTo")
"""By their number in the column `op`."""
_CORRECT_FROM, _CORRECT_TO = 2, 3


@dataclass(frozen=True, slots=True)
class SliceStatistics:
    """A slice of at least one row."""

    first_offset: int
    last_offset: int
    operations: Mapping[str, int]
    """Rows by operation."""
    system_times: tuple[datetime, datetime]
    """The earliest and the latest, in UTC."""
    event_times: tuple[datetime, datetime]
    """The earliest and the latest, in UTC; a date is its midnight."""


def statistics_of(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> SliceStatistics:
    """Read the common columns of all rows, in their order.

    InputError where one is missing, has another type or a null, where offsets are not consecutive, an operation is unknown, a
    correction is not a pair, a time is none of Python's, or there are no rows.
    """
    _check_types(schema)
    counts = np.zeros(len(OPERATIONS), dtype=np.int64)
    first = following = None
    pending = False
    times: list[list[datetime]] = [[], []]
    for batch in batches:
        columns = [batch.column(name) for name in COMMON]
        if any(each.null_count for each in columns):
            raise InputError("a common column has a null")
        if not batch.num_rows:
            continue
        offsets, operations = (np.asarray(each.cast("int64", safe=False)) for each in columns[:2])
        first = int(offsets[0]) if first is None else first
        follows = following in {None, int(offsets[0])}
        if offsets.min() < 0 or not follows or (np.diff(offsets) != 1).any():
            raise InputError("the offsets are not consecutive")
        following = int(offsets[-1]) + 1
        pending = _paired(operations, is_pending=pending)
        counts += np.bincount(operations, minlength=len(OPERATIONS))
        for found, each in zip(times, columns[2:], strict=True):
            found += [_moment(bound) for bound in pc.min_max(each).values()]
    if pending:
        raise InputError("a correction is not a pair")
    if first is None or following is None:
        raise InputError("a slice has at least one row")
    system, event = ((min(each), max(each)) for each in times)
    return SliceStatistics(first, following - 1, dict(zip(OPERATIONS, counts.tolist(), strict=True)), system, event)


def _check_types(schema: pa.Schema) -> None:
    """InputError where a common column is not one."""
    for name in COMMON:
        places = schema.get_all_field_indices(name)
        if len(places) != 1:
            raise InputError(f"a slice has one column {name}")
        found = schema.field(places[0]).type
        is_moment = is_type.is_timestamp(found) and found.tz == "UTC"
        if not (
            is_type.is_integer(found)
            if name in COMMON[:2]
            else is_moment or (name == "event_time" and is_type.is_date32(found))
        ):
            raise InputError(f"the column {name} has another type than in ODF ({found})")


def _paired(operations: np.ndarray[tuple[int], np.dtype[np.int64]], *, is_pending: bool) -> bool:
    """Whether the last row waits for the second half of its correction; InputError where a correction is not a pair."""
    if operations.min() < 0 or operations.max() >= len(OPERATIONS):
        raise InputError("an operation is none of ODF's: 0 to 3")
    begins, ends = operations == _CORRECT_FROM, operations == _CORRECT_TO
    if not np.array_equal(ends, np.concatenate(([is_pending], begins[:-1]))):
        raise InputError("a correction is not a pair")
    return bool(begins[-1])


def _moment(bound: pa.Scalar) -> datetime:
    try:
        found: date = (bound if is_type.is_date32(bound.type) else bound.cast(pa.timestamp("us", "UTC"))).as_py()
    except (ValueError, OverflowError):
        raise InputError("a time is beyond the years 1 to 9999, or finer than microseconds") from None
    return found if isinstance(found, datetime) else datetime.combine(found, time(), UTC)
