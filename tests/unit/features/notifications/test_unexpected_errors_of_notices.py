"""An error that nobody foresaw, or an item that cannot be read, at one notice: it stops no other."""

from __future__ import annotations

from typing import Any

import pytest

from lakegate.base.errors import Throttled, UnreadableItem
from lakegate.features.notifications import notices
from lakegate.gate.datasets.dataset_states import DatasetRowStore
from tests.unit.gate.notified_gate import OPERATOR, Gate
from tests.unit.gate.test_unexpected_errors import refusing


@pytest.mark.parametrize("error", [ZeroDivisionError(), UnreadableItem("notice#x", "it is not JSON")])
def test_a_notice_stops_no_other(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Of two channels one gets its message."""
    gate = Gate()
    gate.subscribe(OPERATOR, "rejected")
    gate.subscribe("slack:other", "rejected")
    gate.ends("quarantined", "rejected")
    send = notices._send  # noqa: SLF001 - the one place of both

    def refused(dependencies: Any, notice: Any, *given: Any) -> None:
        if notice.channel == OPERATOR:
            raise error
        send(dependencies, notice, *given)

    monkeypatch.setattr(notices, "_send", refused)
    notified = gate.turn()

    assert [to for to, *_ in gate.sent()] == ["slack:other"]
    assert len(notified.channels.failures) == 1


def test_a_notice_that_cannot_be_read_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does a table that refuses: what is due waits for the next turn."""
    gate = Gate()
    gate.subscribe(OPERATOR, "rejected")
    gate.ends("quarantined", "rejected")
    unreadable = UnreadableItem("notice#x", "it is not JSON")
    monkeypatch.setattr(DatasetRowStore, "due", lambda *_: ("bad",))
    usual = DatasetRowStore.get
    monkeypatch.setattr(DatasetRowStore, "get", refusing(usual, "bad", unreadable))
    notified = gate.turn()

    assert (notified.channels.failures, [to for to, *_ in gate.sent()]) == ([unreadable], [OPERATOR])

    throttled = Throttled("GetItem")
    monkeypatch.setattr(DatasetRowStore, "get", refusing(usual, "bad", throttled))
    assert gate.turn().channels.failures == [throttled]
