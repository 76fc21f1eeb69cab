"""The lint of how many rules of a dataset may have a schedule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from lakegate.contract.contract_model import Contract
from lakegate.contract.documents.document_tree import Document
from lakegate.lints.findings import Finding, Lint, LintLevel

MAX_STALE: Final = 100
"""Rules that a record lists as not holding."""


def too_many_rules(contract: Contract, _document: Document) -> Iterator[Finding]:
    """A dataset has at most 100 rules with a schedule: so many can be named as not holding."""
    for dataset in contract.datasets:
        count = sum(1 for rule in dataset.rules if rule.schedule)
        if count > MAX_STALE:
            yield dataset.origin.path, f"At most {MAX_STALE} rules of a dataset have a schedule, not {count:,}."


LINTS: Final[Mapping[str, Lint]] = {"scheduled-rules": Lint(LintLevel.ERROR, too_many_rules)}
