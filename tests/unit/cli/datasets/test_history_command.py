"""`lakegate history` and `observe report`: what became of the deliveries of a line, from its index."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import Lakegate
from tests.unit.cli.deployed_stack import LAKE

OBSERVE = "customProperties:\n  - property: lakegate\n    value: {mode: observe}\nschema:\n"


@pytest.fixture
def kept(lakegate: Lakegate) -> Lakegate:
    """A line of three deliveries; the second breaks a rule."""
    lakegate.routed()
    lakegate.delivered()
    lakegate.delivered(failing=1, body=b"id,amount\n,1\n", name="bad.csv")
    lakegate.delivered(body=b"id,amount\nz,9\n", name="last.csv")
    return lakegate


def broken_rule(lakegate: Lakegate) -> str:
    (rule,) = lakegate.json("history", "orders", "--verdict", "rejected")["deliveries"][0]["rules"]
    assert (rule["status"], rule["rows"]) == ("fail", 1)
    return str(rule["rule"])


def heights(answer: Any) -> list[int]:
    return [each["height"] for each in answer["deliveries"]]


def test_a_history_lists_verdicts_rules_and_files_newest_first(kept: Lakegate) -> None:
    """A table for people; --json has every number of the index."""
    listed = kept.json("history", "orders")
    table = [line.split() for line in kept.ok("history", "orders").splitlines()]

    assert [(each["height"], each["verdict"], each["file"]) for each in listed["deliveries"]] == [
        (2, "accepted", "orders/last.csv"),
        (1, "rejected", "orders/bad.csv"),
        (0, "accepted", "orders/day.csv"),
    ]
    assert [(each["rows"], each["rejected_rows"], each["enforced"]) for each in listed["deliveries"]] == [
        (4, 0, None),
        (4, 4, None),
        (4, 0, None),
    ]
    assert [row[-1] for row in table[1:]] == ["orders/last.csv", "orders/bad.csv", "orders/day.csv"]


def test_a_history_is_chosen_by_rule_verdict_and_time(kept: Lakegate) -> None:
    """Each option leaves the others out; a rule that nobody broke finds nothing."""
    rule = broken_rule(kept)

    assert heights(kept.json("history", "orders", "--verdict", "accepted")) == [2, 0]
    assert heights(kept.json("history", "orders", "--rule", rule)) == [1]
    assert heights(kept.json("history", "orders", "--rule", rule, "--verdict", "accepted")) == []
    assert heights(kept.json("history", "orders", "--since", "2020-01-01")) == [2, 1, 0]
    assert heights(kept.json("history", "orders", "--since", "2999-01-01")) == []
    assert kept.ok("history", "orders", "--rule", "nobody") == "No delivery is like that.\n"


def test_a_history_is_paged(kept: Lakegate) -> None:
    """A page names the height below which the next one begins; the last page names none."""
    first = kept.json("history", "orders", "--limit", "2")
    second = kept.json("history", "orders", "--limit", "2", "--below", str(first["below"]))

    assert (heights(first), first["below"]) == ([2, 1], 1)
    assert (heights(second), second["below"]) == ([0], None)
    assert kept.ok("history", "orders", "--limit", "1").endswith("More: --below 2\n")


def test_a_refusal_before_the_job_is_found_by_its_rule(lakegate: Lakegate) -> None:
    """The header lacks a required column: the rule is in the index although nothing was measured."""
    lakegate.routed()
    lakegate.upload(body=b"amount\n1\n")
    lakegate.intake()
    rule = lakegate.json("history", "orders")["deliveries"][0]["rules"][0]

    assert (rule["status"], rule["rows"]) == ("fail", None)
    assert heights(lakegate.json("history", "orders", "--rule", rule["rule"])) == [0]


def test_a_line_is_reported_from_the_index(kept: Lakegate, tmp_path: Path) -> None:
    """Deliveries by verdict, the share of each rule of the latest plan, and a page with the same."""
    rule = broken_rule(kept)
    page = tmp_path / "orders.html"
    answer = kept.json("report", "orders", "--html", str(page))
    shown = kept.ok("report", "orders", "--days", "2")

    assert (answer["line"], answer["deliveries"], answer["freshness"]) == (
        "shop/orders_v1",
        {"accepted": 2, "accepted_with_warnings": 0, "rejected": 1},
        {"promised_seconds": None, "deliveries": []},
    )
    assert answer["reasons"] == [{"rule": rule, "deliveries": 1, "failing_rows": 1}]
    assert answer["rules"][0] == {
        "rule": rule,
        "measured": 3,
        "passed": 2,
        "failed": 1,
        "warned": 0,
        "failing_rows": 1,
    }
    assert all(each["passed"] == 3 for each in answer["rules"][1:])
    assert "3 deliveries from" in page.read_text()
    assert shown.startswith(
        "Shop: orders_v1 (shop/orders_v1), 2 days: 2 accepted, 0 accepted with warnings, 1 rejected\n"
    )
    assert shown.splitlines()[-1].split() == [rule, "2", "of", "3", "1", "0", "1"]


def test_a_line_without_deliveries_is_reported(lakegate: Lakegate, tmp_path: Path) -> None:
    """There is no plan to read; the page is written where it was asked for, and a wrong name is refused first."""
    lakegate.routed()
    page = tmp_path / "empty.html"

    assert lakegate.ok("report", "orders", "--html", str(page)).endswith("empty.html: report written\n")
    assert "No delivery was finished in this time." in page.read_text()
    assert "name a file that ends in .html" in str(lakegate("report", "orders", "--html", "x.txt").exception)


def test_a_duplicate_is_found_by_its_code(kept: Lakegate) -> None:
    """What is not a rule of the contract is listed by its code."""
    kept.upload(body=b"id,amount\nz,9\n", name="again.csv")
    kept.intake("orders/again.csv")

    assert heights(kept.json("history", "orders", "--rule", "duplicate-content")) == [3]


def test_a_delivery_without_its_entry_is_listed_without_its_rules(kept: Lakegate) -> None:
    """The entry is derived from the block, which does not have the rules: it is found by height alone."""
    key = {"chain": {"S": "shop/orders_v1"}, "height": {"N": "1"}}
    names = {"#entry": "entry"}
    kept.clients["dynamodb"].update_item(
        TableName="ledger", Key=key, UpdateExpression="REMOVE #entry", ExpressionAttributeNames=names
    )
    listed = kept.json("history", "orders")

    assert [(each["height"], each["verdict"], each["indexed"]) for each in listed["deliveries"]] == [
        (2, "accepted", True),
        (1, "rejected", False),
        (0, "accepted", True),
    ]


def test_a_row_that_is_gone_hides_only_its_file(kept: Lakegate) -> None:
    """A table restored to an earlier time: the index still lists finished deliveries."""
    for item in kept.clients["dynamodb"].scan(TableName="workloads", ConsistentRead=True)["Items"]:
        kept.clients["dynamodb"].delete_item(TableName="workloads", Key={"id": item["id"]})
        archived = f"runs/{item['id']['S'].partition('#')[2]}/row.json"
        kept.clients["s3"].delete_object(Bucket=LAKE, Key=archived)

    assert [each["file"] for each in kept.json("history", "orders")["deliveries"]] == [None] * 3


def observed(lakegate: Lakegate) -> Lakegate:
    """A line that is only observed: one good delivery, and two that break a rule."""
    lakegate.ok("publish", lakegate.contract(**{"schema:\n": OBSERVE}))
    lakegate.ok("route", "add", "orders/", "shop")
    lakegate.delivered()
    lakegate.delivered(failing=1, body=b"id,amount\n,1\n", name="a.csv")
    lakegate.delivered(failing=2, body=b"id,amount\n,2\n", name="b.csv")
    return lakegate


def test_the_report_states_what_enforcement_would_have_refused(lakegate: Lakegate) -> None:
    """Deliveries, rows, rules and producers; what was observed is in accepted/ all the same."""
    observed(lakegate)
    report = lakegate.json("observe", "report", "orders")
    verdicts = [each["verdict"] for each in lakegate.json("history", "orders")["deliveries"]]

    assert verdicts == ["accepted_with_warnings", "accepted_with_warnings", "accepted"]
    assert report["total"] == {"deliveries": 3, "refused": 2, "refused_rows": 8, "rows": 12, "enforced": 0}
    assert [(each["deliveries"], each["refused"], each["refused_rows"]) for each in report["rules"]] == [(2, 2, 3)]
    assert report["producers"] == [{"name": "orders/", "deliveries": 3, "refused": 2, "refused_rows": 8}]
    assert lakegate.ok("observe", "report", "orders").splitlines()[0] == (
        "shop/orders_v1, 30 days: enforcement would have refused 2 of 3 deliveries, and 8 of 12 rows."
    )


def test_the_report_covers_the_days_that_are_asked_for(lakegate: Lakegate, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is older is not part of it."""
    observed(lakegate)
    now = lakegate.dependencies.clock.now
    monkeypatch.setattr("lakegate.aws.wiring.SystemClock.now", lambda _: now() + timedelta(days=8))

    assert lakegate.json("observe", "report", "orders", "--days", "7")["total"]["deliveries"] == 0
    assert lakegate.json("observe", "report", "orders", "--days", "9")["total"]["deliveries"] == 3


def test_a_line_that_is_enforced_has_nothing_to_report(kept: Lakegate) -> None:
    """Its refusals are in its history."""
    assert kept.ok("observe", "report", "orders") == (
        "shop/orders_v1: no delivery was observed in 30 days. 3 more were enforced, or refused before they were "
        "measured.\n"
    )


def test_names_of_producers_and_rules_cannot_write_on_the_terminal(lakegate: Lakegate) -> None:
    """They are shown with escapes."""
    observed(lakegate)
    workload = lakegate.json("upload", lakegate.file(body=b"id,amount\nq,7\n"), "--to", "orders/\u202e[red]x/")[
        "workload"
    ]
    lakegate.intake("orders/\u202e[red]x/day.csv")
    lakegate.answer(workload)

    assert r"orders/\u202e[red]x/" in lakegate.ok("observe", "report", "orders")
    assert r"orders/\u202e[red]x/day.csv" in lakegate.ok("history", "orders")
