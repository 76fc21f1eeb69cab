"""Counts of the rows, checks and broken rules of a delivery, as numbers and as text.

All commands and events use this class.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from lakegate.contracts.words import counted

_CHECKS = {"pass": "passed", "warn": "warned", "fail": "failed", "error": "in error", "skip": "not measured"}

MAX_RULES: Final = 20
"""Broken rules of one delivery: each is an item of the transaction that commits it, which holds 100."""
LONGEST_RULE: Final = 200
"""Characters."""


@dataclass(frozen=True, slots=True)
class BrokenRule:
    """A rule outside its thresholds."""

    rule: str
    """Its id; of a property of the file `file/<property>`. At most `LONGEST_RULE` characters."""
    status: str
    """`fail` or `warn`: of its worst check."""
    rows: int | None = None
    """The most failing rows of one of its checks; None where rows are not counted."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Rows and checks of one judged delivery."""

    rows: int
    """Records of the delivery, including malformed ones."""
    published_rows: int
    """Rows in the accepted data; 0 if the delivery is rejected or undecided."""
    rejected_rows: int
    """Rows in quarantine: single rows with `onReject: rows`, all rows of a rejected delivery."""
    checks: dict[str, int] = field(default_factory=dict)
    """Checks by status: `pass`, `warn`, `fail`, `error`, `skip`."""

    @property
    def rows_in_words(self) -> str:
        """`11,520 rows`; `10,570 of 11,520 rows published, 950 rejected` if the delivery is split."""
        rows = counted(self.rows, "row")
        if self.published_rows and self.rejected_rows:
            return f"{self.published_rows:,} of {rows} published, {self.rejected_rows:,} rejected"
        return rows

    @property
    def checks_in_words(self) -> str:
        """`24 passed, 1 not measured`."""
        return (
            ", ".join(f"{self.checks[key]} {word}" for key, word in _CHECKS.items() if self.checks.get(key)) or "none"
        )
