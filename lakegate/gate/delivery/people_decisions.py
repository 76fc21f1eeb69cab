"""The answer of a person whom a workflow asks before a judged delivery is published. docs/approvals.md explains it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from lakegate.json_codec import NotEmpty
from lakegate.timestamps import instant_of
from lakegate.verdict.reasons import DUPLICATE, WAIVER_EXPIRED

# ---- Approvals (docs/approvals.md) ----


@dataclass(frozen=True, slots=True)
class ApprovalAnswer:
    """The person who approved or declined, when, and why."""

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


# ---- Waivers (docs/waivers.md) ----


NOT_WAIVED: Final = frozenset(
    {
        "unrouted",
        DUPLICATE,
        "contract-retired",
        "contract-sunset",
        "contract-draft",
        "file/readable",
        "file/parts",
        WAIVER_EXPIRED,
    }
)
"""Codes of reasons that no waiver is for: there is no contract, no new content, no line in force, or no whole
delivery that can be read."""


@dataclass(frozen=True, slots=True)
class Waiver:
    """The person of a waiver, its delivery, reason and end."""

    actor: NotEmpty
    """The ARN of the caller; never a text that was given."""
    reason: NotEmpty
    """One line that the person wrote."""
    expires: NotEmpty
    """RFC 3339, UTC, six decimals."""
    rejected: NotEmpty
    """The workload whose rejection is waived."""

    def has_expired(self, at: str) -> bool:
        """Whether the waiver is over at a time, in RFC 3339."""
        return instant_of(at) >= instant_of(self.expires)

    @property
    def in_words(self) -> str:
        """The reason that the delivery gets, before those of its rejection."""
        return f"waived: {self.reason} (until {self.expires[:10]}, by {self.actor})"


def unwaivable(codes: tuple[str, ...]) -> str:
    """The first of the reasons' codes that no waiver is for; empty if the delivery may be let through."""
    return next((each for each in codes if each in NOT_WAIVED), "")
