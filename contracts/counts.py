"""How many rows a delivery has and what became of them and of its checks, in numbers and in words.

Every command and every event that counts rows or checks uses this one class.
"""

from __future__ import annotations

from dataclasses import dataclass, field

_CHECKS = {"pass": "passed", "warn": "warned", "fail": "failed", "error": "in error", "skip": "not measured"}


@dataclass(frozen=True, slots=True)
class Counts:
    """Rows and checks of one judged delivery."""

    rows: int
    """Records of the delivery, malformed ones included."""
    published_rows: int
    """Rows in the accepted data; 0 where the delivery is rejected or undecided."""
    rejected_rows: int
    """Rows in quarantine: single rows with `onReject: rows`, all rows of a rejected delivery."""
    checks: dict[str, int] = field(default_factory=dict)
    """Checks by status: `pass`, `warn`, `fail`, `error`, `skip`."""

    @property
    def rows_in_words(self) -> str:
        """`11,520 rows`; `10,570 of 11,520 rows published, 950 rejected` where the delivery is split."""
        rows = f"{self.rows:,} {'row' if self.rows == 1 else 'rows'}"
        if self.published_rows and self.rejected_rows:
            return f"{self.published_rows:,} of {rows} published, {self.rejected_rows:,} rejected"
        return rows

    @property
    def checks_in_words(self) -> str:
        """`24 passed, 1 not measured`."""
        return (
            ", ".join(f"{self.checks[key]} {word}" for key, word in _CHECKS.items() if self.checks.get(key)) or "none"
        )
