"""The verdicts. `lakegate.contracts.judge.judgement` computes them."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Verdict(StrEnum):
    """The verdict on a delivery."""

    ACCEPTED = "accepted"
    ACCEPTED_WITH_WARNINGS = "accepted_with_warnings"
    REJECTED = "rejected"
    UNDECIDED = "undecided"


ACCEPTING: Final = frozenset({Verdict.ACCEPTED, Verdict.ACCEPTED_WITH_WARNINGS})
"""The verdicts with which a delivery is published."""
