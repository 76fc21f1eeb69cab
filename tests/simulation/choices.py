"""Every decision of a schedule is a small number, 0 the harmless one; a schedule is the list of its numbers."""

from __future__ import annotations

import random


class Choices:
    """Numbers from a seed, recorded, so that the same list gives the same schedule again."""

    def __init__(self, seed: int | None = None, script: tuple[int, ...] = (), begin: tuple[int, ...] = ()) -> None:
        """`begin`: the first numbers, of a schedule from a seed too."""
        self._random = random.Random(seed).random if seed is not None else None
        self._script = script
        self._begin = begin
        self.made: list[int] = []

    def pick(self, of: int) -> int:
        """One of `of`, all alike."""
        if self._random is None or of == 1:
            return self._scripted(of)
        if self._begin and len(self.made) < len(self._begin):
            return self._begun()
        number = int(self._random() * of)
        self.made.append(number)
        return number

    def rarely(self, of: int, share: float) -> int:
        """Mostly 0; in `share` of the cases one of 1 to `of` - 1."""
        if self._random is None or of == 1:
            return self._scripted(of)
        if self._begin and len(self.made) < len(self._begin):
            return self._begun()
        drawn = self._random()
        number = 1 + int(drawn / share * (of - 1)) if drawn < share else 0
        self.made.append(number)
        return number

    def _begun(self) -> int:
        self.made.append(self._begin[len(self.made)])
        return self.made[-1]

    def _scripted(self, of: int) -> int:
        """The number of the script at this place; where there is nothing to choose, no number is used."""
        if of == 1:
            return 0
        place = len(self.made)
        number = min(self._script[place], of - 1) if place < len(self._script) else 0
        self.made.append(number)
        return number
