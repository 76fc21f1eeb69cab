"""Pulls: written only as they were seen, found when they are due."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from lakegate.base.errors import ConditionFailed
from lakegate.base.timestamps import moment
from lakegate.contract.delivery_policy import Pull
from lakegate.features.pull.pull_sources import SourceIdentity
from lakegate.features.pull.pull_task import (
    FinishedPull,
    PullOutcome,
    PullState,
    SourceFetch,
    ended,
    planned,
    unplanned,
)
from tests.contract.conftest import Ports

NOW = datetime(2026, 1, 5, 12, 30, tzinfo=UTC)
NEW = planned(PullState("shop/orders_v1"), Pull("https://example.com/a", "rate(1 hour)"), "1.0.0", "p", moment(NOW))
FETCH = SourceFetch(NEW.next, moment(NOW), "shop/a.csv", SourceIdentity('"v"', "d", "3"), 5, resumable=True, upload="u")
END = FinishedPull(PullOutcome.FETCHED, moment(NOW), "shop/a.csv", 5)


def test_pulls_are_read_as_they_were_written(ports: Ports) -> None:
    """Every field survives the store; a line that nobody has written is not pulled."""
    assert ports.pulls.get(NEW.dataset) == PullState(NEW.dataset)
    changes = (partial(replace), partial(replace, fetch=FETCH), partial(ended, end=END))
    row = NEW
    for revision, change in enumerate(changes, 1):
        wanted = replace(change(row), revision=revision)
        row = ports.pulls.write(change(row))
        assert row == ports.pulls.get(NEW.dataset) == wanted


def test_pulls_are_written_only_as_they_were_seen(ports: Ports) -> None:
    """Of two ticks with the same row, one leases it."""
    written = ports.pulls.write(NEW)
    ports.pulls.write(replace(written, leased=moment(NOW)))
    for late in (NEW, replace(written, leased=moment(NOW)), replace(NEW, revision=4)):
        with pytest.raises(ConditionFailed, match="row"):
            ports.pulls.write(late)


def test_due_pulls_are_found_by_the_index(ports: Ports) -> None:
    """From their time on; not while a tick has them, and not once nothing is pulled any more."""
    row = ports.pulls.write(NEW)
    found = [ports.pulls.due(NOW + timedelta(minutes=each), 10) for each in (29, 30)]
    row = ports.pulls.write(replace(row, leased=moment(NOW + timedelta(minutes=50))))
    found += [ports.pulls.due(NOW + timedelta(minutes=each), 10) for each in (49, 50)]
    ports.pulls.write(unplanned(row))

    assert found == [(), (NEW.dataset,), (), (NEW.dataset,)]
    assert ports.pulls.due(NOW + timedelta(days=9), 10) == ()
