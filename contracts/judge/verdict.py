"""The verdicts. `lakegate.contracts.judge.judgement` computes them."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable


class Verdict(StrEnum):
    """The verdict on a delivery."""

    ACCEPTED = "accepted"
    ACCEPTED_WITH_WARNINGS = "accepted_with_warnings"
    REJECTED = "rejected"
    UNDECIDED = "undecided"


ACCEPTING: Final = frozenset({Verdict.ACCEPTED, Verdict.ACCEPTED_WITH_WARNINGS})
"""The verdicts with which a delivery is published."""


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict on several deliveries together: rejected where one is, else undecided where one is; of at least one."""
    order = list(Verdict)
    order.remove(Verdict.UNDECIDED)
    order.insert(order.index(Verdict.REJECTED), Verdict.UNDECIDED)
    return max(verdicts, key=order.index)
