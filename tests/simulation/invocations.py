"""The frame of a model test: invocations of a function whose effects are performed one at a time, each with a fault or none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from lakegate.base.errors import PortError, Unanswered
from lakegate.gate.effects import Call, Effect, Steps


class Fault(StrEnum):
    """What happens to one effect."""

    BEFORE = "the function ends before it"
    AFTER = "the function ends behind it"
    UNKNOWN = "it happens, and the answer is lost"
    REFUSED = "it does not happen, and no answer comes"
    TWICE = "it happens twice"


class Ended(Exception):  # noqa: N818 - the name is what happened
    """The function was stopped."""


@dataclass
class Invocation:
    """A function, stopped before its next effect."""

    steps: Steps[Any]
    repeated: frozenset[Effect]
    """Effects that need no condition, because they may be repeated: those that the fault TWICE is about."""
    errors: tuple[type[PortError], ...] = ()
    """With which it may end."""
    call: Call | None = field(init=False)
    """None: it had nothing to do."""

    def __post_init__(self) -> None:
        self.call = next(self.steps, None)

    def advance(self, fault: Fault | None) -> bool:
        """One effect. Returns whether the function goes on."""
        assert self.call is not None
        try:
            try:
                answer = self._performed(self.call, fault)
            except PortError as refused:
                self.call = self.steps.throw(refused)
            else:
                self.call = self.steps.send(answer)
        except (StopIteration, Ended, *self.errors):
            self.steps.close()
            return False
        return True

    def played(self, fault_of: Callable[[int], Fault | None], before: int = 0) -> int:
        """All effects, with faults by their numbers. Returns the last number; `before`: the one before the first."""
        number, goes_on = before, self.call is not None
        while goes_on:
            number += 1
            goes_on = self.advance(fault_of(number))
        return number

    def _performed(self, call: Call, fault: Fault | None) -> Any:
        if fault is Fault.BEFORE:
            raise Ended
        if fault is Fault.REFUSED:
            raise Unanswered("refused")
        answer = call.do()
        if fault is Fault.TWICE and call.effect in self.repeated:
            call.do()
        if fault is Fault.AFTER:
            raise Ended
        if fault is Fault.UNKNOWN:
            raise Unanswered("unknown")
        return answer


def is_found(play: Callable[[int], None], schedules: int) -> bool:
    """Whether one of so many random schedules, each by its seed, breaks a promise."""
    for seed in range(schedules):
        try:
            play(seed)
        except AssertionError:
            return True
    return False
