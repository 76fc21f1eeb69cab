"""Every decision of a schedule is a small number, 0 the harmless one; a schedule is the list of its numbers."""

from __future__ import annotations

import random


class Choices:
    """Numbers from a seed, written down, so that the same list tells the same story again."""

    def __init__(self, seed: int | None = None, script: tuple[int, ...] = ()) -> None:
        self._random = random.Random(seed).random if seed is not None else None
        self._script = script
        self.made: list[int] = []

    def pick(self, of: int) -> int:
        """One of `of`, all alike."""
        return self._next(of, 1.0)

    def rarely(self, of: int, share: float) -> int:
        """Mostly 0; in `share` of the cases one of 1 to `of` - 1."""
        return self._next(of, share)

    def _next(self, of: int, share: float) -> int:
        if of == 1:
            return 0
        if self._random is None:
            place = len(self.made)
            number = min(self._script[place], of - 1) if place < len(self._script) else 0
        elif share == 1.0:
            number = int(self._random() * of)
        else:
            drawn = self._random()
            number = 1 + int(drawn / share * (of - 1)) if drawn < share else 0
        self.made.append(number)
        return number
