"""`lakegate pull`: what is pulled, how that went, and pulling a line now."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from lakegate.base.errors import PortError
from lakegate.features.pull.named_objects import deliver_named
from lakegate.features.pull.pull_task import S3LandingParts, tick
from lakegate.gate.datasets.dataset_states import DatasetRowStore
from lakegate.gate.effects import run
from tests.fakes.pulls import MemorySource
from tests.unit.cli.conftest import Lakegate
from tests.unit.cli.deployed_stack import ACCOUNT, LANDING

PULL = """\
customProperties: [{property: lakegate, value: {pull: {source: "https://example.com/[red]day.csv", schedule: rate(1 day)}}}]
schema:
"""
BODY = b"id,amount\na,1\n"


class Landing:
    """No source here is written in parts."""


def pulled(lakegate: Lakegate, source: MemorySource) -> None:
    """One tick."""
    run(tick(lakegate.dependencies, source, Landing()), lakegate.dependencies.clock)  # type: ignore[arg-type] # as it says


@pytest.fixture
def scheduled(lakegate: Lakegate) -> Lakegate:
    """A published contract whose data is pulled every day, after its first tick."""
    lakegate.ok("publish", lakegate.contract(**{"schema:\n": PULL}))
    lakegate.ok("route", "add", "orders/", "shop")
    pulled(lakegate, MemorySource())
    return lakegate


def test_nothing_is_pulled_at_first(lakegate: Lakegate) -> None:
    """The list says what could be missing."""
    assert lakegate.ok("pull", "list").startswith("Nothing is pulled: no published contract has `pull`")
    assert lakegate.json("pull", "list") == {"pulls": []}


def test_a_pull_is_listed_with_its_end(scheduled: Lakegate) -> None:
    """When next, from where, and how it went; a source is text, and no markup."""
    before = scheduled.ok("pull", "list")
    ran = scheduled.ok("pull", "run", "orders")
    pulled(scheduled, MemorySource(BODY))
    (found,) = scheduled.json("pull", "list")["pulls"]

    assert before.splitlines()[0] == "shop/orders_v1 1.0.0: https://example.com/[red]day.csv"
    assert re.fullmatch(r"  rate\(1 day\): next at \S+ \S+( UTC)?", before.splitlines()[1])
    assert ran == "shop/orders_v1 is pulled at the next tick, within five minutes. lakegate pull list\n"
    (end,) = found["ends"]
    assert (end["outcome"], end["size"], end["reason"], found["fetching"]) == ("FETCHED", len(BODY), None, None)
    assert f"FETCHED ({end['key']}, 14 bytes)" in scheduled.ok("pull", "list")
    assert [each["key"] for each in scheduled.json("status")["deliveries"]] == [end["key"]]


def test_what_is_being_fetched_and_what_failed_is_shown(scheduled: Lakegate) -> None:
    """With the reason of the end, and the attempts before it."""
    scheduled.ok("pull", "run", "orders", "--json")
    pulled(scheduled, MemorySource(BODY, breaks_at=0))
    fetching = scheduled.ok("pull", "list")
    scheduled.ok("pull", "run", "orders")
    pulled(scheduled, MemorySource(BODY, size=lambda _: 1 << 60))

    row = scheduled.dependencies.rows("pulls").get("shop/orders_v1")
    scheduled.dependencies.rows("pulls").write(replace(row, leased="9999-01-01T00:00:00.000000Z"))

    assert scheduled.ok("pull", "run", "orders") == "shop/orders_v1 is being pulled. lakegate pull list\n"
    assert "is being fetched since" in fetching
    assert "after 1 failed attempt" in fetching
    assert "FAILED (too-large)" in scheduled.ok("pull", "list")


def test_the_pulls_of_one_owner_are_listed_without_the_index(
    scheduled: Lakegate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which names the lines of all owners: rows are read by the names of lines that the contract has."""
    all_of_them = scheduled.json("pull", "list")

    def refuse(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(DatasetRowStore, "due", refuse)

    assert scheduled.json("pull", "list", "--contract", "shop") == all_of_them
    assert len(all_of_them["pulls"]) == 1


def test_the_status_of_a_line_has_its_latest_pull(scheduled: Lakegate) -> None:
    """Of a line, or of the lines of a contract; not of all lines, of which there may be many."""
    before = scheduled.ok("status", "--contract", "orders")
    scheduled.ok("pull", "run", "orders")
    pulled(scheduled, MemorySource(BODY, failure=PortError("host-refused")))
    after = scheduled.ok("status", "--contract", "shop")
    document = scheduled.json("status", "--contract", "shop")

    assert re.search(r"^pull of shop/orders_v1: next at \S+ \S+ UTC$", before, re.MULTILINE)
    assert re.search(r"^pull of shop/orders_v1: \S+ \S+ UTC: FAILED \(host-refused\); next at ", after, re.MULTILINE)
    assert document["pulls"] == scheduled.json("pull", "list")["pulls"]
    assert (scheduled.json("status"), "pull of" in scheduled.ok("status")) == ({"deliveries": []}, False)


FOLDER = """\
customProperties: [{property: lakegate, value: {pull: {source: "s3://exports/out/"}}}]
schema:
"""
HOSTILE = "s3://exports/out/\x1b[31m[red]\nday.csv"


def test_objects_that_were_named_are_listed_with_their_ends(lakegate: Lakegate) -> None:
    """By object and version, the latest first, in the list, in the status and over HTTP's command; keys are text."""
    lakegate.ok("publish", lakegate.contract(**{"schema:\n": FOLDER}))
    lakegate.ok("route", "add", "orders/", "shop")
    landing, clock = S3LandingParts(lakegate.clients["s3"], LANDING, ACCOUNT), lakegate.dependencies.clock

    def turn(source: MemorySource) -> None:
        run(tick(lakegate.dependencies, source, landing, also=deliver_named), clock)

    turn(MemorySource())
    before = lakegate.ok("pull", "list")
    lakegate.ok("pull", "run", "orders", "--object", HOSTILE)
    turn(MemorySource(BODY, failure=PortError("GetObject: NoSuchKey")))
    lakegate.ok("pull", "run", "orders", "--object", "s3://exports/out/day.csv", "--object-version", "v1")
    turn(MemorySource(BODY, checks=False))
    (found,) = lakegate.json("pull", "list")["pulls"]
    fetched, failed = found["ends"]
    words, refused = lakegate.ok("pull", "list"), lakegate("pull", "run", "orders")

    assert before == "shop/orders_v1 1.0.0: s3://exports/out/\n  delivers the objects that its producer names\n"
    assert (found["schedule"], found["next"]) == ("", "")
    assert (fetched["outcome"], fetched["object"], fetched["version"]) == ("FETCHED", "s3://exports/out/day.csv", "v1")
    assert (failed["outcome"], failed["object"], failed["reason"]) == ("FAILED", HOSTILE, "GetObject: NoSuchKey")
    assert f" s3://exports/out/day.csv v1 FETCHED ({fetched['key']}, 14 bytes)" in words
    assert " s3://exports/out/\\x1b[31m[red]\\nday.csv FAILED (GetObject: NoSuchKey)" in words
    assert lakegate.json("status", "--contract", "shop")["pulls"] == [found]
    assert "FETCHED" in lakegate.ok("status", "--contract", "shop")
    assert refused.exit_code != 0
    assert "is not pulled by schedule: its producer names objects of s3://exports/out/" in str(refused.exception)


def test_only_what_is_pulled_can_be_run(lakegate: Lakegate) -> None:
    """The message says why it is not."""
    lakegate.routed()
    refused = lakegate("pull", "run", "orders")

    assert "is not pulled: its contract has no `pull`" in str(refused.exception)
