"""Reads `logicalTypeOptions` of ODCS. Each option is one row of a table of functions that yield rules."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from lakegate.contracts.compile.rules.nested_fields import NESTED_KIND
from lakegate.contracts.documents.values import exact, texts
from lakegate.contracts.model.types import LogicalType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lakegate.contracts.documents.nodes import Place

KindAndArguments = tuple[str, dict[str, object]]
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
"""Patterns of Java's DateTimeFormatter whose texts are values of a logical type."""
UNMEASURED_DATE = "dateFormat"
"""The kind of rules about dates in any other format: their checks are skipped."""
WIDTHS = (8, 16, 32, 64)
LARGEST_FLOAT = Decimal("3.4028235e38")
RANGES = {
    **{f"i{width}": (Decimal(-(2 ** (width - 1))), Decimal(2 ** (width - 1) - 1)) for width in WIDTHS},
    **{f"u{width}": (Decimal(0), Decimal(2**width - 1)) for width in WIDTHS},
    "f32": (-LARGEST_FLOAT, LARGEST_FLOAT),
}
"""The smallest and largest number of a format. `f64`, `i128` and `u128` contain all numbers that can be read."""


def option_rules(options: Place, logical: LogicalType | str) -> Iterator[tuple[Place, KindAndArguments]]:
    """The rule of each option with its place. `logical` is a rule kind if values of the type are not measured."""
    for name, place in options.entries.items():
        if logical == NESTED_KIND and name in NESTED_OPTIONS:
            yield from ((place, rule) for rule in NESTED_OPTIONS[name](place, options))
        elif isinstance(logical, str):
            yield place, (logical, {"option": name, "value": exact(place)})
        else:
            yield from ((place, rule) for rule in _option_rules(name, place, options, logical))


def _option_rules(name: str, place: Place, options: Place, logical: LogicalType) -> Iterator[KindAndArguments]:
    if name == "format":
        yield from _format(place, logical)
    elif name in OPTIONS:
        yield from OPTIONS[name](place, options)


def _format(place: Place, logical: LogicalType) -> Iterator[KindAndArguments]:
    declared = place.text or ""
    if logical is LogicalType.STRING:
        yield "format", {"value": declared}
    elif logical in {LogicalType.INTEGER, LogicalType.NUMBER} and declared in RANGES:
        low, high = RANGES[declared]
        yield "minimum", {"value": low, "exclusive": False}
        yield "maximum", {"value": high, "exclusive": False}


def _value(kind: str) -> Callable[[Place, Place], Iterator[KindAndArguments]]:
    def rules(place: Place, _options: Place) -> Iterator[KindAndArguments]:
        yield kind, {"value": exact(place)}

    return rules


def _bound(kind: str, modifier: str) -> Callable[[Place, Place], Iterator[KindAndArguments]]:
    """`minimum` or `maximum`; in ODCS 3.0 a sibling `exclusiveMinimum: true` makes it exclusive."""

    def rules(place: Place, options: Place) -> Iterator[KindAndArguments]:
        yield kind, {"value": exact(place), "exclusive": options[modifier].flag is True}

    return rules


def _open_bound(kind: str) -> Callable[[Place, Place], Iterator[KindAndArguments]]:
    def rules(place: Place, _options: Place) -> Iterator[KindAndArguments]:
        if place.flag is None:
            yield kind, {"value": exact(place), "exclusive": True}

    return rules


def _zoned(place: Place, _options: Place) -> Iterator[KindAndArguments]:
    if place.flag:
        yield "timezone", {}


def _pattern(place: Place, _options: Place) -> Iterator[KindAndArguments]:
    yield "pattern", {"pattern": place.text or ""}


OPTIONS: dict[str, Callable[[Place, Place], Iterator[KindAndArguments]]] = {
    "minLength": _value("minLength"),
    "maxLength": _value("maxLength"),
    "pattern": _pattern,
    "minimum": _bound("minimum", "exclusiveMinimum"),
    "maximum": _bound("maximum", "exclusiveMaximum"),
    "exclusiveMinimum": _open_bound("minimum"),
    "exclusiveMaximum": _open_bound("maximum"),
    "multipleOf": _value("multipleOf"),
    "timezone": _zoned,
}


def _exactly(place: Place, _options: Place) -> Iterator[KindAndArguments]:
    yield from ((kind, {"value": exact(place)}) for kind in ("minItems", "maxItems"))


def _flag(kind: str) -> Callable[[Place, Place], Iterator[KindAndArguments]]:
    def rules(place: Place, _options: Place) -> Iterator[KindAndArguments]:
        if place.flag is not False:
            yield kind, {}

    return rules


def _members(place: Place, _options: Place) -> Iterator[KindAndArguments]:
    for name in texts(place):
        yield "requiredMember", {"member": name}


NESTED_OPTIONS: dict[str, Callable[[Place, Place], Iterator[KindAndArguments]]] = {
    **{name: _value(name) for name in ("minItems", "maxItems", "minProperties", "maxProperties")},
    "dimensions": _exactly,
    "uniqueItems": _flag("uniqueItems"),
    "required": _members,
}
"""Options of lists, vectors, maps and objects."""
