"""The demo, on the stack of these tests: what a stranger sees first."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from infra.samples.demo import UPLOADS
from lakegate.aws.open_stack import DeployedStack, open_deployed
from tests.e2e.deployed import Deployed
from tests.e2e.running import lakegate
from tests.reference.sampling import FULL

if TYPE_CHECKING:
    import pytest

ANNOUNCEMENT = re.compile("[0-9a-f]{64}/")
DAY = re.compile(r"(2025-\d\d-\d\d) +(\d+) +[0-9.]+ +[0-9.]+ *")
RUNS = 2 if FULL else 1


@contextmanager
def opened_without_tables(*, local: bool) -> Iterator[DeployedStack]:
    with open_deployed(local=local) as there:
        yield replace(there, outputs={name: value for name, value in there.outputs.items() if name != "TableDatabase"})


def test_the_demo_ends_as_it_should(stack: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eleven deliveries, each with the verdict it deserves, and a query of the table that two of them are.

    Nightly there is a second demo on the same stack, which says that the stack keeps no tables.
    """
    for opened in (open_deployed, opened_without_tables)[:RUNS]:
        monkeypatch.setattr("infra.local.demo_command.open_deployed", opened)
        ended = lakegate("demo", "--rows", "500")

        assert (ended.exit_code, ended.stderr if ended.exit_code else "") == (0, "")
        assert all(upload.key in ended.stdout for upload in UPLOADS)
        assert "refused after" in ended.stderr
        assert "the file has no column quantity" in ended.stderr
        assert "rates/ (fetched from the bucket of a partner): accepted after" in ended.stderr
        days = [line.groups() for each in ended.stdout.splitlines() if (line := DAY.fullmatch(each))]
        assert days == ([("2025-01-31", "5"), ("2025-02-01", "5")] if opened is open_deployed else [])
        assert ("is left out: this stack was started without tables" in ended.stderr) == (not days)
    assert stack.state.endpoint


def test_status_and_reasons_show_what_the_demo_did(stack: Deployed) -> None:
    """What the demo leaves behind can be looked at with the commands it names."""
    listed = json.loads(lakegate("status", "--local", "--json", "--limit", "50").stdout)["deliveries"]
    keys = {each.key for each in UPLOADS}
    found = Counter(
        (ANNOUNCEMENT.sub("", each["key"]), each["verdict"])
        for each in listed
        if ANNOUNCEMENT.sub("", each["key"]) in keys
    )
    wanted = Counter((each.key, each.verdict) for each in UPLOADS)
    wanted["orders/orders.csv", "accepted"] += 1  # announced

    assert {key: RUNS * count for key, count in wanted.items()} == found

    history = json.loads(lakegate("history", "orders", "--local", "--json", "--limit", "100").stdout)["deliveries"]
    current = [each for each in history if each["kind"] == "published" and each["not_current"] is None]
    keys = [ANNOUNCEMENT.sub("", each["file"]) for each in current]
    assert keys.count("orders/orders.csv") == 1  # what was corrected does not count twice

    dirty = next(each for each in listed if each["key"] == "weather/dirty.csv")
    reasons = lakegate("reasons", dirty["workload"], "--local")

    assert reasons.exit_code == 0
    assert "wind_direct_grad" in reasons.stdout
    assert stack.state.endpoint
