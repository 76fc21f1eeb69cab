"""Which slices of a manifest a projection needs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.base.errors import InputError
from lakegate.gate.datasets.slice_projection import NOTHING, Projection, Selected, select, time_of

DAY = datetime(2026, 11, 1, tzinfo=UTC)


def at(days: int) -> datetime:
    return DAY + timedelta(days=days)


def text(days: int) -> str:
    return f"{at(days):%Y-%m-%dT%H:%M:%S.%fZ}"


def listed(height: int, published: int, *slices: tuple[int, int]) -> dict[str, Any]:
    """A delivery of a manifest: when it was published, and for each slice its earliest and its latest event, in days."""
    keys = [f"{height}-{number}" for number in range(len(slices))]
    return {
        "height": height,
        "published_at": text(published),
        "objects": [{"key": key} for key in keys],
        "slices": [
            {"key": key, "offset": height * 10 + number, "event_time": [text(first), text(last)]}
            for number, (key, (first, last)) in enumerate(zip(keys, slices, strict=True))
        ],
    }


LINE = [listed(0, 1, (0, 1)), listed(2, 3, (2, 2), (1, 3)), listed(3, 4), listed(5, 6, (0, 0))]


@pytest.mark.parametrize(
    ("wanted", "keys", "skipped", "height"),
    [
        (Projection(), ("0-0", "2-0", "2-1", "5-0"), 0, 5),
        (Projection(as_at=at(3)), ("0-0", "2-0", "2-1"), 1, 2),
        (Projection(as_at=at(4)), ("0-0", "2-0", "2-1"), 1, 3),
        (Projection(as_at=at(0)), (), 4, NOTHING),
        (Projection(as_of=at(1)), ("0-0", "2-1", "5-0"), 1, 5),
        (Projection(as_of=at(-1)), (), 4, 5),
        (Projection(since=0), ("2-0", "2-1", "5-0"), 1, 5),
        (Projection(since=5), (), 4, NOTHING),
        (Projection(at(3), at(1), 0), ("2-1",), 3, 2),
    ],
    ids=str,
)
def test_only_slices_that_may_have_rows_of_the_answer_are_read(
    wanted: Projection, keys: tuple[str, ...], skipped: int, height: int
) -> None:
    """By the time of publication, the earliest event and the height; both times include the moment itself."""
    found = select(LINE, wanted)

    assert (found.keys, found.skipped, found.unsliced, found.height) == (keys, skipped, 0, height)
    assert [each["height"] for each in found.deliveries] == sorted({int(key[0]) for key in keys})


def test_files_as_they_arrived_are_counted() -> None:
    """Deliveries from before the line had slices."""
    of_today = {name: value for name, value in listed(0, 1, (0, 1)).items() if name != "slices"}
    later = {"height": 1, "workload": "a", "published_at": text(1), "objects": [{"key": "x"}]}
    empty = {"height": 2, "workload": "b", "published_at": text(1), "objects": []}

    assert select([of_today, later, empty], Projection()) == Selected((), (), 0, 2, 2)
    assert select([of_today, later], Projection(as_at=at(0))) == Selected((), (), 0, 0, NOTHING)
    assert select([of_today, later], Projection(as_at=at(1))) == Selected((), (), 0, 2, 1)


def test_slices_are_read_in_the_order_of_their_offsets() -> None:
    """Whatever the order of the manifest is."""
    assert select(LINE[::-1], Projection()).keys == ("0-0", "2-0", "2-1", "5-0")


times = st.integers(0, 5)
events = st.lists(st.tuples(times, times).map(lambda pair: (min(pair), max(pair))), max_size=3)


@given(st.lists(st.tuples(times, events), max_size=5), st.none() | times, st.none() | times, st.integers(-1, 5))
def test_no_slice_is_missing_and_none_is_read_in_vain(
    line: list[tuple[int, list[tuple[int, int]]]], as_at: int | None, as_of: int | None, since: int
) -> None:
    """A slice is read if and only if its delivery belongs to the answer, and its earliest event does."""
    deliveries = [listed(height, published, *slices) for height, (published, slices) in enumerate(line)]
    wanted = Projection(None if as_at is None else at(as_at), None if as_of is None else at(as_of), since)
    found = select(deliveries, wanted)
    expected = [
        f"{height}-{number}"
        for height, (published, slices) in enumerate(line)
        for number, (first, _) in enumerate(slices)
        if height > since and (as_at is None or published <= as_at) and (as_of is None or first <= as_of)
    ]

    assert (list(found.keys), found.skipped) == (expected, sum(len(slices) for _, slices in line) - len(expected))


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("2026-11-24", datetime(2026, 11, 24, tzinfo=UTC)),
        ("2026-11-24T17:55:00Z", datetime(2026, 11, 24, 17, 55, tzinfo=UTC)),
        ("2026-11-24 17:55:00.5+01:00", datetime(2026, 11, 24, 16, 55, 0, 500_000, tzinfo=UTC)),
    ],
)
def test_a_time_is_a_day_or_has_a_zone(written: str, expected: datetime) -> None:
    """A day begins at midnight, UTC."""
    assert time_of(written) == expected
    assert time_of(written).tzinfo is UTC


@pytest.mark.parametrize("written", ["", "yesterday", "2026-11-24T17:55:00", "20261124", "0001-01-01T00:00:00+23:00"])
def test_a_time_without_a_zone_is_refused(written: str) -> None:
    """And every text that is no time."""
    with pytest.raises(InputError) as error:
        time_of(written)

    assert str(error.value) == f"`{written}` is no time: write 2026-11-24, or 2026-11-24T17:55:00Z with a zone"
