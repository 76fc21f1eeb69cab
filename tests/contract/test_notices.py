"""Notices: written only as they were seen, found when they are due or given up."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from lakegate.base.errors import ConditionFailed
from lakegate.base.timestamps import moment
from lakegate.features.notifications.notices import (
    TRIES_OF_NOTICE,
    ChannelNotice,
    Occurrence,
    failed,
    occurred,
    sent,
)
from lakegate.gate.table import workloads_key
from tests.contract.conftest import Ports

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
WHAT = Occurrence("e", moment(NOW), "rejected", "k", "Zurückgewiesen", ("amount: x",), "w", "in/")
BEGUN = occurred(ChannelNotice("shop/orders_v1", "slack:a", quiet="22:00-06:00", digest=4), WHAT)


def test_a_notice_is_read_as_it_was_written(ports: Ports) -> None:
    """Every field survives the store; nobody has written another."""
    assert ports.notices.get(BEGUN.id) == ChannelNotice(BEGUN.id)
    written = ports.notices.write(BEGUN)

    assert ports.notices.get(BEGUN.id) == written == replace(BEGUN, revision=1)


def test_a_notice_is_written_only_as_it_was_seen(ports: Ports) -> None:
    """Neither a second beginning nor an older revision replaces what another turn has written."""
    ports.notices.write(failed(ports.notices.write(BEGUN), moment(NOW), "Throttled: http-429"))
    for late in (BEGUN, replace(BEGUN, revision=1), replace(BEGUN, revision=9)):
        with pytest.raises(ConditionFailed, match="row"):
            ports.notices.write(late)

    assert ports.notices.get(BEGUN.id).tries == 1


def test_what_is_due_and_what_is_dead_is_found_by_the_index(ports: Ports) -> None:
    """A notice is in one of the lists or in none: due from its time on, dead after the last try."""
    other = replace(BEGUN, channel="slack:b")
    notice = ports.notices.write(BEGUN)
    ports.notices.write(sent(other, other.causes[0], moment(NOW)))
    early = ports.notices.due(NOW - timedelta(seconds=1), 10)
    due, dead = ports.notices.due(NOW, 10), ports.table.due("dead-notice", 10)
    for _ in range(TRIES_OF_NOTICE):
        notice = ports.notices.write(failed(notice, moment(NOW), "Unanswered: http-503"))

    assert (early, due, dead) == ((), (BEGUN.id,), ())
    assert (ports.notices.due(NOW + timedelta(days=9), 10), ports.table.due("dead-notice", 10)) == ((), (BEGUN.id,))


def test_the_notice_of_one_delivery_expires_with_its_message(ports: Ports) -> None:
    """After 90 days, whether it was sent or not; a notice of a line never expires."""
    of_delivery = replace(BEGUN, delivery="w:published:1", ended=moment(NOW))
    for each in (BEGUN, of_delivery):
        ports.notices.write(each)
    rows = [ports.table.get(workloads_key("notice", each.id)) for each in (BEGUN, of_delivery)]

    assert [row.values.get("expires") for row in rows if row] == [None, int((NOW + timedelta(days=90)).timestamp())]
