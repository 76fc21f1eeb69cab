"""`lakegate pull`: what is pulled, how that went, and pulling a line now."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from lakegate.contracts.lake.pulls import leased
from lakegate.functions.usecases.pulling import tick
from lakegate.functions.usecases.steps import run
from tests.fakes.pulls import MemorySource

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Lakegate

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

    row = scheduled.dependencies.pulls.get("shop/orders_v1")
    scheduled.dependencies.pulls.write(leased(row, "9999-01-01T00:00:00.000000Z"))

    assert scheduled.ok("pull", "run", "orders") == "shop/orders_v1 is being pulled. lakegate pull list\n"
    assert "is being fetched since" in fetching
    assert "after 1 failed attempts" in fetching
    assert "FAILED (too-large)" in scheduled.ok("pull", "list")


def test_only_what_is_pulled_can_be_run(lakegate: Lakegate) -> None:
    """The message says why it is not."""
    lakegate.routed()
    refused = lakegate("pull", "run", "orders")

    assert "is not pulled: its contract has no `pull`" in str(refused.exception)
