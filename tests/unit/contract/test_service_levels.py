"""Which service levels are promises about time that the gate watches."""

from __future__ import annotations

import json

import pytest

from lakegate.contract.service_levels import Promise
from lakegate.gate.delivery.delivery_terms import terms_of
from lakegate.lints.linter import examine
from lakegate.rules.compile_plan import compile_plan

CONTRACT = """\
apiVersion: v3.1.0
kind: DataContract
id: shop
version: 1.0.0
status: active
schema:
  - name: orders
    properties:
      - {name: id, logicalType: string}
slaProperties:
"""


def promises(*levels: str) -> tuple[Promise, ...]:
    """The promises of a contract with these service levels, as the gate reads them from its plan."""
    text = CONTRACT + "".join(f"  - {{{each}}}\n" for each in levels)
    contract = examine(text.encode()).contract
    assert contract is not None
    return terms_of(compile_plan(contract, contract.datasets[0]).to_bytes()).promises


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("property: frequency, value: 1, unit: d", (Promise("frequency", 86_400),)),
        ("property: fy, value: 30, unit: m", (Promise("frequency", 1_800),)),
        ("property: frequency, value: daily", (Promise("frequency", 86_400),)),
        ("property: frequency, value: P1W", (Promise("frequency", 7 * 86_400),)),
        ("property: freshness, value: 24h", (Promise("freshness", 86_400),)),
        ("property: frequency, value: 0 0 * * *", ()),
        ("property: frequency, value: 1, unit: s", ()),
        ("property: frequency, value: 99, unit: y", ()),
        ("property: latency, value: 1, unit: d", (Promise("latency", 86_400),)),
        ("property: ly, value: 2, unit: h", (Promise("latency", 7_200),)),
        ("property: availability, value: 99", ()),
    ],
)
def test_a_service_level_with_a_length_of_time_is_a_promise(level: str, expected: tuple[Promise, ...]) -> None:
    """Frequency and freshness, of a minute to ten years; the latency of rows is measured in each delivery, too."""
    assert promises(level) == expected


def test_the_shortest_promise_of_a_name_counts() -> None:
    """Two levels for one dataset are kept together."""
    assert promises("property: frequency, value: 2, unit: d", "property: frequency, value: 1, unit: h") == (
        Promise("frequency", 3_600),
    )


def test_a_plan_of_an_older_release_promises_nothing() -> None:
    """Its bytes have no such key."""
    contract = examine((CONTRACT + "  - {property: frequency, value: 1, unit: d}\n").encode()).contract
    assert contract is not None
    plan = json.loads(compile_plan(contract, contract.datasets[0]).to_bytes())
    del plan["promises"]

    assert terms_of(json.dumps(plan).encode()).promises == ()
