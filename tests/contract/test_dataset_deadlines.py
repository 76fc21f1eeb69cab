"""Promises: written only as they were seen, found when they are missed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from lakegate.base.errors import ConditionFailed
from lakegate.base.timestamps import moment
from lakegate.contract.service_levels import ServiceLevel
from lakegate.gate.datasets.dataset_states import DatasetDeadlines
from lakegate.gate.datasets.freshness_deadlines import mark_reported, restart_deadlines
from tests.contract.conftest import Ports

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
BEGUN = restart_deadlines(
    DatasetDeadlines("shop/orders_v1"),
    moment(NOW),
    "1.0.0",
    (ServiceLevel("freshness", 60), ServiceLevel("frequency", 3_600)),
    "",
)


def test_promises_are_read_as_they_were_written(ports: Ports) -> None:
    """Every field survives the store; a line that nobody has written promises nothing."""
    assert ports.deadlines.get(BEGUN.dataset) == DatasetDeadlines(BEGUN.dataset)
    written = ports.deadlines.write(BEGUN)

    assert ports.deadlines.get(BEGUN.dataset) == written == replace(BEGUN, revision=1)


def test_promises_are_written_only_as_they_were_seen(ports: Ports) -> None:
    """A turn that read older promises does not replace newer ones."""
    ports.deadlines.write(BEGUN)
    for late in (BEGUN, replace(BEGUN, revision=3)):
        with pytest.raises(ConditionFailed, match="row"):
            ports.deadlines.write(late)


def test_missed_promises_are_found_by_the_index(ports: Ports) -> None:
    """From the time of the first promise on; not those that were reported."""
    row = ports.deadlines.write(BEGUN)
    early, first = (ports.deadlines.due(NOW + timedelta(seconds=each), 10) for each in (59, 60))
    row = ports.deadlines.write(mark_reported(row, BEGUN.deadlines[:1]))
    between, second = (ports.deadlines.due(NOW + timedelta(seconds=each), 10) for each in (60, 3_600))

    assert (early, first, between, second) == ((), (BEGUN.dataset,), (), (BEGUN.dataset,))
    ports.deadlines.write(mark_reported(row, BEGUN.deadlines))
    assert ports.deadlines.due(NOW + timedelta(days=9), 10) == ()
