"""Waivers of people who may not sign."""

from __future__ import annotations

import pytest

from lakegate.base.errors import SigningDenied
from lakegate.gate.delivery.advance import advance
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.sweep import sweep
from tests.decisions import waive
from tests.unit.features.waivers.test_waiver import REASON, rejected, until
from tests.unit.gate.ledger.test_stack_key import ONE, MemoryKey, signed, signing
from tests.unit.gate.scenarios import drive


def test_who_may_not_sign_leaves_the_commit_to_the_sweep() -> None:
    """A person's waiver is decided, and the functions commit it; a worker of the stack reports that it may not sign."""
    env, row = rejected()
    signing(env, MemoryKey(1, denied=True))
    identity = str(drive(env.dependencies, waive(env.dependencies, row.id, REASON, until(env))))
    before = env.dependencies.workloads.get(identity)
    with pytest.raises(SigningDenied):
        drive(env.dependencies, advance(DeliveryTurn(env.dependencies, before)))
    signing(env, ONE)
    env.memory.clock.sleep(3_600)
    drive(env.dependencies, sweep(env.dependencies))

    assert (before.state, env.dependencies.workloads.get(identity).state) == (State.DECIDED, State.PUBLISHED)
    assert signed(env) == {ONE.name: 2}
