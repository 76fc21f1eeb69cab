"""The request to stop a run: made once, and seen by the thread that works on the run at that moment."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class StoppedError(Exception):
    """The run was cancelled, or its time is over."""


class Stop:
    """Why a run must end before its program does; no reason, no stop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requested = threading.Event()
        self._ends: list[Callable[[], None]] = []
        self.reason = ""

    @property
    def requested(self) -> bool:
        """Whether the run must end."""
        return self._requested.is_set()

    def say(self, reason: str) -> None:
        """End the run; the first reason stays."""
        with self._lock:
            if self.requested:
                return
            self.reason = reason
            self._requested.set()
            ends = list(self._ends)
        for end in ends:
            end()

    def wait(self, seconds: float | None) -> None:
        """Let that much time pass (None: all of it); StoppedError as soon as the run must end."""
        if self._requested.wait(seconds):
            raise StoppedError(self.reason)

    @contextmanager
    def calls(self, end: Callable[[], None]) -> Iterator[None]:
        """While inside, a request to stop calls `end`, at once if it was made before."""
        with self._lock:
            self._ends.append(end)
            requested = self.requested
        if requested:
            end()
        try:
            yield
        finally:
            with self._lock:
                self._ends.remove(end)
