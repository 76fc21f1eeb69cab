"""The rates of docs/operator.md, by some of the generated histories; `python -m tests.bench.anomalies` has all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.anomalies import IRREGULAR, REGULAR, AlarmRate, HistoryKind, rates, unusual_flights

FOUND = {
    **{("constant rows", change): 0.85 for change in ("half", "tenfold")},
    **{("rows by chance alone", change): 0.85 for change in ("half", "tenfold")},
    ("noisy rows", "tenfold"): 0.95,
    ("rows by weekday", "tenfold"): 0.75,
    ("null shares", "30 points more"): 0.9,
    ("means", "100 times"): 0.95,
    ("daily deliveries", "one missed"): 0.95,
    ("deliveries on workdays", "one missed"): 0.9,
}
"""The least share of changed deliveries that is found: of those that come first, and are compared with few."""


def test_usual_deliveries_are_seldom_called_unusual() -> None:
    """Of regular histories fewer than one number in a thousand; of those that change, one in fifty."""
    regular, irregular = AlarmRate(), AlarmRate()
    for total, kinds in ((regular, REGULAR), (irregular, IRREGULAR)):
        for kind in kinds:
            false, _ = rates(kind._replace(changes=()), 4)
            total.deliveries, total.alarms = total.deliveries + false.deliveries, total.alarms + false.alarms

    assert regular.deliveries > 10_000
    assert regular.share < 0.001
    assert irregular.share < 0.02


@pytest.mark.parametrize(
    "kind", [kind for kind in REGULAR if kind.name in {name for name, _ in FOUND}], ids=lambda kind: kind.name
)
def test_what_people_would_notice_is_found_in_most_deliveries(kind: HistoryKind) -> None:
    """Half and ten times the rows, nulls, cents, and a delivery that did not come."""
    _, found = rates(kind, 4)

    assert {name for name, rate in found.items() if rate.share < FOUND.get((kind.name, name), 0)} == set()


def test_flights_of_a_file_are_deliveries_of_a_day(tmp_path: Path) -> None:
    """On the last of twenty days there are ten flights in place of a hundred."""
    file = tmp_path / "flights.csv"
    days = [(day, flight) for day in range(1, 21) for flight in range(10 if day == 20 else 100)]
    rows = (f"2013,1,{day},{517 + at},2,N{at},IAH,220,1400" for day, at in days)
    file.write_text("\n".join(["year,month,day,dep_time,dep_delay,tailnum,dest,air_time,distance", *rows]))

    assert list(unusual_flights(str(file))) == [
        "2013-01-20 Sunday: rows 10",
        "2013-01-20 Sunday: distinct tailnum 10",
        "2013-01-20 Sunday: sum of distance 14000",
        "    3 of      48 (6.250%)",
    ]
