"""The answer of a person whom a workflow asks before a judged delivery is published. docs/approvals.md explains it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ApprovalAnswer:
    """Who approved or declined, when, and why."""

    actor: str
    """The ARN of the caller; never a text that was given."""
    approved: bool
    reason: str
    """One line that the person wrote; empty of an approval."""
    at: str
    """RFC 3339, UTC, six decimals."""

    @property
    def in_words(self) -> str:
        """The reason that a declined delivery gets, before those of its judgement."""
        return f"declined: {self.reason} (by {self.actor})"
