"""Faults that anchors show, as `lakegate explain` has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from lakegate.cli.contracts.explain_command import OutcomeExplanation

WORDS: Final[Mapping[str, str]] = {
    "rewritten": "The chain has another block at an anchored height.",
    "truncated": "The chain is shorter than it was. After a restore to an earlier time that is expected.",
    "missing-chain": "A chain that was anchored is not there any more.",
    "missing-anchor": "A document of the anchors is missing, or was hidden.",
    "altered-anchor": "A document of the anchors is not what was written.",
    "misplaced-anchor": "A document of the anchors does not follow the one before.",
    "unsigned-anchor": "A document of the anchors has no signature, and one before it has.",
    "anchor-signature": "The signature of a document of the anchors is not that by its key.",
    "unknown-key": "No document of the anchors is signed by the given key, or a later one by a key that it does not lead to.",
}


def explanations() -> Iterator[OutcomeExplanation]:
    """Each with its meaning, and what to do."""
    return (OutcomeExplanation(name, words, "docs/ledger.md") for name, words in WORDS.items())
