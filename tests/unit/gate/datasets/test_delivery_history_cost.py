"""What a page of a history reads does not grow with the line."""

from __future__ import annotations

from lakegate.gate.datasets.delivery_history import history
from tests.bench.history import LINE, filled, measured


def test_a_page_reads_as_much_of_a_long_line_as_of_a_short_one() -> None:
    """Also of the deliveries that break a rule: a scan would read every item."""
    costs = []
    for count in (400, 800):
        twin, dependencies, rule = filled(count)
        pages = [measured(twin, lambda d=dependencies, r=each: history(d, LINE, rule=r)) for each in ("", rule)]  # type: ignore[misc]
        costs.append([(each.requests, each.items) for each in pages])

    assert costs == [[(1, 21), (1, 21)]] * 2
