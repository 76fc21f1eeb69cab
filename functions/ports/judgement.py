"""The verdict on a result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from lakegate.contracts.judge.counts import Counts


class Judgement(Protocol):
    """What the verdict function of contracts/ returns."""

    @property
    def verdict(self) -> str:
        """One of Verdict."""
        ...

    @property
    def reasons(self) -> tuple[str, ...]:
        """Rule, field and message; masked."""
        ...

    @property
    def counts(self) -> Counts | None:
        """Rows and checks, in numbers."""
        ...


class Judge(Protocol):
    """The verdict as a function of plan and result."""

    def __call__(self, plan: bytes, result: bytes) -> Judgement:
        """Raises LakegateError where either does not match its schema."""
        ...
