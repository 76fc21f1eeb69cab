"""Driving a use case: temporary refusals are retried, final ones reach the use case."""

from __future__ import annotations

import pytest

from lakegate.base.errors import ConditionFailed, PortError, Throttled, TransactionConflict
from lakegate.gate.effects import RETRIES, Effect, Steps, perform, run
from tests.fakes import VirtualClock


class Flaky:
    """Refuses a given number of times, then returns how often it was called."""

    def __init__(self, *refusals: PortError) -> None:
        self.refusals = list(refusals)
        self.asked = 0

    def __call__(self) -> int:
        self.asked += 1
        if self.refusals:
            raise self.refusals.pop(0)
        return self.asked


def one(flaky: Flaky) -> Steps[int]:
    return (yield from perform(Effect.CLAIM, flaky))


def test_the_answer_of_the_effect_is_the_use_cases_to_read() -> None:
    """What a port answers comes out of the step that asked."""
    assert run(one(Flaky()), VirtualClock()) == 1


def test_throttling_and_conflicts_are_waited_out() -> None:
    """A pause that doubles lies between the sayings."""
    clock = VirtualClock()
    began = clock.now()
    answer = run(one(Flaky(Throttled(), TransactionConflict(), Throttled())), clock, jitter=lambda: 1.0)

    assert answer == 4
    assert (clock.now() - began).total_seconds() == pytest.approx(0.1 + 0.2 + 0.4)


def test_patience_ends() -> None:
    """Nobody waits for ever: after the last retry the refusal reaches the caller."""
    flaky = Flaky(*(Throttled() for _ in range(RETRIES + 1)))
    with pytest.raises(Throttled):
        run(one(flaky), VirtualClock())

    assert flaky.asked == RETRIES + 1


def test_a_failed_condition_is_not_retried() -> None:
    """A condition that failed will fail again: the use case decides what it means."""

    def forgiving(flaky: Flaky) -> Steps[str]:
        try:
            yield from perform(Effect.CLAIM, flaky)
        except ConditionFailed as refused:
            return ", ".join(refused.reasons)
        return "done"

    flaky = Flaky(ConditionFailed("state"))

    assert run(forgiving(flaky), VirtualClock()) == "state"
    assert flaky.asked == 1


def test_a_use_case_without_effects_ends() -> None:
    """Nothing to do is not an error."""

    def idle() -> Steps[str]:
        return "nothing"
        yield

    assert run(idle(), VirtualClock()) == "nothing"
