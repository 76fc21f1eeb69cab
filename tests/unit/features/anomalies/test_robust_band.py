"""The band of usual numbers: silent without history, equal numbers are usual, weekdays and months where they differ."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.features.anomalies.robust_band import FEWEST, Band, Past, Scale, unusual
from tests.reference.sampling import sampled

MONDAY = datetime(2026, 1, 5, 6, tzinfo=UTC)
DAY = timedelta(days=1)
FINITE = st.floats(-1e299, 1e299)
NUMBERS = {
    Scale.COUNT: st.integers(0, 10**12).map(float),
    Scale.SHARE: st.floats(0, 1),
    Scale.DURATION: FINITE,
    Scale.VALUE: FINITE,
}
SCALES = st.sampled_from(Scale)


def daily(numbers: Sequence[float], since: datetime = MONDAY) -> list[Past]:
    """One number a day, the newest first; the next delivery lands a day after it."""
    return [Past(since + DAY * at, number) for at, number in enumerate(numbers)][::-1]


def compared(scale: Scale, numbers: Sequence[float], number: float, rows: float = 1e6) -> Band | None:
    """The band that the number of the next day is outside of."""
    return unusual(scale, MONDAY + DAY * len(numbers), daily(numbers), number, rows)


@sampled(300, 10_000)
@given(
    SCALES.flatmap(
        lambda scale: st.tuples(st.just(scale), st.lists(NUMBERS[scale], max_size=FEWEST - 1), NUMBERS[scale])
    )
)
def test_nothing_is_said_before_there_is_history_enough(case: tuple[Scale, list[float], float]) -> None:
    """Whatever the few numbers are."""
    assert compared(*case) is None


@sampled(300, 10_000)
@given(SCALES.flatmap(lambda scale: st.tuples(st.just(scale), NUMBERS[scale])), st.integers(FEWEST, 140))
def test_a_number_that_never_changed_is_usual(case: tuple[Scale, float], count: int) -> None:
    """Although its spread is 0."""
    scale, number = case

    assert compared(scale, [number] * count, number) is None


@sampled(300, 10_000)
@given(
    SCALES.flatmap(
        lambda scale: st.tuples(st.just(scale), st.lists(NUMBERS[scale], min_size=FEWEST, max_size=140), NUMBERS[scale])
    )
)
def test_a_band_has_its_median_and_not_the_number(case: tuple[Scale, list[float], float]) -> None:
    """Every history has one, whose ends are finite; a repetition says the same."""
    scale, numbers, number = case
    found = compared(scale, numbers, number)

    assert found == compared(scale, numbers, number)
    if found is not None:
        assert -float("inf") < found.low <= found.median <= found.high < float("inf")
        assert not found.low <= number <= found.high


@sampled(200, 10_000)
@given(
    SCALES.flatmap(
        lambda scale: st.tuples(st.just(scale), st.lists(NUMBERS[scale], min_size=FEWEST, max_size=60), NUMBERS[scale])
    )
)
def test_what_came_twice_before_is_usual(case: tuple[Scale, list[float], float]) -> None:
    """A mode that few deliveries have is no anomaly for ever."""
    scale, numbers, number = case
    same_day = [Past(MONDAY - DAY * 7 * at, each) for at, each in enumerate([number, number, *numbers])]

    assert unusual(scale, MONDAY, same_day, number) is None


ROWS = [2_000 + 10 * (at * 7 % 13) for at in range(30)]
"""A month of days with 2,000 to 2,120 rows."""
SHARES = [0.001 + 0.0001 * (at * 7 % 13) for at in range(30)]
HOURS = [3600.0 * (24 + 0.01 * (at * 7 % 13)) for at in range(30)]
MEANS = [12.5 + 0.1 * (at * 7 % 13) for at in range(30)]


@pytest.mark.parametrize(
    ("scale", "numbers", "number"),
    [
        (Scale.COUNT, ROWS, 1_000.0),
        (Scale.COUNT, ROWS, 20_000.0),
        (Scale.COUNT, ROWS, 0.0),
        (Scale.COUNT, [100] * FEWEST, 50.0),
        (Scale.SHARE, SHARES, 0.3),
        (Scale.SHARE, [0.0] * FEWEST, 0.02),
        (Scale.DURATION, HOURS, 3600.0 * 36),
        (Scale.VALUE, MEANS, 1250.0),
        (Scale.VALUE, MEANS, -12.5),
        (Scale.VALUE, MEANS, 0.0),
        (Scale.VALUE, [-each for each in MEANS], -1250.0),
        (Scale.VALUE, [-each for each in MEANS], 12.5),
        (Scale.VALUE, [each - 13 for each in MEANS], 20.0),
    ],
)
def test_what_people_would_notice_is_found(scale: Scale, numbers: list[float], number: float) -> None:
    """Half and ten times the rows, nulls in three of ten rows, half a day of delay, cents in place of euros."""
    assert compared(scale, numbers, number) is not None


@pytest.mark.parametrize(
    ("scale", "numbers", "number", "rows"),
    [
        (Scale.COUNT, ROWS, 2_150.0, 2_150),
        (Scale.COUNT, [1_000] * FEWEST, 1_050.0, 1_050),
        (Scale.COUNT, [3] * FEWEST, 7.0, 7),
        (Scale.SHARE, SHARES, 0.004, 2_000),
        (Scale.SHARE, [0.0] * FEWEST, 0.03, 100),
        (Scale.DURATION, [300.0] * FEWEST, 3600.0, 1),
        (Scale.DURATION, HOURS, 3600.0 * 25, 1),
        (Scale.VALUE, MEANS, 13.9, 1),
        (Scale.VALUE, [0.0] * FEWEST, 0.0, 1),
    ],
)
def test_what_changes_by_chance_is_not_found(scale: Scale, numbers: list[float], number: float, rows: float) -> None:
    """Some percent of a count, three rows of a hundred, an hour of delay."""
    assert compared(scale, numbers, number, rows) is None


def test_a_delivery_is_compared_with_its_weekday_where_weekdays_differ() -> None:
    """The rows of a Sunday are too few for a Monday, and the band names the Mondays."""
    weeks = [rows + week for week in range(20) for rows in (2_000, 2_010, 1_990, 2_005, 1_995, 200, 210)]
    past = daily(weeks)
    found = unusual(Scale.COUNT, MONDAY + DAY * 140, past, 205.0)

    assert found is not None
    assert (found.season, found.deliveries, round(found.median, 1)) == ("Mondays", 20, 2_009.5)
    assert unusual(Scale.COUNT, MONDAY + DAY * 145, past, 205.0) is None


def test_a_weekday_without_history_enough_is_not_compared() -> None:
    """The first deliveries on a Sunday are no anomaly, where the other days differ from each other."""
    weeks = [(week, day, rows) for week in range(20) for day, rows in enumerate((2_000, 400, 2_010, 390, 2_005, 410))]
    past = [Past(MONDAY + DAY * (7 * week + day), float(rows)) for week, day, rows in weeks][::-1]
    sunday = MONDAY + DAY * (7 * 19 + 6)

    assert unusual(Scale.COUNT, sunday, past, 20.0) is None
    assert unusual(Scale.COUNT, sunday + DAY, past, 20.0) is not None


def test_a_delivery_is_compared_with_its_month_where_months_differ() -> None:
    """Twelve deliveries a year, over years."""
    months = [
        Past(datetime(year, month, 1, tzinfo=UTC), 5_000.0 + year if month == 12 else 1_000.0 + 100 * month)
        for year in range(2016, 2026)
        for month in range(1, 13)
    ]
    december = datetime(2026, 12, 1, tzinfo=UTC)
    found = unusual(Scale.COUNT, december, months[::-1], 1_000.0)

    assert found is not None
    assert (found.season, found.deliveries) == ("Decembers", 10)


def test_times_of_any_zone_are_compared_by_their_day_in_utc() -> None:
    """A history of another zone is the same one."""
    weeks = [rows + week for week in range(20) for rows in (2_000, 2_010, 1_990, 2_005, 1_995, 200, 210)]
    zone = datetime.fromisoformat("2026-01-01T00:00:00-08:00").tzinfo
    past = [Past(each.at.astimezone(zone), each.number) for each in daily(weeks)]
    at = (MONDAY + DAY * 140).astimezone(zone)

    assert unusual(Scale.COUNT, at, past, 205.0) == unusual(Scale.COUNT, MONDAY + DAY * 140, daily(weeks), 205.0)
