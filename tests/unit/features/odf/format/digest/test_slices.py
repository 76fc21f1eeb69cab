"""What ODF's common columns say of a slice."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.base.errors import InputError
from lakegate.features.odf.format.logical_hash import OPERATIONS, SliceStatistics, statistics_of
from tests.reference.sampling import sampled

NOW = datetime(2026, 11, 23, 1, 20, tzinfo=UTC)
HOUR = timedelta(hours=1)
MOMENT = pa.timestamp("ms", "UTC")
TYPES = {"offset": pa.uint64(), "op": pa.uint8(), "system_time": MOMENT, "event_time": MOMENT}
PAIR = {"offset": [7, 8, 9], "op": [0, 2, 3], "system_time": [NOW] * 3, "event_time": [NOW - HOUR, NOW, NOW - 3 * HOUR]}
FOUND = SliceStatistics(
    7, 9, {"append": 1, "retract": 0, "correctFrom": 1, "correctTo": 1}, (NOW, NOW), (NOW - 3 * HOUR, NOW)
)


def batch(**changes: Any) -> pa.RecordBatch:
    """Rows of a slice, with some other columns."""
    columns = PAIR | changes
    arrays = {
        name: each if isinstance(each, pa.Array) else pa.array(each, TYPES[name]) for name, each in columns.items()
    }
    return pa.record_batch(arrays)


def statistics(found: pa.RecordBatch, *cuts: int) -> SliceStatistics:
    """The statistics of rows that come in parts."""
    bounds = [0, *cuts, found.num_rows]
    parts = [found.slice(begin, end - begin) for begin, end in pairwise(bounds)]
    return statistics_of(found.schema, parts)


@pytest.mark.parametrize("cuts", [(), (1,), (2,), (1, 1, 2), (0, 3)])
def test_a_slice_has_offsets_operations_and_times(cuts: tuple[int, ...]) -> None:
    """However it is divided into batches, also between the halves of a correction."""
    assert statistics(batch(), *cuts) == FOUND


def test_event_times_may_be_dates() -> None:
    """A date is its midnight in UTC."""
    days = pa.array([date(2026, 11, 23), date(2026, 11, 21), date(2026, 11, 22)])
    bounds = (datetime(2026, 11, 21, tzinfo=UTC), datetime(2026, 11, 23, tzinfo=UTC))

    assert statistics(batch(event_time=days), 1).event_times == bounds


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"offset": [7, 9, 10]}, "the offsets are not consecutive"),
        ({"offset": [7, 7, 8]}, "the offsets are not consecutive"),
        ({"offset": [9, 8, 7]}, "the offsets are not consecutive"),
        ({"offset": pa.array([-1, 0, 1])}, "the offsets are not consecutive"),
        ({"offset": [(1 << 63) - 1, 1 << 63, (1 << 63) + 1]}, "the offsets are not consecutive"),
        ({"op": [0, 4, 0]}, "an operation is none of ODF's: 0 to 3"),
        ({"op": pa.array([0, -1, 0], pa.int8())}, "an operation is none of ODF's: 0 to 3"),
        ({"op": [3, 0, 0]}, "a correction is not a pair"),
        ({"op": [0, 0, 2]}, "a correction is not a pair"),
        ({"op": [2, 0, 3]}, "a correction is not a pair"),
        ({"op": [2, 2, 3]}, "a correction is not a pair"),
        ({"op": [0, None, 0]}, "a common column has a null"),
        ({"event_time": [None, NOW, NOW]}, "a common column has a null"),
        ({"op": pa.array(["a"] * 3)}, "the column op has another type than in ODF (string)"),
        ({"offset": pa.array([7.0, 8.0, 9.0])}, "the column offset has another type than in ODF (double)"),
        (
            {"system_time": pa.array([date(2026, 11, 23)] * 3)},
            "the column system_time has another type than in ODF (date32[day])",
        ),
        (
            {"event_time": pa.array([0] * 3, pa.timestamp("ms"))},
            "the column event_time has another type than in ODF (timestamp[ms])",
        ),
    ],
)
@pytest.mark.parametrize("cuts", [(), (1,), (2,), (1, 2)])
def test_what_is_no_slice_is_refused(changes: dict[str, Any], reason: str, cuts: tuple[int, ...]) -> None:
    """With the reason, wherever batches end."""
    with pytest.raises(InputError) as error:
        statistics(batch(**changes), *cuts)

    assert str(error.value) == reason


def test_a_slice_has_rows_and_each_common_column_once() -> None:
    """No rows, a missing column and a repeated one are refused."""
    full = batch()
    twice = pa.record_batch([*full.columns, full.column(0)], [*full.schema.names, "offset"])
    reasons = []
    for found in (full.slice(0, 0), full.drop_columns(["op"]), twice):
        with pytest.raises(InputError) as error:
            statistics(found)
        reasons.append(str(error.value))

    assert reasons == ["a slice has at least one row", "a slice has one column op", "a slice has one column offset"]


@pytest.mark.parametrize(("unit", "number"), [("ms", 1 << 62), ("ms", -(1 << 62)), ("ns", 1)])
def test_a_time_that_is_none_is_refused(unit: str, number: int) -> None:
    """Beyond the calendar, or finer than microseconds."""
    with pytest.raises(InputError) as error:
        statistics(batch(event_time=pa.array([number] * 3, pa.timestamp(unit, "UTC"))))

    assert str(error.value) == "a time is beyond the years 1 to 9999, or finer than microseconds"


@sampled(100, 5_000)
@given(st.integers(0, 1 << 60), st.lists(st.sampled_from([(0,), (1,), (2, 3)]), min_size=1, max_size=20), st.data())
def test_every_sequence_of_events_is_counted(first: int, events: list[tuple[int, ...]], data: st.DataObject) -> None:
    """Appends, retractions and corrections in any order and in any batches."""
    operations = [each for event in events for each in event]
    minutes = data.draw(st.lists(st.integers(-1000, 1000), min_size=len(operations), max_size=len(operations)))
    times = [NOW + timedelta(minutes=each) for each in minutes]
    offsets = list(range(first, first + len(operations)))
    found = batch(offset=offsets, op=operations, system_time=[NOW] * len(operations), event_time=times)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(operations)))))
    counts = {name: operations.count(number) for number, name in enumerate(OPERATIONS)}

    assert statistics(found, *cuts) == SliceStatistics(
        first, first + len(operations) - 1, counts, (NOW, NOW), (min(times), max(times))
    )
