"""Why the rows of a derived dataset could not be computed, as `lakegate explain` has it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from lakegate.cli.contracts.explain_command import OutcomeExplanation

WORDS: Final[Mapping[str, str]] = {
    "query-failed": (
        "The query divides by zero, casts a text that is no number, or has a number beyond 64 bits, in a row of its inputs: "
        "guard it with NULLIF, TRY_CAST or CASE, and publish the next version."
    ),
    "query-too-slow": "The query has ten minutes: let it read fewer rows, or join on declared keys.",
    "input-absent": "Nothing was accepted of an input yet, or its contract is not shared with this one any more.",
    "input-unread": "An accepted object of an input is damaged or lost: `lakegate verify INPUT --objects` names it.",
}


def explanations() -> Iterator[OutcomeExplanation]:
    """Each with its meaning, and what to do."""
    return (OutcomeExplanation(name, words, "docs/derived.md") for name, words in WORDS.items())
