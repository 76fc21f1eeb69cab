"""Chooses keys: of the columns that are unique, and of the pairs of them, those that people mean."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lakegate.contracts.draft.personal import is_named_personal
from lakegate.contracts.draft.suggestions import ENOUGH_VALUES
from lakegate.contracts.model.types import LogicalType

if TYPE_CHECKING:
    from lakegate.contracts.draft.profile import Profile, ProfiledColumn

_EXACT = frozenset(
    {LogicalType.STRING, LogicalType.INTEGER, LogicalType.DECIMAL, LogicalType.DATE, LogicalType.TIMESTAMP}
)
_OF_ANY_NAME = frozenset({LogicalType.STRING, LogicalType.DATE, LogicalType.TIMESTAMP})
"""Types of keys that need not be named as one: numbers that differ in one file are measures more often."""
_PERIOD = re.compile(
    r"(?:^|[_ .-])(?:years?|yr|quarter|qtr|month|week|day|hour|jahr|quartal|monat|woche|tag|ano|mes|annee|année|mois)$",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?:^|[_ .-])(?:id|key|code|uuid|guid|no|nr|num|number|ref|reference|sku|isbn)$", re.IGNORECASE)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def sounds_like_key(name: str) -> bool:
    """Whether the name of a column is one of keys: `order_id`, `orderId`, `code`."""
    return _NAME.search(_CAMEL.sub("_", name)) is not None


def primary_key(profile: Profile) -> tuple[str, ...]:
    """The columns of the primary key, in order; none where no columns are unique, or rows are few."""
    if profile.rows < ENOUGH_VALUES:
        return ()
    by_name = {each.name: each for each in profile.columns}
    singles = [name for name in profile.unique if may_be_key(name, by_name[name].meaning)]
    if singles:
        return (min(singles, key=lambda name: _rank(by_name[name], singles.index(name))),)
    return profile.pairs[0] if profile.pairs else ()


def may_be_key(name: str, of: LogicalType) -> bool:
    """Whether a column of the name and type may be a key if no two rows share a value of it.

    The names of the people in one file may all differ, and no two rows be about one person in none. A number that is not named
    as a key or as a period, such as `year`, is a measure.
    """
    if sounds_like_key(name):
        return of in _EXACT
    return (of in _OF_ANY_NAME and not is_named_personal(name)) or (of is LogicalType.INTEGER and names_period(name))


def names_period(name: str) -> bool:
    """Whether a name is one of periods, which whole numbers count: `year`, `fiscal_quarter`."""
    return _PERIOD.search(_CAMEL.sub("_", name)) is not None


def others(profile: Profile, key: tuple[str, ...]) -> tuple[str, ...]:
    """Columns beside the primary key that are unique and are named as keys."""
    known = profile.unique if profile.rows >= ENOUGH_VALUES else ()
    return tuple(name for name in known if name not in key and sounds_like_key(name))


def _rank(column: ProfiledColumn, position: int) -> tuple[bool, int, int]:
    """Names of keys first, then short values, then the order of the file."""
    return not sounds_like_key(column.name), min(column.values.longest, 40) // 10, position
