"""Who may run on this machine at a time, first come, first served."""

from __future__ import annotations

from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING

from infra.local.emr.stop import StoppedError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from threading import Condition

    from infra.local.emr.stop import Stop


class Seats:
    """So many seats, and the line before them; `changed` guards both and wakes who waits."""

    def __init__(self, changed: Condition, seats: int) -> None:
        self._changed = changed
        self._free = seats
        self._line: deque[Stop] = deque()

    @contextmanager
    def one(self, stop: Stop) -> Iterator[None]:
        """While inside, one seat is taken; StoppedError if the word to stop comes before there is one."""
        with self._changed:
            self._line.append(stop)
            try:
                self._changed.wait_for(lambda: stop.requested or (self._line[0] is stop and self._free > 0))
                if stop.requested:
                    raise StoppedError(stop.reason)
                self._free -= 1
            finally:
                self._line.remove(stop)
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._free += 1
                self._changed.notify_all()
