"""The commands about lines: their lifecycle, their subscribers, and how a new major version begins."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from lakegate.aws.wiring import SystemClock
from lakegate.base.errors import InputError
from lakegate.base.json_schemas import load
from lakegate.base.timestamps import moment
from lakegate.gate.datasets.dataset_states import Ending
from lakegate.gate.datasets.readers_manifest import update
from lakegate.gate.effects import run
from lakegate.gate.lake_layout import manifest_key
from lakegate.gate.ports import Address
from lakegate.gate.sweep import sweep
from tests.unit.cli.conftest import Lakegate
from tests.unit.cli.deployed_stack import LAKE

NAME = "shop/orders_v1"
UNCONFIRMED = ". Nothing was changed: confirm it with --yes"
EXTENDED = "name: Shop\ncustomProperties: [{property: lakegate, value: {EXTENSION}}]"


@pytest.fixture
def pass_days(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Let days pass for the command and the functions."""
    passed = [0]
    monkeypatch.setattr(SystemClock, "now", lambda _self: datetime.now(UTC) + timedelta(days=passed[0]))

    def more(days: int) -> None:
        passed[0] += days

    return more


def day(days: int) -> str:
    """The date so many days from now, UTC."""
    return (datetime.now(UTC) + timedelta(days=days)).date().isoformat()


def swept(lakegate: Lakegate) -> None:
    """The schedule fires."""
    run(sweep(lakegate.dependencies), lakegate.dependencies.clock)


def test_a_line_goes_through_its_life(lakegate: Lakegate, pass_days: Callable[[int], None]) -> None:
    """Deprecated by command, sunset by its date, retired by command, and active again; the ledger has every step."""
    lakegate.routed()
    pass_days(0)
    deprecated = lakegate.ok("deprecate", "orders", "--reason", "replaced", "--replacement", "shop/orders_v2")
    again = lakegate.ok("deprecate", "orders", "--reason", "replaced", "--replacement", "shop/orders_v2")
    pass_days(31)
    swept(lakegate)
    sunset = lakegate.json("subscribers", "orders")
    pass_days(6)
    early = lakegate("retire", "orders", "--yes")
    pass_days(1)
    retired = lakegate.json("retire", "orders", "--yes")
    linted, added = lakegate("route", "lint"), lakegate("route", "add", "more/", "shop")
    active = lakegate.ok("reactivate", "orders")
    log = lakegate.json("log", "orders")["blocks"]

    assert [line.split(" since ")[0].split(" from ")[0] for line in deprecated.splitlines()] == [
        f"{NAME} is deprecated",
        "  sunset",
        "  retired",
    ]
    assert again == deprecated
    assert (sunset["status"], sunset["replacement"], len(sunset["planned"])) == ("sunset", "shop/orders_v2", 1)
    assert isinstance(early.exception, InputError) is (retired["since"] is None)
    assert (retired["status"], retired["planned"]) == ("retired", [])
    refused = f"{NAME} 1.0.0 is retired"
    assert (linted.exit_code, linted.stdout) == (
        1,
        f"retired      orders/ → {NAME}: {refused}, so that every delivery is refused: remove the route\n",
    )
    assert f"{refused}: every delivery below `more/` would be refused." in str(added.exception)
    assert lakegate.ok("route", "lint") == "No fault of a route was found.\n"
    assert active.startswith(f"{NAME} is active since ")
    assert [(each["kind"], each["content"]["act"], each["content"]["status"]) for each in log] == [
        ("lifecycle", "reactivate", "active"),
        ("lifecycle", log[1]["content"]["act"], "retired"),
        ("lifecycle", "date", "sunset"),
        ("lifecycle", "deprecate", "deprecated"),
    ]
    assert all(each["actor"].startswith("arn:") for each in log)


def test_contracts_are_listed_by_the_status_of_their_lines(
    lakegate: Lakegate, pass_days: Callable[[int], None]
) -> None:
    """The stricter one of line and document counts, as for deliveries, also for a change by date that is not recorded yet."""
    lakegate.routed()
    lakegate.ok("publish", lakegate.contract("2.0.0", "draft"))
    lakegate.ok("publish", lakegate.contract("3.0.0", "retired"))
    lakegate.ok("deprecate", "orders_v1")

    def found(*words: str) -> list[tuple[str, list[str]]]:
        listed = lakegate.json("contracts", *words)["contracts"]
        return [(each["version"], [dataset["status"] for dataset in each["datasets"]]) for each in listed]

    assert found() == [("1.0.0", ["deprecated"]), ("2.0.0", ["draft"]), ("3.0.0", ["retired"])]
    pass_days(31)

    assert found("--status", "sunset") == [("1.0.0", ["sunset"])]
    assert found("--status", "Draft", "--status", "retired") == [("2.0.0", ["draft"]), ("3.0.0", ["retired"])]
    assert found("--status", "active") == found("--status", "deprecated") == []
    rows = [line.split()[:4] for line in lakegate.ok("contracts", "--status", "sunset").splitlines()]
    assert rows[:2] == [["name", "owner", "version", "status"], ["Shop", "1.0.0", "sunset,", "retired"]]
    shown = lakegate.json("show", "shop", "1.0.0")
    assert (shown["status"], shown["datasets"][0]["line"], shown["datasets"][0]["status"]) == ("active", NAME, "sunset")
    assert lakegate("contracts", "--status", "unknown").exit_code == 2


def test_an_illegal_transition_names_the_legal_way(lakegate: Lakegate) -> None:
    """Nothing is written, and the exit code is that of an input that cannot be used."""
    lakegate.routed()
    for command in ("sunset", "retire"):
        refused = lakegate(command, "orders", "--yes")
        assert str(refused.exception).startswith(f"{NAME} is active and cannot be {command}")
        assert "(lakegate deprecate)" in str(refused.exception)

    assert lakegate.json("log", "orders")["blocks"] == []


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--sunset", "2027-13-01"], "`2027-13-01` is no day: write YYYY-MM-DD"),
        (["--on", "2020-01-01"], f"2020-01-01 is past: {NAME} can change from now on"),
        (["--reason", "a\nb"], "reason, replacement and guide are each one line of at most 500 characters"),
    ],
)
def test_a_deprecation_is_one_line_with_days_to_come(lakegate: Lakegate, words: list[str], sentence: str) -> None:
    """What would break a line of output, or is past, is refused."""
    lakegate.routed()

    assert str(lakegate("deprecate", "orders", *words).exception) == sentence


def test_days_are_planned_and_moved(lakegate: Lakegate) -> None:
    """Today is now; later days are planned, and moved until they begin."""
    lakegate.routed()
    lakegate.ok("deprecate", "orders", "--on", day(0), "--sunset", day(40), "--retire", day(50))
    lakegate.ok("sunset", "orders", "--on", day(45))
    moved = lakegate.json("retire", "orders", "--on", day(60))

    assert moved["status"] == "deprecated"
    assert [(each["status"], each["at"][:10]) for each in moved["planned"]] == [
        ("sunset", day(45)),
        ("retired", day(60)),
    ]


def test_a_command_that_refuses_deliveries_is_confirmed(lakegate: Lakegate, pass_days: Callable[[int], None]) -> None:
    """The prefixes below which deliveries would be refused are named."""
    lakegate.routed()
    lakegate.ok("deprecate", "orders", "--sunset", day(100), "--retire", day(200))
    pass_days(31)
    unconfirmed = [lakegate("sunset", "orders")]
    lakegate.ok("sunset", "orders", "--yes")
    pass_days(8)
    unconfirmed.append(lakegate("retire", "orders"))
    lakegate.ok("retire", "orders", "--yes")
    lakegate.ok("retire", "orders")

    assert [str(each.exception).removesuffix(UNCONFIRMED) for each in unconfirmed] == [
        f"{NAME} becomes sunset: deliveries of new producers below `orders/` would be refused",
        f"{NAME} becomes retired: every delivery below `orders/` would be refused",
    ]


def test_a_line_without_routes_is_retired_without_a_question(
    lakegate: Lakegate, pass_days: Callable[[int], None]
) -> None:
    """Nobody delivers to it."""
    lakegate.ok("publish", lakegate.contract())
    lakegate.ok("deprecate", "orders", "--retire", day(200))
    pass_days(31)
    lakegate.ok("sunset", "orders")


def test_deliveries_are_warned_then_refused(lakegate: Lakegate, pass_days: Callable[[int], None]) -> None:
    """`reasons` and `status` show what the producer has to know."""
    lakegate.routed()
    lakegate.ok("deprecate", "orders", "--replacement", "shop/orders_v2")
    warned = lakegate.delivered()
    pass_days(40)
    refused = lakegate.upload(name="other.csv", body=b"id,amount\ne,5\n")
    lakegate.intake("orders/other.csv")

    assert "line-deprecated: shop/orders_v1 is deprecated; it is sunset on" in lakegate.ok("reasons", warned)
    assert lakegate.json("status", warned)["verdict"] == "accepted_with_warnings"
    assert lakegate.json("reasons", refused)["reasons"] == [
        "contract-retired: the contract version or its line is retired: deliver under a newer line",
        "line-replaced: deliver to shop/orders_v2",
    ]


@pytest.mark.parametrize("status", ["sunset", "retired"])
def test_a_document_that_ends_its_line_names_what_replaces_it(lakegate: Lakegate, status: str) -> None:
    """A version may be published in sunset or retired at once; its block `deprecation` is for the producers that it refuses."""
    lakegate.routed()
    document = deprecated_document(lakegate, "1.1.0", day(90))
    Path(document).write_text(Path(document).read_text().replace("status: deprecated", f"status: {status}"))
    lakegate.ok("publish", document, "--yes")
    refused = lakegate.upload(name="other.csv", body=b"id,amount\ne,5\n")
    lakegate.intake("orders/other.csv")

    assert lakegate.json("subscribers", "orders_v1")["status"] == "active"
    assert [each.partition(":")[0] for each in lakegate.json("reasons", refused)["reasons"]] == [
        f"contract-{status}",
        "line-replaced",
    ]
    assert lakegate.json("reasons", refused)["reasons"][1] == (
        "line-replaced: deliver to shop/orders_v2 (https://wiki.example/orders)"
    )


def test_only_lines_of_contracts_have_a_lifecycle(lakegate: Lakegate) -> None:
    """Chains of unrouted deliveries and of contracts are none."""
    lakegate.routed()
    lakegate.upload()
    for name in (f"_unrouted/{day(0)}", "_contracts/shop"):
        assert "is no dataset of a contract" in str(lakegate("deprecate", name).exception)


# --- subscribers


def test_teams_subscribe_and_leave(lakegate: Lakegate) -> None:
    """Who reads a line is listed with what the team is notified of."""
    lakegate.routed()
    lakegate.ok("subscribe", "orders", "--as", "finance", "--on", "rejected")
    lakegate.ok("subscribe", "orders", "--as", "sales")
    listed = lakegate.ok("subscribers", "orders")
    machine = lakegate.json("unsubscribe", "orders", "--as", "sales")

    assert listed.splitlines() == [
        f"{NAME} is active.",
        "  finance: breaking, deprecated, rejected",
        "  sales: breaking, deprecated",
    ]
    assert [(each["team"], each["on"]) for each in machine["subscribers"]] == [
        ("finance", ["breaking", "deprecated", "rejected"])
    ]


def test_what_a_subscription_replaces_is_named(lakegate: Lakegate) -> None:
    """The command states the whole of it: what the team had before is printed, unless nothing changes."""
    lakegate.routed()
    words = ("subscribe", "orders", "--as", "finance")
    first = lakegate.json(*words, "--on", "rejected", "--quiet", "22:00-06:00")
    second = lakegate.ok(*words, "--on", "accepted")
    same = lakegate.json(*words, "--on", "accepted")
    other = lakegate.json(*words, "--audience", "operator")
    third = lakegate.json(*words)

    assert second.splitlines()[1:] == [
        "  finance: accepted, breaking, deprecated",
        "  before it was finance: breaking, deprecated, rejected, not in 22:00-06:00",
    ]
    assert [each.get("replaced") for each in (first, same, other)] == [None] * 3
    assert (third["replaced"]["team"], third["replaced"]["on"]) == ("finance", ["accepted", "breaking", "deprecated"])


def test_a_deprecated_line_warns_new_subscribers_and_a_sunset_line_refuses_them(
    lakegate: Lakegate, pass_days: Callable[[int], None]
) -> None:
    """The warning is on standard error; the answer stays one document."""
    lakegate.routed()
    lakegate.ok("deprecate", "orders", "--replacement", "shop/orders_v2")
    warned = lakegate("subscribe", "orders", "--as", "finance", "--json")
    pass_days(30)
    refused = lakegate("subscribe", "orders", "--as", "sales")

    assert warned.exit_code == 0
    assert warned.stderr.startswith("lakegate: warning: line-deprecated: shop/orders_v1 is deprecated; it is sunset on")
    assert str(refused.exception) == "shop/orders_v1 is sunset and takes no new subscribers: use shop/orders_v2"


@pytest.mark.parametrize("status", ["sunset", "retired"])
def test_a_document_that_ends_its_line_refuses_new_subscribers(lakegate: Lakegate, status: str) -> None:
    """The stricter status of line and newest version counts for them as it does for deliveries."""
    lakegate.ok("publish", lakegate.contract())
    lakegate.ok("publish", lakegate.contract("1.1.0", status), "--yes")
    refused = lakegate("subscribe", "orders", "--as", "sales")

    assert str(refused.exception) == f"shop/orders_v1 is {status} by its version 1.1.0 and takes no new subscribers"
    assert lakegate.json("subscribers", "orders")["subscribers"] == []


# --- the end that a document announces

DEPRECATION = """name: Shop
deprecation:
  announced: "2026-01-03"
  sunset_date: "SUNSET"
  replacement: shop/orders_v2
  migration_guide: https://wiki.example/orders
  reason: one row
    per order
"""


def deprecated_document(lakegate: Lakegate, version: str, sunset_day: str) -> str:
    return lakegate.contract(version, "deprecated", **{"name: Shop\n": DEPRECATION.replace("SUNSET", sunset_day)})


@pytest.mark.parametrize(("days", "sunset_in"), [(90, 90), (-300, 30)])
def test_a_deprecated_document_ends_its_line(lakegate: Lakegate, days: int, sunset_in: int) -> None:
    """The line has the document's reason, replacement, guide and sunset date, which is at least 30 days ahead."""
    lakegate.ok("publish", lakegate.contract())
    lakegate.ok("publish", deprecated_document(lakegate, "1.1.0", day(days)))
    line = lakegate.dependencies.datasets.get("shop/orders_v1")
    planned = {each.status: each.at[:10] for each in line.changes}
    content = lakegate.json("log", "shop/orders_v1")["blocks"][0]["content"]

    assert line.ending == Ending("one row per order", "shop/orders_v2", "https://wiki.example/orders")
    assert planned == {"deprecated": day(0), "sunset": day(sunset_in), "retired": day(sunset_in + 7)}
    assert (content["act"], content["status"]) == ("deprecate", "deprecated")


def test_a_document_changes_nothing_that_was_commanded(lakegate: Lakegate) -> None:
    """Neither of a line that was reactivated since, when the version is published again, nor of one that is deprecated."""
    first = deprecated_document(lakegate, "1.0.0", day(90))
    lakegate.ok("publish", first)
    lakegate.ok("reactivate", "orders_v1")
    lakegate.ok("publish", first)
    active = lakegate.json("subscribers", "orders_v1")["status"]
    lakegate.ok("deprecate", "orders_v1", "--reason", "mine")
    lakegate.ok("publish", deprecated_document(lakegate, "1.1.0", day(90)))
    commanded = lakegate.dependencies.datasets.get("shop/orders_v1").ending.reason
    lakegate.ok("reactivate", "orders_v1")
    lakegate.ok("publish", deprecated_document(lakegate, "1.0.1", day(90)))

    assert (active, commanded) == ("active", "mine")
    assert lakegate.json("subscribers", "orders_v1")["status"] == "active"  # 1.0.1 does not lead the line


# --- new major versions


def test_a_breaking_version_waits_for_its_subscribers(lakegate: Lakegate, pass_days: Callable[[int], None]) -> None:
    """It is published at once, and takes effect after the notice period that the old version promised."""
    lakegate.ok("publish", lakegate.contract(**{"name: Shop": EXTENDED.replace("EXTENSION", "noticePeriod: 14")}))
    lakegate.ok("subscribe", "orders_v1", "--as", "finance")
    published = lakegate.ok("publish", lakegate.contract("2.0.0"))
    lakegate.ok("publish", lakegate.contract("2.0.0"))
    lakegate.ok("route", "add", "orders/", "shop", "--line", "2")
    held = lakegate.upload()
    lakegate.intake()
    refused = lakegate("reactivate", "orders_v2")
    waiting = lakegate.ok("subscribers", "orders_v2")
    pass_days(14)
    swept(lakegate)
    line = lakegate.dependencies.datasets.get("shop/orders_v2")
    messages = [each for each in lakegate.dependencies.outbox.pending(10) if each.dataset]

    assert f"  shop/orders_v2 takes effect on {day(14)}: until it is active," in published
    (reason,) = lakegate.json("reasons", held)["reasons"]
    assert reason == (
        "contract-draft: the dataset is a draft, or waits for its notice period: `lakegate reactivate` puts it in force; "
        "until then deliver to the version before, if there is one"
    )
    assert "only its subscribers can shorten it (lakegate acknowledge" in str(refused.exception)
    assert waiting.splitlines()[-1] == "  2.0.0 is acknowledged by nobody, not by finance"
    assert line.status_at(moment(lakegate.dependencies.now)) == "active"
    assert [(each.dataset, each.kind) for each in messages] == [
        ("shop/orders_v2", "breaking"),
        ("shop/orders_v2", "active"),
    ]


def test_a_breaking_version_takes_effect_when_it_is_acknowledged(lakegate: Lakegate) -> None:
    """By every subscriber; the line is named by the one that is read, or by the new one."""
    lakegate.ok("publish", lakegate.contract())
    for team in ("finance", "sales"):
        lakegate.ok("subscribe", "orders_v1", "--as", team)
    lakegate.ok("publish", lakegate.contract("2.0.0"))
    first = lakegate.json("acknowledge", "orders_v1@2.0.0", "--as", "sales")
    second = lakegate.ok("acknowledge", "orders_v2@2.0.0", "--as", "finance")

    assert (first["status"], first["notice"]["acknowledged"]) == ("draft", ["sales"])
    assert second.splitlines()[0].startswith("shop/orders_v2 is active since ")
    assert second.splitlines()[-1] == "  2.0.0 is acknowledged by finance, sales"
    for words, sentence in (
        (
            ["orders_v1@2.0.0", "--as", "other"],
            "other is no subscriber of shop/orders_v1 who was given notice of 2.0.0",
        ),
        (["orders_v1@3.0.0", "--as", "sales"], "shop/orders_v3 has no version 3.0.0 that waits for acknowledgements"),
        (["orders_v1", "--as", "sales"], "write the dataset and the version, such as orders_v1@2.0.0"),
    ):
        assert str(lakegate("acknowledge", *words).exception) == sentence


def test_a_new_major_version_without_subscribers_takes_effect_at_once(lakegate: Lakegate) -> None:
    """Both lines accept side by side, each under its own prefix."""
    lakegate.routed()
    published = lakegate.ok("publish", lakegate.contract("2.0.0"))
    lakegate.ok("route", "add", "orders-v2/", "shop", "--line", "2")
    lakegate.ok("deprecate", "orders_v1", "--replacement", "shop/orders_v2")
    rows = []
    for prefix in ("orders/", "orders-v2/"):
        workload = str(lakegate.json("upload", lakegate.file(), "--to", prefix)["workload"])
        lakegate.intake(f"{prefix}day.csv")
        rows.append(lakegate.answer(workload))

    assert "takes effect" not in published
    assert [(row.pin.dataset, row.decision.verdict) for row in rows if row.pin and row.decision] == [
        ("shop/orders_v1", "accepted_with_warnings"),
        ("shop/orders_v2", "accepted"),
    ]


def test_a_draft_is_put_in_force(lakegate: Lakegate) -> None:
    """By command, or by the first version that is no draft."""
    lakegate.ok("publish", lakegate.contract(status="draft"))
    active = lakegate.json("reactivate", "orders_v1")
    lakegate.ok("publish", lakegate.contract("2.0.0", status="draft"))
    drafted = lakegate.json("subscribers", "orders_v2")
    published = lakegate.json("publish", lakegate.contract("2.0.1"))

    assert (active["status"], drafted["status"], published["drafts"]) == ("active", "draft", [])
    assert lakegate.json("subscribers", "orders_v2")["status"] == "active"


def test_a_draft_of_a_new_major_version_waits_for_subscribers_once_it_is_no_draft(lakegate: Lakegate) -> None:
    """Neither way around the notice is open: by command, and by a version, even of a later number."""
    lakegate.ok("publish", lakegate.contract())
    lakegate.ok("subscribe", "orders_v1", "--as", "finance")
    lakegate.ok("publish", lakegate.contract("2.0.0", status="draft"))
    lakegate.ok("publish", lakegate.contract("3.0.0", status="draft"))
    two = lakegate.json("reactivate", "orders_v2")
    three = lakegate.json("publish", lakegate.contract("3.0.1"))

    assert (two["status"], [each["at"][:10] for each in two["planned"]]) == ("draft", [day(30)])
    assert three["drafts"] == ["shop/orders_v3"]


def test_the_manifest_names_the_dataset_that_replaces_it(lakegate: Lakegate) -> None:
    """With the next sweep after a publication, and after a change of its status; a delivery asks no registry."""
    lakegate.begin(_accepted)
    lakegate.ok("subscribe", "orders_v1", "--as", "finance")
    heads = [head(lakegate)]
    lakegate.ok("publish", lakegate.contract("2.0.0", **{"{name: amount,": "{name: total,"}))
    following = lakegate.json("report", "orders_v1")["next"]
    lakegate.delivered(name="second.csv", body=b"id,amount\nb,1\n")
    heads.append(head(lakegate))
    run(sweep(lakegate.dependencies), lakegate.dependencies.clock)
    heads.append(head(lakegate))
    lakegate.ok("acknowledge", "orders_v1@2.0.0", "--as", "finance")
    run(sweep(lakegate.dependencies), lakegate.dependencies.clock)
    heads.append(head(lakegate))

    in_force = following | {"status": "active", "takes_effect": None}
    assert [each.get("next") for each in heads] == [None, None, following, in_force]
    assert [each["height"] for each in heads] == [0, 1, 1, 1]
    assert (following["line"], following["version"], following["takes_effect"][:10]) == (
        "shop/orders_v2",
        "2.0.0",
        day(30),
    )


def test_a_head_that_is_listed_again_keeps_the_dataset_that_replaces_it(lakegate: Lakegate) -> None:
    """The registry is not asked: it may be unreadable then."""
    lakegate.begin(_accepted)
    lakegate.ok("publish", lakegate.contract("2.0.0", **{"{name: amount,": "{name: total,"}))
    run(sweep(lakegate.dependencies), lakegate.dependencies.clock)
    whole = head(lakegate)
    lakegate.clients["dynamodb"].update_item(
        TableName="registry",
        Key={"id": {"S": "contract#shop"}},
        UpdateExpression="SET #content = :text",
        ExpressionAttributeNames={"#content": "content"},
        ExpressionAttributeValues={":text": {"S": "{"}},
    )
    where = Address(LAKE, manifest_key("shop/orders_v1"))
    lakegate.dependencies.objects.put(where, json.dumps(whole | {"gapless": False}, sort_keys=True).encode())
    run(update(lakegate.dependencies, "shop/orders_v1"), lakegate.dependencies.clock)

    assert whole["next"]["line"] == "shop/orders_v2"
    assert head(lakegate) == whole


def head(lakegate: Lakegate) -> dict[str, Any]:
    """The manifest of the dataset, which fits its published schema."""
    found: dict[str, Any] = json.loads(
        lakegate.dependencies.objects.read(Address(LAKE, manifest_key("shop/orders_v1")))
    )
    assert Draft202012Validator(load("manifest")).is_valid(found)
    return found


def test_a_dataset_names_the_one_that_replaces_it(lakegate: Lakegate, tmp_path: Path) -> None:
    """`subscribers`, `status`, `report` and its page of v1 name v2: a name that a reader of v1 cannot know, and its day."""
    workload = lakegate.begin(_accepted)
    lakegate.ok("subscribe", "orders_v1", "--as", "finance")
    before = lakegate.json("subscribers", "orders_v1")
    lakegate.ok("publish", lakegate.contract("2.0.0", **{"{name: amount,": "{name: total,"}))
    page = tmp_path / "report.html"
    said = f"shop/orders_v2 (2.0.0), which takes effect on {day(30)}"
    found = [
        lakegate.json(*words)["next"]
        for words in (("subscribers", "orders_v1"), ("status", workload), ("report", "orders_v1"))
    ]
    report = lakegate.ok("report", "orders_v1", "--html", str(page))

    assert "next" not in before
    assert [(each["line"], each["version"], each["status"], each["takes_effect"][:10]) for each in found] == [
        ("shop/orders_v2", "2.0.0", "draft", day(30))
    ] * 3
    assert f"  replaced by {said}" in lakegate.ok("subscribers", "orders_v1").splitlines()
    assert f"  replaced  by {said}" in lakegate.ok("status", workload)
    assert f"Replaced by {said}" in report
    assert f"Replaced by {said}" in page.read_text()
    assert report.startswith("Shop: orders_v1 (shop/orders_v1), 30 days: ")
    assert [line for line in page.read_text().splitlines() if "orders_v1<" in line and "title" not in line] == [
        "<h1>Shop: orders_v1</h1>",
        '<p class="dim"><code>shop/orders_v1</code></p>',
    ]

    lakegate.ok("acknowledge", "orders_v1@2.0.0", "--as", "finance")
    assert "  replaced by shop/orders_v2 (2.0.0), which is active" in lakegate.ok("subscribers", "orders_v1")
    assert "next" not in lakegate.json("subscribers", "orders_v2")


def _accepted(lakegate: Lakegate) -> str:
    lakegate.routed()
    return lakegate.delivered()
