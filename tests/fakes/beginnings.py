"""What tests begin with: made by the first of them, restored for the others."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar, Final, Protocol, TypeVar

from tests.fakes.moto_state import MotoState

T = TypeVar("T")
FRESH: Final = timedelta(minutes=3)
"""What is older, or of another day, is made again: no test depends on how long the tests before it took."""


class Stack(Protocol):
    """A stack on moto, with a folder of files and a fake that belong to it."""

    @property
    def folder(self) -> Path: ...
    @property
    def jobs(self) -> object: ...


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that a stack contains."""

    moto: MotoState
    files: dict[str, bytes]

    @classmethod
    def of(cls, stack: Stack) -> Snapshot | None:
        """Nothing where its folder has folders."""
        files = list(stack.folder.iterdir())
        if not all(each.is_file() for each in files):
            return None
        return cls(MotoState.save(stack.jobs), {each.name: each.read_bytes() for each in files})

    def restore(self, stack: Stack) -> None:
        self.moto.restore(stack.jobs)
        for name, body in self.files.items():
            (stack.folder / name).write_bytes(body)


@dataclass(frozen=True, slots=True)
class Made:
    """What a step left and returned."""

    snapshot: Snapshot
    returned: Any
    at: datetime

    @property
    def is_fresh(self) -> bool:
        now = datetime.now(UTC)
        return now - self.at < FRESH and now.date() == self.at.date()


class Beginning:
    """The steps that a test has taken on a stack, as long as it has done nothing else."""

    made: ClassVar[dict[tuple[Hashable, ...], Made]] = {}
    """By all steps, the last one included; shared by the tests of a process."""

    def __init__(self, stack: Stack) -> None:
        self._steps: tuple[Hashable, ...] = ()
        self._left = Snapshot.of(stack)

    def step(self, stack: Stack, name: Hashable, take: Callable[[], T]) -> T:
        """Take a step, or restore what it left after the same steps of another test. It may take steps itself."""
        if self._left is None or self._left != Snapshot.of(stack):
            return take()
        steps, started = (*self._steps, name), datetime.now(UTC)
        known = self.made.get(steps)
        if known is not None and known.is_fresh:
            known.snapshot.restore(stack)
            self._left = Snapshot.of(stack)
        else:
            returned, self._left = take(), Snapshot.of(stack)
            if self._left is None:
                return returned
            known = self.made[steps] = Made(self._left, returned, started)
        self._steps = steps
        of_step: T = known.returned
        return of_step
