"""The rates of docs/operator.md, by some of the generated histories; `python -m tests.bench.anomalies` has all."""

from __future__ import annotations

import pytest

from tests.bench.anomalies import IRREGULAR, REGULAR, AlarmRate, HistoryKind, rates

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
