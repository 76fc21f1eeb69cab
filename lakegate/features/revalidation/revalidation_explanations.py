"""Ends of scheduled measurements, and why nothing was measured, as `lakegate explain` has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from lakegate.cli.contracts.explain_command import OutcomeExplanation

WORDS: Final[Mapping[str, str]] = {
    "HELD": "The rules with a schedule hold for all accepted data; some may warn.",
    "BROKEN": "A rule with a schedule does not hold for accepted data, and the manifest of readers is marked.",
    "FAILED": "Nothing was measured. The mark and the ledger stay, and the next time of the schedule tries again.",
    "lost": "The run of a measurement left no result. The log of the job run says more.",
    "not-started": "There is no judge function any more, or the request of the run changed. The next time tries again.",
    "other-format": "Some accepted data has another format or dialect than the current version has.",
    "unreadable": "The accepted objects cannot be read together, such as CSV files with different headers.",
    "not-measured": "A check could not be measured, or all rules were skipped.",
    "no-data": "Nothing was accepted yet.",
    "does-not-fit": "The result is none of this run. If it comes again, keep the folder of the run and report it.",
    "wrong-result": "The result is none of this run. If it comes again, keep the folder of the run and report it.",
}


def explanations() -> Iterator[OutcomeExplanation]:
    """Each with its meaning, and what to do."""
    return (OutcomeExplanation(name, words, "docs/revalidation.md") for name, words in WORDS.items())
