"""A small helping of the simulation, for the inner loop."""

from __future__ import annotations

import pytest

from tests.simulation.choices import Choices
from tests.simulation.exhaustive import MORE, SCENARIOS, Scenario, play
from tests.simulation.schedules import broken


@pytest.mark.parametrize("scenario", [*SCENARIOS, *MORE], ids=lambda s: s.name)
def test_each_way_a_delivery_can_go_has_its_end(scenario: Scenario) -> None:
    """Without a fault: the end is the one the scenario names."""
    assert scenario.ends == play(scenario).end


def test_some_schedules_for_the_inner_loop() -> None:
    """A hundred and fifty schedules break no promise."""
    assert [seed for seed in range(150) if broken(Choices(seed))] == []
