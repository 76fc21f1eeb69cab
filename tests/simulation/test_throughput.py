"""A thousand uploads a minute with the default profile and default quotas: nothing is lost, and nobody has to look at it."""

from __future__ import annotations

import pytest

from lakegate.features.deployment.parameter_values import DEFAULT_PROFILE
from lakegate.gate.delivery.protocol import State
from tests.simulation.throughput import LOADS, QUOTAS, Simulation, account_of, measured


@pytest.mark.full  # per commit test_storms.py shows that nothing of a burst is lost
@pytest.mark.parametrize(
    ("quotas", "minutes"),
    [("default", 1), ("default, DynamoDB 10 ms", 1), ("default, DynamoDB 20 ms", 3), ("default", 60)],
)
def test_the_default_profile_serves_a_thousand_uploads_a_minute(quotas: str, minutes: int) -> None:
    """Each ends once; no message is delivered again, no start is throttled, no event of the judge function expires.

    Small files do not wait for the large ones, whose runs wait for two at once. All are of one dataset, and so in one chain.
    """
    done = measured(account_of(DEFAULT_PROFILE, QUOTAS[quotas]), LOADS["990 small, 10 large"], minutes, 20 * 60)
    waits = sorted(at - done.uploaded[each] for each, at in done.committed.items())

    assert done.states() == {State.PUBLISHED: 1_000 * minutes}
    assert (done.lost(), done.failures, done.landed.dead + done.moved.dead) == ([], [], 0)
    assert (done.jobs.throttled, done.aged_out) == (0, 0)
    assert waits[980 * minutes] < 30
    assert max(done.longest["intake"], done.longest["completion"]) < 500


def test_who_commits_to_a_busy_chain_refuses_nobody_for_good() -> None:
    """A hundred and fifty at once with 20 ms a call: without places of their own a third of them would be tried again by SQS."""
    burst = Simulation(account_of(DEFAULT_PROFILE, QUOTAS["default, DynamoDB 20 ms"]))
    burst.upload(150)
    while burst.time.now_ < 1_200 and not burst.is_over():
        burst.run(burst.time.now_ + 10)

    assert (burst.states(), burst.failures, burst.lost()) == ({State.PUBLISHED: 150}, [], [])
