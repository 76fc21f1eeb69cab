"""Who calls, in memory."""

from __future__ import annotations

from dataclasses import dataclass

ALICE, BOB = "arn:aws:iam::123456789012:user/alice", "arn:aws:iam::123456789012:user/bob"


@dataclass(frozen=True, slots=True)
class MemoryIdentity:
    """One caller."""

    arn: str = ALICE

    def caller(self) -> str:
        """The ARN."""
        return self.arn
