"""Turns of slices where a row is that of an earlier time."""

from __future__ import annotations

import pytest

from lakegate.base.errors import ConditionFailed
from lakegate.features.odf.slice_turns import DecidedSlices, with_slices
from lakegate.gate.delivery.advance import advance
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.transition import DeliveryTurn
from tests.unit.gate.delivery.test_restored_rows import set_back, swept
from tests.unit.gate.scenarios import decided, drive


def test_the_turn_of_a_line_ends_with_what_is_settled() -> None:
    """A table that is set back has the turn of then: the delivery gives it up, and the next one is published."""
    env, row = decided()
    assert row.decision is not None
    drive(env.dependencies, advance(DeliveryTurn(env.dependencies, row)))
    set_back(env, row._replace(decision=with_slices(row.decision, DecidedSlices((0, 6)))))
    with pytest.raises(ConditionFailed):
        env.memory.turns.end_turn(row._replace(decision=with_slices(row.decision, DecidedSlices((0, 6)))))
    swept(env)

    assert env.dependencies.workloads.get(row.id).state is State.PUBLISHED
