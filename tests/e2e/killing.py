"""A function that dies at a chosen moment: its use case is driven up to one effect and then abandoned."""

from __future__ import annotations

from typing import Any

from lakegate.gate.effects import Effect, Steps


def die_after(effect: Effect, steps: Steps[Any]) -> None:
    """Perform a use case's effects up to the first of this kind, that one included, and nothing behind it."""
    call = next(steps)
    while True:
        answer = call.do()
        if call.effect is effect:
            return
        call = steps.send(answer)
