"""Promises: written only as they were seen, found when they are missed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from lakegate.contract.service_levels import Promise
from lakegate.errors import ConditionFailed
from lakegate.gate.datasets.dataset_lines import PromisingLine
from lakegate.gate.datasets.freshness_deadlines import accepted, reported
from lakegate.timestamps import moment
from tests.contract.conftest import Ports

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
BEGUN = accepted(
    PromisingLine("shop/orders_v1"), moment(NOW), "1.0.0", (Promise("freshness", 60), Promise("frequency", 3_600)), ""
)


def test_promises_are_read_as_they_were_written(ports: Ports) -> None:
    """Every field survives the store; a line that nobody has written promises nothing."""
    assert ports.promises.get(BEGUN.line) == PromisingLine(BEGUN.line)
    ports.promises.write(BEGUN)

    assert ports.promises.get(BEGUN.line) == BEGUN


def test_promises_are_written_only_as_they_were_seen(ports: Ports) -> None:
    """A turn that read older promises does not replace newer ones."""
    ports.promises.write(BEGUN)
    for late in (BEGUN, replace(BEGUN, revision=3)):
        with pytest.raises(ConditionFailed, match="promises"):
            ports.promises.write(late)


def test_missed_promises_are_found_by_the_index(ports: Ports) -> None:
    """From the time of the first promise on; not those that were reported."""
    ports.promises.write(BEGUN)
    early, first = (ports.promises.due(NOW + timedelta(seconds=each), 10) for each in (59, 60))
    ports.promises.write(reported(BEGUN, BEGUN.pledges[:1]))
    between, second = (ports.promises.due(NOW + timedelta(seconds=each), 10) for each in (60, 3_600))

    assert (early, first, between, second) == ((), (BEGUN.line,), (), (BEGUN.line,))
    ports.promises.write(replace(reported(BEGUN, BEGUN.pledges), revision=3))
    assert ports.promises.due(NOW + timedelta(days=9), 10) == ()
