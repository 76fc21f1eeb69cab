"""Deliveries of several objects keep every promise under every single fault, and planted bugs are found."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from lakegate.gate.effects import Effect
from tests.simulation.parts import PARTS_SCENARIOS, PartsScenario, faults_of, play_parts
from tests.simulation.planted import Planted, planted

BUGS = tuple(
    Planted(**each) for each in yaml.load(Path(__file__).with_name("planted_parts.yaml").read_text(), yaml.CSafeLoader)
)
SHARE = 7
"""Of the faults of each schedule; `make nightly` plays all."""


@pytest.mark.parametrize("scenario", PARTS_SCENARIOS, ids=lambda s: s.name)
def test_a_delivery_of_parts_survives_single_faults(scenario: PartsScenario) -> None:
    """A sample of the faults at the effects of each way such a delivery can go: every promise holds, and it ends as it must."""
    assert play_parts(scenario).ends == scenario.ends
    for planned in list(faults_of(scenario))[::SHARE]:
        play_parts(scenario, planned)


@pytest.mark.full  # a sample is played above
@pytest.mark.parametrize("scenario", PARTS_SCENARIOS, ids=lambda s: s.name)
def test_a_delivery_of_parts_survives_every_single_fault(scenario: PartsScenario) -> None:
    """Each kind of fault at each of the first three occurrences of each effect."""
    for planned in faults_of(scenario):
        play_parts(scenario, planned)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_bug_in_deliveries_of_parts_is_found(bug: Planted) -> None:
    """With the bug planted a promise breaks in one of the schedules, and not by a slip of the plant."""
    with planted(bug), pytest.raises(AssertionError) as found:
        list(map(play_parts, PARTS_SCENARIOS))

    assert not any(slip in str(found.value) for slip in ("NameError", "AttributeError", "KeyError", "TypeError"))


def test_the_effects_of_parts_are_met() -> None:
    """The schedules meet what only deliveries of parts do, at more than one part."""
    met = play_parts(PARTS_SCENARIOS[0]).effects

    assert (met[Effect.WRITE_PARTS], met[Effect.JOIN], met[Effect.STAGE], met[Effect.COPY]) == (2, 2, 2, 2)
    assert met[Effect.DELETE_SOURCE] == 3
