"""The objects and slices in a block of the ledger, and what the values of its fields must be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    import re

Holds: TypeAlias = Callable[[object], bool]
MAX_INTEGER: Final = 2**53 - 1
"""The largest integer that all JSON libraries represent exactly."""


@dataclass(frozen=True, slots=True)
class LedgerObject:
    """One object of a delivery in the lake bucket."""

    key: str
    version: str
    """S3 version id of the copy."""
    size: int
    """Bytes."""
    checksum: str
    """`<algorithm>:<value>` of the full object; opaque here."""


@dataclass(frozen=True, slots=True)
class LedgerSlice:
    """One slice of Open Data Fabric, among the objects of its delivery."""

    key: str
    offset: int
    """Of its first row."""
    rows: int
    event_time: tuple[str, str]
    """Earliest and latest, RFC 3339."""
    logical: str
    """Hash of the rows, and below that of the bytes, as multihashes."""
    physical: str

    @property
    def end(self) -> int:
        """The offset after its last row."""
        return self.offset + self.rows


def is_text(value: object) -> bool:
    """A text."""
    return isinstance(value, str)


def is_name(value: object) -> bool:
    """A text that is not empty."""
    return value != "" and is_text(value)


def is_count(value: object) -> bool:
    """A number that JSON holds exactly, from 0."""
    return type(value) is int and 0 <= value <= MAX_INTEGER


def is_measured(value: object) -> bool:
    """A count, if there is one."""
    return value is None or is_count(value)


def matches(pattern: re.Pattern[str]) -> Holds:
    """Texts of a pattern."""
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


def is_span(value: object) -> bool:
    """Two texts, or nothing."""
    return value is None or (
        isinstance(value, list) and len(value) == len(("first", "last")) and all(map(is_name, value))
    )


def are_objects(value: object) -> bool:
    """Objects in the order of their keys."""
    objects: list[dict[str, object]] = value  # type: ignore[assignment]  # `encode` makes a list of a tuple
    good = all(holds(each[field]) for each in objects for field, holds in _OBJECT_FIELDS.items())
    return good and all(str(low["key"]) < str(high["key"]) for low, high in pairwise(objects))


def are_slices(value: object) -> bool:
    """Whether the offsets of slices follow one another."""
    slices: list[dict[str, Any]] = value  # type: ignore[assignment]  # likewise
    good = all(holds(each[field]) for each in slices for field, holds in _SLICE_FIELDS.items())
    return good and all(low["offset"] + low["rows"] == high["offset"] for low, high in pairwise(slices))


_OBJECT_FIELDS: Final[Mapping[str, Holds]] = {
    "key": is_name,
    "version": is_name,
    "size": is_count,
    "checksum": is_text,
}
_SLICE_FIELDS: Final[Mapping[str, Holds]] = {
    "key": is_name,
    "offset": is_count,
    "rows": lambda value: is_count(value) and value != 0,
    "event_time": is_span,
    "logical": is_name,
    "physical": is_name,
}
