"""Reasons of the gate that are no check of a contract: codes, and what they mean."""

from __future__ import annotations

from typing import Final

DUPLICATE: Final = "duplicate-content"
WAIVER_EXPIRED: Final = "waiver-expired"
APPROVAL_EXPIRED: Final = "approval-expired"
CODES: Final = {
    "unrouted": "no route covers this key: ask for one, or upload below a prefix that `lakegate route list` shows",
    "contract-retired": "the contract version or its line is retired: deliver under a newer line",
    "contract-sunset": "the line is in sunset and takes no new producers: deliver under a newer line",
    "contract-draft": "the line is a draft, or waits for its notice period: deliver to the line before",
    DUPLICATE: "the very same content was accepted before",
    WAIVER_EXPIRED: "the waiver was over before the delivery was taken in; what follows is why it had been rejected",
    APPROVAL_EXPIRED: "it was judged and waited for approval, and nobody answered in time: replay it to ask again",
}
"""By code."""
MARKS: Final = ("line-", "waived:", "declined:")
"""How reasons with texts of their own begin: warnings about the status of a line, a waiver, and that a person declined."""


def is_of_gate(reason: str) -> bool:
    """Whether a reason of a decision is no check of the contract."""
    return reason.partition(":")[0] in CODES or reason.startswith(MARKS)


def in_words(reason: str) -> str:
    """The reason with the meaning of its code: `<code>: <message>`."""
    return f"{reason}: {CODES[reason]}" if reason in CODES else reason
