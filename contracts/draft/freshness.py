"""Suggests how old the newest row of a delivery may be."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import TYPE_CHECKING

from lakegate.contracts.draft.yaml_text import Items, Mapping, Remark, YamlEntry
from lakegate.contracts.model.types import LogicalType
from lakegate.contracts.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lakegate.contracts.draft.profile import ProfiledColumn

CURRENT = timedelta(days=31)
"""Data that is older is a sample: a limit would reject the next delivery of the same age."""
MAX_ABSENT = 0.1
_NAMES = (
    "updated",
    "modified",
    "changed",
    "loaded",
    "exported",
    "event",
    "created",
    "placed",
    "timestamp",
    "time",
    "date",
    "_at",
    "_on",
)
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def freshness(columns: Sequence[ProfiledColumn], dataset: str, now: datetime) -> Iterator[YamlEntry | Remark]:
    """The service level of the column that shows when a row was made; a comment where the newest row is old."""
    known = [each for each in columns if _shows_time(each)]
    if not known:
        return
    column = min(known, key=_rank)
    newest = _moment(column.values.high or "")
    age = now - newest
    if age < timedelta(0):
        yield Remark(f"The newest {column.name} lies in the future: no freshness is suggested.")
    elif age > CURRENT:
        yield Remark(
            f"The newest {column.name} is {counted(age.days, 'day')} old. Once deliveries are current, promise it:"
        )
        yield Remark(f"slaProperties: [{{property: freshness, value: 2, unit: d, element: {dataset}.{column.name}}}]")
    else:
        days = max(2, ceil(age / timedelta(days=1)) * 2)
        level = [
            YamlEntry("property", "freshness", f"suggested: the newest of {column.present:,} is {_words(age)} old"),
            YamlEntry("value", days),
            YamlEntry("unit", "d"),
            YamlEntry("element", f"{dataset}.{column.name}"),
        ]
        yield YamlEntry("slaProperties", Items([Mapping(level)]))


def _shows_time(column: ProfiledColumn) -> bool:
    is_moment = column.type in {LogicalType.DATE, LogicalType.TIMESTAMP} and column.values.high is not None
    return (
        is_moment and column.rows - column.present <= MAX_ABSENT * column.rows and bool(_PLAIN.fullmatch(column.name))
    )


def _rank(column: ProfiledColumn) -> tuple[bool, int]:
    """Timestamps first, then by the words of the name."""
    name = column.name.casefold()
    place = next((at for at, word in enumerate(_NAMES) if word in name), len(_NAMES))
    return column.type is LogicalType.DATE, place


def _moment(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _words(age: timedelta) -> str:
    hours = int(age / timedelta(hours=1))
    return counted(age.days, "day") if age.days > 1 else counted(hours, "hour")
