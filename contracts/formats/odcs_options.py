"""Reads `logicalTypeOptions` of ODCS: each option is one row in a table of small functions that yield rules' kinds."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from contracts.formats.values import exact
from contracts.types import LogicalType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from contracts.nodes import Place

Said = tuple[str, dict[str, object]]
"""The kind of a rule and its arguments."""

DATE_FORMATS = {
    **dict.fromkeys(("yyyy-MM-dd", "uuuu-MM-dd"), LogicalType.DATE),
    **dict.fromkeys(("HH:mm", "HH:mm:ss", "HH:mm:ss.SSS", "HH:mm:ss.SSSSSS"), LogicalType.TIME),
    **{
        f"{year}-MM-dd{between}HH:mm{seconds}{zone}": LogicalType.TIMESTAMP
        for year in ("yyyy", "uuuu")
        for between in (" ", "'T'")
        for seconds in ("", ":ss", ":ss.SSS", ":ss.SSSSSS")
        for zone in ("", "X", "XXX", "'Z'")
    },
}
"""The patterns of Java's DateTimeFormatter that write what the types' grammars read."""
UNMEASURED_DATE = "dateFormat"
"""The kind of what is said about values in another format of dates: named, not measured."""
WIDTHS = (8, 16, 32, 64)
LARGEST_FLOAT = Decimal("3.4028235e38")
RANGES = {
    **{f"i{width}": (Decimal(-(2 ** (width - 1))), Decimal(2 ** (width - 1) - 1)) for width in WIDTHS},
    **{f"u{width}": (Decimal(0), Decimal(2**width - 1)) for width in WIDTHS},
    "f32": (-LARGEST_FLOAT, LARGEST_FLOAT),
}
"""The least and the largest number of a format; `f64`, `i128` and `u128` hold every number that is read at all."""


def option_rules(options: Place, logical: LogicalType | str) -> Iterator[tuple[Place, Said]]:
    """What the options say, each with its place; of a type that is not measured, under the kind that names it."""
    for name, place in options.entries.items():
        if isinstance(logical, str):
            yield place, (logical, {"option": name, "value": exact(place)})
        else:
            yield from ((place, said) for said in _said(name, place, options, logical))


def _said(name: str, place: Place, options: Place, logical: LogicalType) -> Iterator[Said]:
    if name == "format":
        yield from _format(place, logical)
    elif name in OPTIONS:
        yield from OPTIONS[name](place, options)


def _format(place: Place, logical: LogicalType) -> Iterator[Said]:
    said = place.text or ""
    if logical is LogicalType.STRING:
        yield "format", {"value": said}
    elif logical in {LogicalType.INTEGER, LogicalType.NUMBER} and said in RANGES:
        low, high = RANGES[said]
        yield "minimum", {"value": low, "exclusive": False}
        yield "maximum", {"value": high, "exclusive": False}


def _value(kind: str) -> Callable[[Place, Place], Iterator[Said]]:
    def said(place: Place, _options: Place) -> Iterator[Said]:
        yield kind, {"value": exact(place)}

    return said


def _bound(kind: str, modifier: str) -> Callable[[Place, Place], Iterator[Said]]:
    """`minimum` or `maximum`; in ODCS 3.0 `exclusiveMinimum: true` beside it opens it."""

    def said(place: Place, options: Place) -> Iterator[Said]:
        yield kind, {"value": exact(place), "exclusive": options[modifier].flag is True}

    return said


def _open_bound(kind: str) -> Callable[[Place, Place], Iterator[Said]]:
    def said(place: Place, _options: Place) -> Iterator[Said]:
        if place.flag is None:
            yield kind, {"value": exact(place), "exclusive": True}

    return said


def _pattern(place: Place, _options: Place) -> Iterator[Said]:
    yield "pattern", {"pattern": place.text or ""}


OPTIONS: dict[str, Callable[[Place, Place], Iterator[Said]]] = {
    "minLength": _value("minLength"),
    "maxLength": _value("maxLength"),
    "pattern": _pattern,
    "minimum": _bound("minimum", "exclusiveMinimum"),
    "maximum": _bound("maximum", "exclusiveMaximum"),
    "exclusiveMinimum": _open_bound("minimum"),
    "exclusiveMaximum": _open_bound("maximum"),
    "multipleOf": _value("multipleOf"),
}
