"""A judged delivery with the names of its files: what every report of it shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lakegate.contracts.judge.judgement import Judgement
    from lakegate.contracts.judge.outcomes import CheckOutcome
    from lakegate.contracts.plan.plan import Plan
    from lakegate.contracts.plan.result import Result, Sample

UNREADABLE = "file/readable"
NULL = "null"
"""What a sample has for a value that is absent."""
RECORDS = {"header": "the header line once more", "blank": "a line without values", "total": "a row of totals"}
"""What a record is that holds no data."""


@dataclass(frozen=True, slots=True)
class Report:
    """A judged delivery, with the names of its files."""

    plan: Plan
    judgement: Judgement
    result: Result
    files: tuple[str, ...]

    def place(self, sample: Sample) -> str:
        """Where a row lies: `row 17`; of several files `orders-2.csv:17`; of an element also where in its row."""
        place = f"row {sample.row:,}" if len(self.files) == 1 else f"{self.files[sample.part]}:{sample.row}"
        return f"{place}, {sample.at}" if sample.at else place

    def message(self, outcome: CheckOutcome) -> str:
        """The message of a check; of several files the one that cannot be read is named."""
        unreadable = self.result.unreadable
        if outcome.id != UNREADABLE or unreadable is None or unreadable.part is None or len(self.files) == 1:
            return outcome.message
        return f"{self.files[unreadable.part]}: {outcome.message}"


def is_raw(sample: Sample, at: int) -> bool:
    """Whether a value is shown as it is."""
    return bool(sample.raw and sample.raw[at])


def is_masked(sample: Sample, at: int) -> bool:
    """Whether a value is shown as its shape; no shape is `null`, for letters are masked."""
    return not is_raw(sample, at) and sample.shapes[at] != NULL
