"""`lakegate check --contract ID` says what the gate says, in each status of a version, and what later versions would say."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lakegate.aws.wiring import SystemClock
from lakegate.gate.effects import run
from lakegate.gate.sweep import sweep
from tests.unit.cli.conftest import Lakegate

OBSERVE = {"schema:\n": "customProperties: [{property: lakegate, value: {mode: observe}}]\nschema:\n"}
WITHOUT_AMOUNT = {"      - {name: amount, logicalType: integer, classification: public}\n": ""}
STRICT = {"logicalType: integer,": "logicalType: integer, required: true,"}


@pytest.fixture
def pass_days(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Let days pass for the command and the functions."""
    passed = [0]
    monkeypatch.setattr(SystemClock, "now", lambda _self: datetime.now(UTC) + timedelta(days=passed[0]))

    def more(days: int) -> None:
        passed[0] += days

    return more


def at_the_gate(lakegate: Lakegate, name: str = "new.csv") -> tuple[str, list[str]]:
    """The verdict on a file below the route, and the codes of its reasons, but for those of rules."""
    workload = lakegate.upload(name=name, body=f"id,amount\n{name},1\n".encode())
    lakegate.intake(f"orders/{name}")
    if lakegate.dependencies.workloads.get(workload).decision is None:
        lakegate.answer(workload)
    found = lakegate.json("status", workload)
    return found["verdict"], [each.partition(":")[0] for each in found["reasons"]]


def by_check(lakegate: Lakegate, name: str = "shop") -> dict[str, Any]:
    """What `check` says of the same file."""
    file = lakegate.file(b"id,amount\nx,1\n", "checked.csv")
    return dict(json.loads(lakegate("check", "--contract", name, file, "--json").stdout))


def publish(lakegate: Lakegate, version: str = "1.0.0", status: str = "active", **changes: str) -> None:
    lakegate.ok("publish", lakegate.contract(version, status, **changes), "--yes")


def routed(lakegate: Lakegate, status: str = "active", **changes: str) -> None:
    publish(lakegate, status=status, **changes)
    lakegate.ok("route", "add", "orders/", "shop")


def draft(lakegate: Lakegate, _pass: Callable[[int], None]) -> None:
    routed(lakegate, "draft")


def observed_draft(lakegate: Lakegate, _pass: Callable[[int], None]) -> None:
    routed(lakegate, "draft", **OBSERVE)


def active(lakegate: Lakegate, _pass: Callable[[int], None]) -> None:
    routed(lakegate)


def draft_above(lakegate: Lakegate, _pass: Callable[[int], None]) -> None:
    routed(lakegate)
    publish(lakegate, "2.0.0", "draft", **WITHOUT_AMOUNT)


def newer_without_route(lakegate: Lakegate, _pass: Callable[[int], None]) -> None:
    routed(lakegate)
    publish(lakegate, "2.0.0", **WITHOUT_AMOUNT)


def withdrawn_above(lakegate: Lakegate, _pass: Callable[[int], None]) -> None:
    routed(lakegate)
    publish(lakegate, "1.1.0", **{"name: Shop\n": "name: Shop 2\n"})
    lakegate.ok("withdraw", "shop@1.1.0", "--yes")


def deprecated(lakegate: Lakegate, _pass: Callable[[int], None]) -> None:
    routed(lakegate)
    lakegate.ok("deprecate", "orders", "--replacement", "shop/orders_v2")


def sunset_known(lakegate: Lakegate, pass_days: Callable[[int], None]) -> None:
    routed(lakegate)
    at_the_gate(lakegate, "first.csv")
    lakegate.ok("deprecate", "orders")
    pass_days(31)
    run(sweep(lakegate.dependencies), lakegate.dependencies.clock)


def sunset_unknown(lakegate: Lakegate, pass_days: Callable[[int], None]) -> None:
    routed(lakegate)
    lakegate.ok("deprecate", "orders", "--replacement", "shop/orders_v2")
    pass_days(31)
    run(sweep(lakegate.dependencies), lakegate.dependencies.clock)


def retired(lakegate: Lakegate, pass_days: Callable[[int], None]) -> None:
    sunset_unknown(lakegate, pass_days)
    pass_days(8)
    run(sweep(lakegate.dependencies), lakegate.dependencies.clock)


def retired_by_document(lakegate: Lakegate, _pass: Callable[[int], None]) -> None:
    routed(lakegate)
    publish(lakegate, "1.1.0", "retired")


@pytest.mark.parametrize(
    ("begin", "verdict", "codes"),
    [
        (draft, "rejected", ["contract-draft"]),
        (observed_draft, "accepted_with_warnings", ["line-draft"]),
        (active, "accepted", []),
        (draft_above, "accepted", []),
        (newer_without_route, "accepted", []),
        (withdrawn_above, "accepted", []),
        (deprecated, "accepted_with_warnings", ["line-deprecated"]),
        (sunset_known, "accepted_with_warnings", ["line-sunset"]),
        (sunset_unknown, "rejected", ["contract-sunset", "line-replaced"]),
        (retired, "rejected", ["contract-retired", "line-replaced"]),
        (retired_by_document, "rejected", ["contract-retired"]),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_check_and_gate_give_the_same_verdict_in_each_status(
    lakegate: Lakegate,
    pass_days: Callable[[int], None],
    begin: Callable[[Lakegate, Callable[[int], None]], None],
    verdict: str,
    codes: list[str],
) -> None:
    """The same file, both ways, by the same version; the reasons of the status are the same, too."""
    begin(lakegate, pass_days)
    checked = by_check(lakegate)
    version = json.loads(lakegate("show", "shop", "--json").stdout)["version"]

    assert (checked["verdict"], [each["id"] for each in checked["reasons"]]) == (verdict, codes)
    assert at_the_gate(lakegate) == (verdict, codes)
    assert checked["contract"]["version"] == version


def test_a_version_that_waits_for_its_notice_is_a_note(lakegate: Lakegate) -> None:
    """For the days of the notice all commands have the version before, and `check` says what the new one would say."""
    lakegate.routed(**STRICT)
    lakegate.ok("subscribe", "orders", "--as", "finance")
    publish(lakegate, "2.0.0", **{"{name: amount,": "{name: total,"}, **STRICT)
    day = (datetime.now(UTC) + timedelta(days=30)).date().isoformat()
    file = lakegate.file()
    checked = lakegate("check", "--contract", "shop", file)
    shown, planned = lakegate("show", "shop"), lakegate("plan", "shop")
    compared = lakegate("diff", "shop", "shop@latest")
    document = by_check(lakegate)
    (beside,) = document["beside"]
    listed = {each["version"]: each["datasets"] for each in lakegate.json("contracts")["contracts"]}

    assert checked.exit_code == 0
    assert f"2.0.0 takes effect on {day}: this file would be rejected by it" in " ".join(checked.stdout.split())
    assert (document["contract"]["version"], document["verdict"]) == ("1.0.0", "accepted")
    assert (beside["version"], beside["takes_effect"][:10], beside["prefixes"], beside["verdict"]) == (
        "2.0.0",
        day,
        [],
        "rejected",
    )
    assert "version: 1.0.0" in shown.stdout
    assert shown.stderr == f"lakegate: this is 1.0.0; 2.0.0 takes effect on {day}: lakegate show shop 2.0.0\n"
    assert json.loads(planned.stdout)["contract_version"] == "1.0.0"
    assert planned.stderr == compared.stderr == f"lakegate: shop is 1.0.0; 2.0.0 takes effect on {day}\n"
    assert "1.0.0 → 2.0.0" in compared.stdout
    assert [(each["status"], each["at"][:10]) for each in listed["2.0.0"][0]["planned"]] == [("active", day)]
    assert "planned" not in listed["1.0.0"][0]
    table = lakegate.ok("contracts")
    assert ("draft, active" in table, day in table) == (True, True)


def test_the_version_that_is_named_judges_by_its_rules_alone(lakegate: Lakegate) -> None:
    """`ID@VERSION` is what an author tries before it is in force: no status refuses it."""
    routed(lakegate, "draft")

    assert [by_check(lakegate, name)["verdict"] for name in ("shop", "shop@1.0.0", "shop@latest")] == [
        "rejected",
        "accepted",
        "accepted",
    ]


def test_of_two_versions_in_force_the_newer_judges_and_the_older_is_a_note(lakegate: Lakegate) -> None:
    """Each is judged by the rules of its own route; a newer one that nothing is delivered to is a note."""
    lakegate.routed(**STRICT)
    publish(lakegate, "2.0.0", **WITHOUT_AMOUNT)
    file = lakegate.file(b"id\nx\n", "checked.csv")
    before = lakegate("check", "--contract", "shop", file)
    lakegate.ok("route", "add", "orders-2/", "shop")
    after = lakegate("check", "--contract", "shop", file)

    assert (before.exit_code, after.exit_code) == (1, 0)
    said = " ".join(before.stdout.split())
    assert (
        "2.0.0 is in force, but no route delivers to it (lakegate route add): this file would be accepted by it" in said
    )
    assert "1.0.0 judges what lands below `orders/`: this file would be rejected by it" in " ".join(
        after.stdout.split()
    )


def test_a_note_says_that_a_file_cannot_be_judged_by_another_version(lakegate: Lakegate) -> None:
    """A version without the dataset of the file is no error of the check."""
    routed(lakegate)
    publish(lakegate, "2.0.0", **{"name: orders\n": "name: sales\n"})
    found = json.loads(lakegate("check", "--contract", "shop", "--dataset", "orders", lakegate.file(), "--json").stdout)

    assert (found["verdict"], found["beside"][0]["verdict"]) == ("accepted", None)
    assert "has no dataset orders" in found["beside"][0]["because"]
