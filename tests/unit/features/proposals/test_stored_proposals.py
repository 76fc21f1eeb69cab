"""Proposals beside the registry."""

from __future__ import annotations

from lakegate.features.proposals.proposal import propose
from lakegate.gate.effects import run
from tests.unit.aws.conftest import cloud  # noqa: F401 - a fixture
from tests.unit.aws.test_lost_registry_items import Cloud, built, compiled


def test_proposals_are_no_items_of_a_contract_that_can_be_lost(
    cloud: Cloud,  # noqa: F811 - the fixture
) -> None:
    """They stand in the same table, and are neither versions nor damage."""
    there = built(cloud)
    before = there.registry.snapshot()
    run(propose(there, compiled("1.2.0")), there.clock)

    assert (there.registry.snapshot(), there.registry.damaged()) == (before, {})
