"""The demo, on the stack of these tests: what a stranger sees first."""

from __future__ import annotations

import json
import re
from collections import Counter

from infra.samples.demo import UPLOADS
from tests.e2e.deployed import Deployed
from tests.e2e.running import lakegate
from tests.reference.sampling import FULL

ANNOUNCEMENT = re.compile("[0-9a-f]{64}/")
RUNS = 2 if FULL else 1


def test_the_demo_ends_as_it_should(stack: Deployed) -> None:
    """Ten deliveries, each with the verdict it deserves; nightly, a second demo on the same stack, too."""
    for _ in range(RUNS):
        ended = lakegate("demo", "--rows", "500")

        assert (ended.exit_code, ended.stderr if ended.exit_code else "") == (0, "")
        assert all(upload.key in ended.stdout for upload in UPLOADS)
        assert "refused after" in ended.stderr
        assert "the file has no column quantity" in ended.stderr
        assert "rates/ (fetched from the bucket of a partner): accepted after" in ended.stderr
    assert stack.state.endpoint


def test_status_and_reasons_show_what_the_demo_did(stack: Deployed) -> None:
    """What the demo leaves behind can be looked at with the commands it names."""
    listed = json.loads(lakegate("status", "--local", "--json", "--limit", "50").stdout)["deliveries"]
    found = Counter(
        (ANNOUNCEMENT.sub("", each["key"]), each["verdict"])
        for each in listed
        if each["key"].startswith(("weather/", "orders/"))
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
