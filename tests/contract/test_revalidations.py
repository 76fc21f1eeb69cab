"""Measurements by schedule: written only as they were seen, found when they are due."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from lakegate.base.errors import ConditionFailed
from lakegate.base.timestamps import moment
from lakegate.contract.documents.odcs_quality import LONGEST_SCHEDULE
from lakegate.features.revalidation.revalidation import (
    MAX_ENDS,
    DueSchedule,
    EndedRun,
    RevalidationEnd,
    RevalidationState,
    ScheduledRun,
    ended,
    planned,
    unplanned,
)
from lakegate.features.revalidation.rule_limit import MAX_STALE
from lakegate.verdict.verdict import LONGEST_RULE
from tests.contract.conftest import Ports

MOST_BYTES = 400_000
"""Of an item of DynamoDB."""
NOW = datetime(2026, 1, 5, 12, 30, tzinfo=UTC)
HOURLY = "cron(0 * * * ? *)"
NEW = planned(RevalidationState("shop/orders_v1"), [HOURLY, "cron(30 6 * * ? *)"], "1.0.0", "p", moment(NOW))
RUN = ScheduledRun("r", (HOURLY,), "q", 3, moment(NOW), attempt=2, run="job", deadline=moment(NOW))
END = EndedRun(RevalidationEnd.BROKEN, moment(NOW), 3, "lost", ("once",))


def test_the_largest_row_is_an_item_of_dynamodb() -> None:
    """As many rules with names as long as they can be, in letters of four bytes, and as many ends as a row remembers."""
    names = tuple(f"{number:03}{chr(0x1F600) * (LONGEST_RULE - 3)}" for number in range(MAX_STALE))
    hours, days = ",".join(map(str, range(24))), ",".join(map(str, range(1, 32)))
    times = [f"cron({number % 60} {hours} {days} 1/{number // 60 + 1} ? 2026-2199)" for number in range(MAX_STALE)]
    row = RevalidationState("x" * 1_000, schedules=tuple(DueSchedule(each, moment(NOW)) for each in times))
    for height in range(MAX_ENDS + 5):
        busy = replace(row, run=ScheduledRun("r", tuple(times), "q", height, moment(NOW)))
        row = ended(busy, replace(END, stale=names, height=height))
    written = json.dumps(asdict(replace(row, run=busy.run)))

    assert (len(row.ends), row.ends[0].stale, {each.stale for each in row.ends[1:]}) == (MAX_ENDS, names, {()})
    assert len(written) + 2 * MAX_STALE * (LONGEST_SCHEDULE - min(map(len, times))) < MOST_BYTES


def test_rows_are_read_as_they_were_written(ports: Ports) -> None:
    """Every field survives the store; a line that nobody has written has no schedule."""
    assert ports.revalidations.get(NEW.dataset) == RevalidationState(NEW.dataset)
    changes = (partial(replace), partial(replace, run=RUN, look=moment(NOW)), partial(ended, end=END))
    row = NEW
    for revision, change in enumerate(changes, 1):
        wanted = replace(change(row), revision=revision)
        row = ports.revalidations.write(change(row))
        assert row == ports.revalidations.get(NEW.dataset) == wanted


def test_rows_are_written_only_as_they_were_seen(ports: Ports) -> None:
    """Of two sweeps with the same row, one goes on."""
    written = ports.revalidations.write(NEW)
    ports.revalidations.write(replace(written, run=RUN, look=moment(NOW)))
    for late in (NEW, replace(written, run=RUN, look=moment(NOW)), replace(NEW, revision=4)):
        with pytest.raises(ConditionFailed, match="row"):
            ports.revalidations.write(late)


def test_due_lines_are_found_by_the_index(ports: Ports) -> None:
    """From the earliest of their schedules on; while a run is under way by its own time; not once they have no schedule."""
    row = ports.revalidations.write(NEW)
    found = [ports.revalidations.due(NOW + timedelta(minutes=each), 10) for each in (29, 30)]
    row = ports.revalidations.write(replace(row, run=RUN, look=moment(NOW + timedelta(minutes=50))))
    found += [ports.revalidations.due(NOW + timedelta(minutes=each), 10) for each in (49, 50)]
    ports.revalidations.write(unplanned(replace(row, run=None)))
    found.append(ports.revalidations.due(NOW + timedelta(days=9), 10))

    assert found == [(), (NEW.dataset,), (), (NEW.dataset,), ()]
