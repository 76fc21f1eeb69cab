"""Measures checks of the header: the number of columns, and the columns that violate the requirement."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lakegate.contracts.plan.metrics import Metric
from lakegate.contracts.plan.result import Measured

if TYPE_CHECKING:
    from lakegate.contracts.plan.check import Check, HeaderRequirement
    from lakegate.contracts.plan.result import Columns


def of_header(check: Check, columns: Columns) -> Measured:
    """The measurement of a check of the header."""
    found = columns.found
    if check.metric is Metric.COLUMN_COUNT:
        return Measured(len(found))
    assert check.header is not None
    return Measured(len(found), failing=_breaking(check.header, found))


def _breaking(wanted: HeaderRequirement, found: tuple[str, ...]) -> int:
    absent = sum(name not in found for name in wanted.required)
    beside = sum(name not in wanted.required for name in found) if wanted.closed else 0
    forbidden = sum(any(_is_like(name, each) for each in wanted.forbidden) for name in found)
    places = zip(wanted.required, found, strict=False) if wanted.ordered else ()
    displaced = sum(name != there and name in found for name, there in places)
    return absent + beside + forbidden + displaced


def _is_like(name: str, pattern: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), name, re.DOTALL) is not None
