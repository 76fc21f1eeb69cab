"""`lakegate cost`: what deliveries cost."""

from __future__ import annotations

from dataclasses import asdict

from lakegate.plan.billed_cost import BilledCost
from tests.unit.cli.conftest import Lakegate

KNOWN = BilledCost(60.0, 210.0, 0.0012, "USD", "2026-11-22")


def test_costs_are_added_up(lakegate: Lakegate) -> None:
    """By line, producer or day; a delivery of unknown cost is counted, and costs nothing."""
    lakegate.routed()
    known, _ = lakegate.delivered(), lakegate.delivered(name="other.csv", body=b"id,amount\nx,1\ny,2\nz,3\nw,4\n")
    lakegate.overwrite(known, lambda row: row.update(cost=asdict(KNOWN)))
    group = {"name": "shop/orders_v1", "deliveries": 2, "unknown": 1, "cost": asdict(KNOWN)}

    assert lakegate.json("cost") == {"by": "line", "groups": [group]}
    assert lakegate.json("cost", "--by", "producer")["groups"] == [{**group, "name": "orders/"}]
    assert lakegate.json("cost", "--by", "day", "--since", "2999-01-01")["groups"] == []
    assert lakegate.ok("cost").splitlines()[1].split() == [
        *("shop/orders_v1", "2", "1", "60.0", "210.0", "0.001200", "USD")
    ]


def test_nothing_costs_nothing(lakegate: Lakegate) -> None:
    """Without deliveries there is no table; without known costs, its numbers are empty."""
    assert lakegate.ok("cost").strip() == "No delivery is like that."

    lakegate.routed()
    lakegate.delivered()

    assert lakegate.ok("cost", "--by", "producer").splitlines()[1].split() == ["orders/", "1", "1"]
