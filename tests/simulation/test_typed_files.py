"""Deliveries with typed files keep every promise in random schedules, and planted bugs are found."""

from __future__ import annotations

import pytest

from tests.reference.sampling import FULL
from tests.simulation.__main__ import until_caught
from tests.simulation.choices import Choices
from tests.simulation.exhaustive import MORE, Scenario, singles_of
from tests.simulation.planted import PLANTED, Planted
from tests.simulation.schedules import TYPED, broken

BUGS = [each for each in PLANTED if each.begin[:1] == [TYPED]]


@pytest.mark.parametrize("scenario", [each for each in MORE if each.typed], ids=lambda each: each.name)
def test_a_delivery_survives_every_single_fault(scenario: Scenario) -> None:
    """Each kind of fault at each effect: no block lacks a typed file, and the delivery ends as it must."""
    assert {single.end for single in singles_of(scenario).values()} == {scenario.ends}


def test_random_schedules_break_no_promise() -> None:
    """Whatever happens to several deliveries at once; a seed gives the same schedule again (`tests.simulation.schedules`)."""
    seeds = range(20_000 if FULL else 400)

    assert [(seed, found) for seed in seeds if (found := broken(Choices(seed, begin=(TYPED,))))] == []


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_planted_bug_falls(bug: Planted) -> None:
    """Within a few schedules, by a promise that it breaks."""
    needed, violation = until_caught(bug, seed=7)

    assert violation is not None
    assert needed < 100
