"""`lakegate withdraw`: a version is taken back, and its line goes on with the version before."""

from __future__ import annotations

import pytest

from tests.unit.cli.conftest import Lakegate

STRICT = {"integer, classification": "integer, logicalTypeOptions: {maximum: 3}, classification"}
NOTE = {"classification: public}": "classification: public}\n      - {name: note, logicalType: string}"}


def routed_by(lakegate: Lakegate) -> list[str]:
    return [each["version"] for each in lakegate.json("route", "list")["routes"]]


def refusal(lakegate: Lakegate, *words: str) -> str:
    result = lakegate(*words)
    assert (result.exit_code, result.stdout) == (1, "")  # an exception: `main` answers it with 2
    return str(result.exception)


def test_a_rule_that_was_tightened_by_mistake_is_taken_back_within_the_line(lakegate: Lakegate) -> None:
    """Routes carry the version before, what was accepted stays, and the next version is compared with that one."""
    lakegate.routed()
    lakegate.ok("publish", lakegate.contract("1.1.0", **STRICT))
    lakegate.delivered()
    before = routed_by(lakegate)
    undone = lakegate("publish", lakegate.contract("1.2.0"))
    text = lakegate.ok("withdraw", "shop@1.1.0")
    again = lakegate.json("withdraw", "shop@1.1.0")
    after = routed_by(lakegate)
    lakegate.ok("publish", lakegate.contract("1.1.1"))

    assert (before, undone.exit_code) == (["1.1.0"], 1)
    assert text.splitlines() == [
        "Withdrawn: shop 1.1.0. Deliveries are judged by 1.0.0 (active).",
        "  orders/ → 1.0.0",
        "What it rejected: lakegate replay --state QUARANTINED --line shop/orders_v1",
    ]
    assert again == {
        "contract": "shop",
        "version": "1.1.0",
        "status": "withdrawn",
        "current": "1.0.0",
        "prefixes": [],
    }
    assert (after, routed_by(lakegate)) == (["1.0.0"], ["1.1.1"])
    records = lakegate.json("log", "_contracts/shop")["blocks"]
    assert [(each["content"]["version"], each["content"]["status"]) for each in reversed(records)] == [
        ("1.0.0", "active"),
        ("1.1.0", "active"),
        ("1.1.0", "withdrawn"),
        ("1.1.1", "active"),
    ]


def test_a_withdrawn_version_is_shown_and_used_no_more(lakegate: Lakegate) -> None:
    """Its number is not used again; commands that take the newest version take another one."""
    lakegate.routed()
    lakegate.ok("publish", lakegate.contract("1.1.0", **STRICT))
    lakegate.ok("withdraw", "shop@1.1.0")
    workload = lakegate.delivered(1)

    assert [each["datasets"][0]["status"] for each in lakegate.json("contracts")["contracts"]] == [
        "active",
        "withdrawn",
    ]
    assert [each["version"] for each in lakegate.json("contracts", "--status", "active")["contracts"]] == ["1.0.0"]
    assert lakegate.json("show", "shop")["version"] == "1.0.0"
    assert lakegate.json("show", "shop", "1.1.0")["status"] == "withdrawn"
    assert refusal(lakegate, "publish", lakegate.contract("1.1.0", **STRICT)) == (
        "shop 1.1.0 was withdrawn: give the document a higher number"
    )
    assert refusal(lakegate, "replay", workload, "--contract", "shop@1.1.0").startswith(
        "`shop@1.1.0` is no published version"
    )
    assert lakegate.json("status", workload)["contract"]["version"] == "1.0.0"


def test_what_consumers_can_rely_on_is_not_taken_back(lakegate: Lakegate) -> None:
    """A version that has another field is withdrawn until a delivery was accepted under it; the refusal names both."""
    lakegate.routed()
    lakegate.ok("publish", lakegate.contract("1.1.0", **NOTE))
    lakegate.ok("withdraw", "shop@1.1.0")
    lakegate.ok("publish", lakegate.contract("1.2.0", **NOTE))
    lakegate.delivered(1, name="bad.csv")
    rejected = lakegate.ok("withdraw", "shop@1.2.0")
    lakegate.ok("publish", lakegate.contract("1.3.0", **NOTE))
    lakegate.delivered()

    assert rejected.startswith("Withdrawn: shop 1.2.0.")
    assert refusal(lakegate, "withdraw", "shop@1.3.0") == (
        "1.3.0 allows what 1.0.0 does not (`optional-field-added at orders.note`), and deliveries were accepted under it:"
        " `shop/orders_v1 1`. Consumers may rely on that: publish 2.0.0"
    )
    assert routed_by(lakegate) == ["1.3.0"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("shop", "`shop` names no version: write CONTRACT@VERSION"),
        ("shop@9.9.9", "shop has no version 9.9.9: `lakegate contracts` lists those that are published"),
        ("shop@1.0.0", "1.1.0 follows 1.0.0: withdraw 1.1.0 first, or publish a newer one"),
        ("shop@2.0.0", "2.0.0 is the only version 2.x of shop: end its datasets instead (lakegate retire)"),
        (
            "sho@1.1.0",
            "`sho` is the beginning of one contract id: shop 1.1.0 would be withdrawn. Nothing was changed",
        ),
    ],
)
def test_what_cannot_be_withdrawn_is_refused_with_the_way_out(lakegate: Lakegate, name: str, expected: str) -> None:
    """Nothing is written."""
    lakegate.routed()
    for version in ("1.1.0", "2.0.0"):
        lakegate.ok("publish", lakegate.contract(version))

    assert refusal(lakegate, "withdraw", name).removesuffix(": confirm it with --yes") == expected
    assert routed_by(lakegate) == ["1.1.0"]


def test_a_version_before_that_is_retired_is_confirmed(lakegate: Lakegate) -> None:
    """All deliveries would be refused."""
    lakegate.ok("publish", lakegate.contract(status="retired"))
    lakegate.ok("publish", lakegate.contract("1.1.0"))

    assert refusal(lakegate, "withdraw", "shop@1.1.0").startswith(
        "1.0.0 is retired: every delivery to the dataset would be"
    )
