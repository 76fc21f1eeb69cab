"""Which service levels are promises about time that the gate watches."""

from __future__ import annotations

import json

import pytest

from lakegate.contract.service_levels import ServiceLevel
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


DCM = """\
specVersion: 0.1.3
id: weather-inmet-1.0.0
name: weather
kind: DataContract
version: 1.0.0
producer: {name: inmet, group: inmet.com}
access: {eventType: push, protocol: HTTP, location: /, accessConfiguration: {}}
dataset: {name: records, schema: [{name: id, dataType: text}]}
"""


def promises(*levels: str) -> tuple[ServiceLevel, ...]:
    """The promises of a contract with these service levels, as the gate reads them from its plan."""
    return service_levels_of_document(CONTRACT + "".join(f"  - {{{each}}}\n" for each in levels))


def service_levels_of_document(text: str) -> tuple[ServiceLevel, ...]:
    contract = examine(text.encode()).contract
    assert contract is not None
    return terms_of(compile_plan(contract, contract.datasets[0]).to_bytes()).service_levels


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("property: frequency, value: 1, unit: d", (ServiceLevel("frequency", 86_400),)),
        ("property: fy, value: 30, unit: m", (ServiceLevel("frequency", 1_800),)),
        ("property: frequency, value: daily", (ServiceLevel("frequency", 86_400),)),
        ("property: frequency, value: P1W", (ServiceLevel("frequency", 7 * 86_400),)),
        ("property: freshness, value: 24h", (ServiceLevel("freshness", 86_400),)),
        ("property: frequency, value: 0 0 * * *", (ServiceLevel("frequency", 86_400, "cron(0 0 * * ? *)"),)),
        (
            "property: frequency, value: 0 6 * * 1-5",
            (ServiceLevel("frequency", 3 * 86_400, "cron(0 6 ? * 2,3,4,5,6 *)"),),
        ),
        ("property: frequency, value: '0 6 29 2 *'", (ServiceLevel("frequency", 1461 * 86_400, "cron(0 6 29 2 ? *)"),)),
        ("property: frequency, value: '* * * * *'", ()),
        ("property: frequency, value: '0 6 30 2 *'", ()),
        ("property: freshness, value: 0 0 * * *", ()),
        (f"property: frequency, value: '0 6 {'1,' * 300}1 * *'", ()),
        ("property: frequency, value: 1, unit: s", (ServiceLevel("frequency", 1),)),
        ("property: frequency, value: 0.5, unit: s", ()),
        ("property: frequency, value: 99, unit: y", ()),
        ("property: latency, value: 1, unit: d", (ServiceLevel("latency", 86_400),)),
        ("property: ly, value: 2, unit: h", (ServiceLevel("latency", 7_200),)),
        ("property: availability, value: 99", ()),
    ],
)
def test_a_service_level_with_a_length_of_time_is_a_promise(level: str, expected: tuple[ServiceLevel, ...]) -> None:
    """Frequency and freshness, of a second to ten years; the latency of rows is measured in each delivery, too."""
    assert promises(level) == expected


def test_the_shortest_promise_of_a_name_counts() -> None:
    """Two levels for one dataset are kept together."""
    assert promises("property: frequency, value: 2, unit: d", "property: frequency, value: 1, unit: h") == (
        ServiceLevel("frequency", 3_600),
    )


def test_a_plan_of_an_older_release_promises_nothing() -> None:
    """Its bytes have no such key."""
    contract = examine((CONTRACT + "  - {property: frequency, value: 1, unit: d}\n").encode()).contract
    assert contract is not None
    plan = json.loads(compile_plan(contract, contract.datasets[0]).to_bytes())
    del plan["promises"]

    assert terms_of(json.dumps(plan).encode()).service_levels == ()


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("intervalOfChange: 1h", (ServiceLevel("frequency", 3_600),)),
        ("intervalOfChange: 1h30m", (ServiceLevel("frequency", 5_400),)),
        ("intervalOfChange: 1M", (ServiceLevel("frequency", 31 * 86_400),)),
        ("intervalOfChange: 1m", (ServiceLevel("frequency", 60),)),
        ("intervalOfChange: 1d12h", (ServiceLevel("frequency", 36 * 3_600),)),
        ("intervalOfChange: PT1H", (ServiceLevel("frequency", 3_600),)),
        ("timeliness: 60000ms", (ServiceLevel("latency", 60),)),
        ("timeliness: 59s1500ms", (ServiceLevel("latency", 60),)),
        (
            "timeliness: 1h, intervalOfChange: 1Y, upTime: 0.99",
            (ServiceLevel("frequency", 366 * 86_400), ServiceLevel("latency", 3_600)),
        ),
        ("timeliness: 10s", (ServiceLevel("latency", 10),)),
        ("timeliness: 1500ms", (ServiceLevel("latency", 1),)),
        ("timeliness: 900ms", ()),
        ("timeliness: soon", ()),
        ("timeliness: ''", ()),
        ("timeliness: " + "9" * 5_000 + "ms", ()),
        ("upTime: 0.999", ()),
    ],
)
def test_service_levels_of_dcm_are_promises(level: str, expected: tuple[ServiceLevel, ...]) -> None:
    """`intervalOfChange` is a frequency, and `timeliness` the time until what is delivered is accepted; `M` is months."""
    assert service_levels_of_document(f"{DCM}serviceLevelAgreements: {{{level}}}\n") == expected


@pytest.mark.parametrize(
    ("level", "reason"),
    [
        ("upTime: 0.999", "`upTime` is recorded and not watched: no delivery shows"),
        ("timeliness: 900ms", "`timeliness` is recorded and not watched: write a length of time of a second"),
        ("intervalOfChange: often", "`intervalOfChange` is recorded and not watched: write a length of time"),
    ],
)
def test_a_level_that_the_gate_cannot_watch_is_named(level: str, reason: str) -> None:
    """A warning, which each publication shows; not for the levels beside it."""
    found = examine(f"{DCM}serviceLevelAgreements: {{{level}}}\n".encode()).warnings
    others = examine(f"{DCM}serviceLevelAgreements: {{intervalOfChange: 2h, timeliness: 1m}}\n".encode()).warnings

    assert [each.message.startswith(reason) for each in found if each.code == "unwatched-level"] == [True]
    assert "unwatched-level" not in {each.code for each in others}
