"""ODCS properties: types, logicalTypeOptions, relationships, constraints."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal

from lakegate.base.text import did_you_mean, quote
from lakegate.contract.contract_model import NESTED_KIND, Field, Origin, Rule
from lakegate.contract.documents.document_tree import Notes, Place, exact, examples, rule_id, texts
from lakegate.contract.documents.key_table import (
    CONSTRAINTS,
    FIELD,
    FORMAT,
    MOMENTS,
    ODCS_NAMES,
    ODCS_SHAPES,
    TEXTS,
    KindAndArguments,
    native,
    texts_at,
)
from lakegate.contract.documents.odcs_quality import Owner, quality_rules
from lakegate.contract.field_paths import KEY, VALUE, FieldPath, column_path, element_path, member_path
from lakegate.contract.logical_types import PRECISION, SCALE, TOO_MANY_DIGITS, LogicalType
from lakegate.contract.physical_types import EXACT, PHYSICAL, digits_of, element_of, scale_of, type_word
from lakegate.patterns.date_formats import compile_java_format

# ---- Options of logical types ----


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
TIMEZONE = "timezone"
"""The option of moments: values without an offset are refused."""
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
            yield from ((place, rule) for rule in NESTED_OPTIONS[name](place))
        elif isinstance(logical, str):
            yield place, (logical, {"option": name, "value": exact(place)})
        else:
            yield from ((place, rule) for rule in _rules_of_option(name, place, options, logical))


def _rules_of_option(name: str, place: Place, options: Place, logical: LogicalType) -> Iterator[KindAndArguments]:
    if name == FORMAT:
        declared = place.text or ""
        if logical is LogicalType.STRING:
            yield "format", {"value": declared}
        elif logical in {LogicalType.INTEGER, LogicalType.NUMBER} and declared in RANGES:
            low, high = RANGES[declared]
            yield "minimum", {"value": low, "exclusive": False}
            yield "maximum", {"value": high, "exclusive": False}
    elif name == TIMEZONE and place.flag:
        yield TIMEZONE, {}
    elif name in CONSTRAINTS:
        yield from CONSTRAINTS[name].rules(place, options)


def _make_bounds(*kinds: str) -> Callable[[Place], Iterable[KindAndArguments]]:
    return lambda place: ((kind, {"value": exact(place)}) for kind in kinds)


NESTED_OPTIONS: dict[str, Callable[[Place], Iterable[KindAndArguments]]] = {
    **{name: _make_bounds(name) for name in ("minItems", "maxItems", "minProperties", "maxProperties")},
    "dimensions": _make_bounds("minItems", "maxItems"),
    "uniqueItems": lambda place: () if place.flag is False else (("uniqueItems", {}),),
    "required": lambda place: (("requiredMember", {"member": name}) for name in texts(place)),
}
"""Options of lists, vectors, maps and objects."""


# ---- Properties ----


TYPES = ODCS_NAMES
NESTED = (*ODCS_SHAPES.values(), "vector")
Dates = frozenset[LogicalType]
_AS_DECLARED: Dates = frozenset()
DATES: Dates = frozenset({LogicalType.TIMESTAMP, LogicalType.TIME})
"""The types that a `date` is by its physical type in ODCS 3.0, which has no logical type for moments and times of day."""
COMPARED = tuple(key for key, constraint in CONSTRAINTS.items() if constraint.exclusive is not None)
COLUMN = "column"
PERSONAL = "pii"
LAST = 1 << 30
UTC = ("UTC", "Etc/UTC", "Z", "GMT", "Etc/GMT")


@dataclass(frozen=True, slots=True)
class Property:
    """A property after reading."""

    field: Field
    rules: tuple[Rule, ...]
    key_position: int | None
    """Its position in the primary key; None if it is not part of the key."""
    key_origin: Origin


def is_column(place: Place, notes: Notes) -> bool:
    """Whether a property is delivered; measures and dimensions (ODCS 3.2) are computed by consumers."""
    role = place["semanticType"].text or COLUMN
    if role != COLUMN:
        notes.warning(
            "not-a-column", place["semanticType"], f"A {role} is computed, not delivered: it is not measured."
        )
    return role == COLUMN


def read_property(place: Place, ordinals: Counter[str], notes: Notes, dates: Dates = _AS_DECLARED) -> Property:
    """A property of an object with all its rules, including those of nested properties.

    `dates` are the types that a `date` may be by its physical type (`DATES`).
    """
    path, position = column_path(place["name"].text or ""), place["primaryKeyPosition"].number
    return Property(
        field=_field(place, path, dates),
        rules=tuple(_rules(place, path, dates, ordinals, notes)),
        key_position=(int(position) if position and position > 0 else LAST) if place["primaryKey"].flag else None,
        key_origin=place["primaryKey"].origin,
    )


def _field(place: Place, path: FieldPath, dates: Dates) -> Field:
    logical = _logical(place, dates)
    return Field(
        name=path,
        type=logical or LogicalType.STRING,
        origin=place.origin,
        personal=_personal(place),
        declared=place["logicalType"].text or ("array" if _element(place) else place["physicalType"].text),
        parts=(
            *(_field(entry, inner, dates) for inner, entry in _inner(place, path)),
            *_elements(_element(place), path, place["physicalType"].origin),
        ),
        examples=examples(place["examples"]),
        scale=scale_of(place["physicalType"].text) if logical is LogicalType.DECIMAL else SCALE,
        physical_type=place["physicalType"].text,
        native=native(place["customProperties"]),
        stable_id=place["id"].text or None,
        **texts_at(place, FIELD, "odcs"),
    )


def _element(place: Place) -> str | None:
    """The physical type of the elements, of a property that is an array by its physical type alone (`text[]`)."""
    return None if place["logicalType"].present else element_of(place["physicalType"].text)


def _elements(element: str | None, path: FieldPath, origin: Origin) -> tuple[Field, ...]:
    """The field of an array's elements."""
    if element is None:
        return ()
    logical, inner = PHYSICAL.get(type_word(element)), element_of(element)
    return (
        Field(
            element_path(path),
            logical or LogicalType.STRING,
            origin,
            declared="array" if inner else element,
            parts=_elements(inner, element_path(path), origin),
            scale=scale_of(element) if logical is LogicalType.DECIMAL else SCALE,
        ),
    )


def _rules_of_elements(element: str | None, path: FieldPath, origin: Origin, ordinals: Counter[str]) -> Iterator[Rule]:
    """The rules that an array by its physical type is: of its shape, and of the type of its elements."""
    if element is not None:
        yield Rule(rule_id(ordinals, path, NESTED_KIND), NESTED_KIND, origin, (path,))
        yield from _rules_of_elements(element_of(element), element_path(path), origin, ordinals)
        if type_word(element) in PHYSICAL:
            yield Rule(rule_id(ordinals, element_path(path), "type"), "type", origin, (element_path(path),))


def _personal(place: Place) -> bool | None:
    """Whether a custom property or tag `pii` marks personal data; None without either. ODCS has no key for it."""
    flags = [item["value"].flag for item in place["customProperties"].items if item["property"].text == PERSONAL]
    tagged = PERSONAL in {text.casefold() for text in texts(place["tags"])}
    return flags[0] if flags else tagged or None


def _logical(place: Place, dates: Dates) -> LogicalType | None:
    """The logical type of the values; None if there is none that a text can be checked against."""
    declared, physical = place["logicalType"].text, type_word(place["physicalType"].text)
    form = place["logicalTypeOptions"]["format"]
    logical: LogicalType | None = TYPES.get(declared or "")
    if logical is LogicalType.DATE and PHYSICAL.get(physical) in dates:
        logical = PHYSICAL[physical]
    if logical in MOMENTS and form.present:
        return DATE_FORMATS.get(form.text or "")
    if logical is LogicalType.NUMBER and physical in EXACT:
        return LogicalType.DECIMAL
    if logical is LogicalType.STRING and (PHYSICAL.get(physical) is LogicalType.BINARY or form.text == "binary"):
        return LogicalType.BINARY
    return PHYSICAL.get(physical) if declared is None else logical


def _rules(place: Place, path: FieldPath, dates: Dates, ordinals: Counter[str], notes: Notes) -> Iterator[Rule]:
    declared, options, logical = place["logicalType"], place["logicalTypeOptions"], _logical(place, dates)

    def rule(kind: str, at: Place, arguments: dict[str, object]) -> Rule:
        return Rule(rule_id(ordinals, path, kind), kind, at.origin, (path,), arguments)

    if logical is not None:
        yield rule("type", declared if declared.present else place["physicalType"], {})
    for kind in ("required", "unique"):
        if place[kind].flag:
            yield rule(kind, place[kind], {})
    for at, (kind, arguments) in option_rules(options, _options_type(place, logical)):
        yield rule(kind, at, arguments)
    if place["enum"].items:
        values = tuple(item["value"].written for item in place["enum"].items if item["value"].present)
        yield rule("enum", place["enum"], {"values": values})
    for item in place["relationships"].items:
        yield rule("foreignKey", item, {"to": item["to"].text or ""})
    yield from quality_rules(Owner(place, path, path), ordinals, notes)
    if place["logicalType"].text in NESTED:
        yield Rule(rule_id(ordinals, path, NESTED_KIND), NESTED_KIND, place["logicalType"].origin, (path,))
    yield from _rules_of_elements(_element(place), path, place["physicalType"].origin, ordinals)
    for inner, entry in _inner(place, path):
        yield from _rules(entry, inner, dates, ordinals, notes)
    _warn(place, logical, dates, notes)


def _options_type(place: Place, logical: LogicalType | None) -> LogicalType | str:
    """The type that options apply to, or the kind of rules that are not measured."""
    if not _readable(place, logical):
        return UNMEASURED_DATE
    return NESTED_KIND if place["logicalType"].text in NESTED else logical or LogicalType.STRING


def _readable(place: Place, logical: LogicalType | None) -> bool:
    return logical is not None or TYPES.get(place["logicalType"].text or "") not in MOMENTS


def _inner(place: Place, path: FieldPath) -> Iterator[tuple[FieldPath, Place]]:
    """The nested properties: of a record, of an array's items, of a map's keys and values."""
    for item in place["properties"].items:
        yield member_path(path, item["name"].text or ""), item
    if place["items"].entries:
        yield element_path(path), place["items"]
    for part in (KEY, VALUE):
        if place["map"][part].entries:
            yield member_path(path, part), place["map"][part]


def _warn(place: Place, logical: LogicalType | None, dates: Dates, notes: Notes) -> None:
    zone, digits = place["logicalTypeOptions"]["defaultTimezone"], digits_of(place["physicalType"].text)
    if logical is LogicalType.DECIMAL and digits and max(digits) > PRECISION:
        notes.warning("too-many-digits", place["physicalType"], TOO_MANY_DIGITS)
    if not _readable(place, logical):
        _warn_of_format(place, notes)
    elif logical is None and not place["logicalType"].present and _element(place) is None:
        several = place["physicalType"].present and not type_word(place["physicalType"].text)
        remedy = "add `logicalType: object` with `properties`, or `map`" if several else "add `logicalType`"
        notes.warning("no-type", place, f"The property has no known type: {remedy}.")
    declared, physical = TYPES.get(place["logicalType"].text or ""), PHYSICAL.get(type_word(place["physicalType"].text))
    is_dated = declared is LogicalType.DATE and physical in dates
    if declared and physical and physical not in TEXTS and not is_dated and _family(declared) != _family(physical):
        message = f"A {declared.value} does not fit into the physical type {quote(place['physicalType'].text)}."
        if declared in MOMENTS and physical in MOMENTS:
            message += f" Days, moments and times of day are types of their own: write `logicalType: {physical.value}`."
        notes.warning("physical-type", place["physicalType"], message)
    if zone.text is not None and zone.text not in UTC and not notes.blames(place["logicalType"]):
        notes.warning("timezone", zone, "Timestamps without an offset are read as UTC: write offsets in the data.")


def _warn_of_format(place: Place, notes: Notes) -> None:
    """Dates in another format are texts: only the format is checked, if it is supported."""
    options = place["logicalTypeOptions"]
    date_format = options["format"]
    try:
        compile_java_format(date_format.text or "")
    except ValueError:
        message = (
            f"Dates written as {quote(date_format.written)} are not measured: write them as ISO 8601 (`yyyy-MM-dd`)."
        )
        notes.warning("date-format", date_format, message)
    for bound in (options[name] for name in COMPARED if options[name].present):
        message = (
            f"Dates written as {quote(date_format.written)} are not compared: write them as ISO 8601 (`yyyy-MM-dd`)."
        )
        notes.warning("date-format", bound, message)


def _family(logical: LogicalType) -> str:
    """The family of a type: numbers, or the type itself."""
    return "number" if logical.numeric else logical.value


def read_relationship(place: Place, ordinals: Counter[str], properties: Place, notes: Notes) -> Rule:
    """A relationship of an object; its `from` contains names or ids of properties of the object."""
    sources = place["from"].items or [place["from"]]
    targets = place["to"].items or [place["to"]]
    paths = [_resolve_name(source, properties, notes) for source in sources if source.text]
    fields = tuple(name for name in paths if name is not None) if None not in paths else ()
    arguments = {"to": ",".join(target.text or "" for target in targets)}
    return Rule(rule_id(ordinals, ",".join(fields), "foreignKey"), "foreignKey", place.origin, fields, arguments)


def _resolve_name(place: Place, properties: Place, notes: Notes) -> FieldPath | None:
    text = place.text or ""
    last = re.split(r"[./]", text)[-1]
    for wanted in (text, text.partition(".")[2], last):
        for item in properties.items:
            if wanted and wanted in {item["name"].text, item["id"].text}:
                return column_path(item["name"].text or "")
    known = [name for item in properties.items if (name := item["name"].text)]
    message = f"{quote(place.text)} names no property of this object.{did_you_mean(last, known)}"
    notes.warning("dangling-relationship", place, message)
    return None
