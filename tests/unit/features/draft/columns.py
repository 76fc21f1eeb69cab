"""Columns of a profile as tests need them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lakegate.contract.file_formats import Csv, Format, Storage
from lakegate.contract.logical_types import LogicalType
from lakegate.features.draft.found_fields import Profile, ProfiledColumn, Values

ROWS = 100


def column(name: str = "c", kind: str = "string", present: int = ROWS, **values: Any) -> ProfiledColumn:
    """A column of 100 rows."""
    return ProfiledColumn(name, LogicalType(kind), rows=ROWS, present=present, values=Values(**values))


def of(*columns: ProfiledColumn, **others: Any) -> Profile:
    """A profile of one CSV file of 100 rows."""
    return replace(Profile(Storage(Format.CSV), Csv(), ROWS, 1, columns), **others)
