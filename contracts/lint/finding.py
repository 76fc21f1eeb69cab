"""The results of lint functions, and the rows of the table of lints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum

from lakegate.contracts.documents.document import Document
from lakegate.contracts.model.contract import Contract

Finding = tuple[str, str]
"""Path and message. If the path does not exist in the document, its longest existing part is reported."""


MAX_FINDINGS = 100
"""The most findings of one code: hints for thousands of findings would take minutes."""


class LintLevel(Enum):
    """Whether a finding makes a contract unusable."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Lint:
    """One code: its level, and the function that yields its findings."""

    level: LintLevel
    find: Callable[[Contract, Document], Iterator[Finding]]
