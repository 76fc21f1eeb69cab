"""Lines: written only as they were seen, together with their record and their message."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from lakegate.base.errors import ConditionFailed
from lakegate.base.timestamps import moment
from lakegate.features.pull.pull_task import PullState
from lakegate.features.revalidation.revalidation import RevalidationState
from lakegate.gate.datasets.dataset_states import DatasetDeadlines, DatasetState, Ending, Notice, Subscription
from lakegate.gate.datasets.lifecycle import deprecate
from lakegate.gate.delivery.delivery_row import Pin, SourceObject, Workload
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery_store import Expected, Pause, message_row
from lakegate.gate.ledger.blocks import GENESIS, Head, Record, event_id
from lakegate.gate.ledger.ledger_store import record_writes
from lakegate.gate.ports import Message
from lakegate.gate.table import Put
from tests.contract.conftest import Ports
from tests.fakes.identity import ALICE

NOW = datetime(2026, 11, 21, 11, 30, tzinfo=UTC)
NAME = "orders/lines_v1"
FULL = replace(
    deprecate(DatasetState(NAME), moment(NOW), Ending("replaced — ersetzt", "orders/lines_v2", "https://wiki.example")),
    notice=Notice("2.0.0", "orders/lines_v0", ("finance",), ("finance",)),
    subscriptions=(Subscription("finance", moment(NOW), ("breaking", "rejected"), "consumer", ("slack:x",)),),
)
NEWS = Message("orders/lines_v1:deprecated:1", "", "deprecated", '{"line": "orders/lines_v1"}', NOW, NAME)
CONTENT = {
    "act": "deprecate",
    "status": "deprecated",
    "since": moment(NOW),
    "planned": [],
    "reason": "",
    "replacement": "",
    "guide": "",
    "notice": None,
}
RECORD = Record("lifecycle", 0, GENESIS, moment(NOW), NAME, ALICE, event_id("lifecycle", NAME, 1), CONTENT)
POSTED = Put(message_row(NEWS))
WRITTEN = replace(FULL, revision=1)


def test_a_line_is_read_as_it_was_written(ports: Ports) -> None:
    """Every field survives the store; a line that nobody has written is active."""
    assert ports.datasets.get(NAME) == DatasetState(NAME)
    written = ports.datasets.write(FULL, *record_writes(RECORD), POSTED)

    assert (written, ports.datasets.get(NAME)) == (WRITTEN, WRITTEN)
    assert ports.ledger.blocks(NAME) == (RECORD,)
    assert ports.outbox.pending(10) == (NEWS,)


def test_a_line_is_written_only_as_it_was_seen(ports: Ports) -> None:
    """Of two who have read the same line, one writes; the other one's record and message are not written."""
    ports.datasets.write(FULL)
    for stale in (FULL, replace(FULL, revision=2)):
        with pytest.raises(ConditionFailed) as refused:
            ports.datasets.write(stale, *record_writes(RECORD), POSTED)
        assert refused.value.reasons == ("row",)
    ports.datasets.write(WRITTEN)

    assert ports.datasets.get(NAME) == replace(FULL, revision=2)
    assert ports.ledger.head(NAME) == Head(-1, GENESIS)
    assert ports.outbox.pending(10) == ()


def test_a_line_without_its_block_is_not_written(ports: Ports) -> None:
    """A chain that somebody else extended, and an act that is recorded, refuse the line."""
    ports.datasets.write(FULL, *record_writes(RECORD))
    again = replace(RECORD, height=1, previous=ports.ledger.head(NAME).digest)
    for record, reasons in ((RECORD, ("head", "event")), (again, ("event",))):
        with pytest.raises(ConditionFailed) as refused:
            ports.datasets.write(WRITTEN, *record_writes(record), POSTED)
        assert refused.value.reasons == reasons

    assert ports.datasets.get(NAME) == WRITTEN
    assert ports.outbox.pending(10) == ()


def test_lines_are_found_when_they_are_due(ports: Ports) -> None:
    """By the manifest that is behind, then by the next change; a line with nothing to do is not found."""
    due = [ports.datasets.due(NOW, 10)]
    for line in (FULL, replace(WRITTEN, listed=True)):
        ports.datasets.write(line)
        due += [ports.datasets.due(NOW + timedelta(days=days), 10) for days in (-1, 0, 30)]
    ports.datasets.write(replace(FULL, revision=2, listed=True, changes=(), recorded=0))
    due.append(ports.datasets.due(NOW + timedelta(days=90), 10))

    assert due == [(), (), (NAME,), (NAME,), (), (), (NAME,), ()]


def test_the_lines_found_are_the_oldest(ports: Ports) -> None:
    """A limit postpones the others."""
    for number in range(3):
        at = moment(NOW - timedelta(days=number))
        ports.datasets.write(deprecate(DatasetState(f"orders/lines_v{number}"), at, Ending()))

    assert ports.datasets.due(NOW, 2) == ("orders/lines_v2", "orders/lines_v1")


def test_an_accepted_delivery_makes_its_producer_known(ports: Ports) -> None:
    """By line and prefix, in the transaction of the decision, and never without it."""
    source = SourceObject("landing", "shop/day.csv", "v1")
    row = Workload("w1", source, State.RECEIVED, NOW, pin=Pin(NAME, prefix="shop/"))
    ports.workloads.create(row)
    with pytest.raises(ConditionFailed):
        ports.workloads.save(row, Expected(State.PINNED, 0), accepted=True)
    before = ports.workloads.knows(NAME, "shop/")
    for _ in range(2):
        ports.workloads.save(row, Expected(State.RECEIVED, 0), accepted=True, content="c", message=NEWS)

    assert not before
    assert ports.workloads.knows(NAME, "shop/")
    assert not ports.workloads.knows(NAME, "shop/other/")
    assert not ports.workloads.knows("orders/lines_v2", "shop/")


@pytest.mark.parametrize("other", ["orders/lines_v2", "orders/others_v1"])
def test_two_lines_of_a_contract_share_no_item(ports: Ports, other: str) -> None:
    """Another dataset, or another major version: what is stored of one line is not that of the other, whichever kind it is."""
    record = replace(RECORD, chain=other, event=event_id("lifecycle", other, 1))
    ports.datasets.write(FULL, *record_writes(RECORD))
    ports.datasets.write(replace(FULL, name=other, subscriptions=()), *record_writes(record))
    ports.deadlines.write(DatasetDeadlines(NAME, version="1.0.0"))
    ports.pulls.write(PullState(NAME, version="1.0.0"))
    ports.revalidations.write(RevalidationState(NAME, version="1.0.0"))
    ports.pauses.begin(Pause(NAME, NOW, ALICE))

    assert (ports.datasets.get(NAME), ports.datasets.get(other)) == (
        WRITTEN,
        replace(WRITTEN, name=other, subscriptions=()),
    )
    assert (ports.ledger.blocks(NAME), ports.ledger.blocks(other)) == ((RECORD,), (record,))
    assert ports.deadlines.get(other) == DatasetDeadlines(other)
    assert ports.pulls.get(other) == PullState(other)
    assert ports.revalidations.get(other) == RevalidationState(other)
    assert (ports.pauses.pause_of(NAME), ports.pauses.pause_of(other)) == (Pause(NAME, NOW, ALICE), None)
    assert ports.pauses.held(other, 1) == ()
