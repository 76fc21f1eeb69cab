"""Logical types of ODCS documents, and the options of each."""

from __future__ import annotations

from decimal import Decimal

import pytest

from lakegate.contract.logical_types import LogicalType
from lakegate.lints.linter import examine, read
from tests.unit.contract.documents.test_odcs import COLUMN, CONTRACT, dataset


def document(properties: str = COLUMN, top: str = "", version: str = "v3.1.0") -> bytes:
    """A contract of one object."""
    one = CONTRACT.partition("  - name: e\n")[0]
    return one.format(properties=properties, quality="", keys="", top=top, version=version).encode()


def option_rules(options: str, version: str = "v3.1.0") -> list[tuple[str, dict[str, object]]]:
    found = dataset(f"{{name: n, {options}}}", version=version).rules
    return [(rule.kind, dict(rule.arguments)) for rule in found if rule.kind != "type"]


TYPES = {
    "logicalType: string": LogicalType.STRING,
    "logicalType: integer": LogicalType.INTEGER,
    "logicalType: number": LogicalType.NUMBER,
    "logicalType: number, physicalType: 'DECIMAL(10, 2)'": LogicalType.DECIMAL,
    "logicalType: boolean": LogicalType.BOOLEAN,
    "logicalType: date": LogicalType.DATE,
    "logicalType: time": LogicalType.TIME,
    "logicalType: timestamp": LogicalType.TIMESTAMP,
    "logicalType: date, logicalTypeOptions: {format: 'yyyy-MM-dd HH:mm:ss'}": LogicalType.TIMESTAMP,
    "logicalType: date, logicalTypeOptions: {format: 'HH:mm:ss'}": LogicalType.TIME,
    "logicalType: date, logicalTypeOptions: {format: 'dd/MM/yyyy'}": LogicalType.STRING,
    "physicalType: BIGINT": LogicalType.INTEGER,
    "physicalType: 'numeric(3)'": LogicalType.DECIMAL,
    "physicalType: geometry": LogicalType.STRING,
    "physicalType: BYTEA": LogicalType.BINARY,
    "logicalType: string, physicalType: varbinary(16)": LogicalType.BINARY,
    "logicalType: string, logicalTypeOptions: {format: binary}": LogicalType.BINARY,
    "physicalType: LONG RAW": LogicalType.BINARY,
    "physicalType: long": LogicalType.INTEGER,
    "physicalType: timestamp with time zone": LogicalType.TIMESTAMP,
    "physicalType: TIMESTAMP_NTZ(9)": LogicalType.TIMESTAMP,
    "physicalType: double precision": LogicalType.NUMBER,
    "physicalType: character varying(20)": LogicalType.STRING,
    "physicalType: money": LogicalType.DECIMAL,
    "logicalType: object": LogicalType.STRING,
}


@pytest.mark.parametrize("text", TYPES)
def test_every_type_has_a_meaning(text: str) -> None:
    """A field's type is its logical one, made precise by format and physical type; without it, the physical one."""
    assert TYPES[text] is dataset(f"{{name: n, {text}}}").fields[0].type


@pytest.mark.parametrize(
    ("text", "scale"),
    [
        ("logicalType: number, physicalType: 'decimal(38,10)'", 10),
        ("physicalType: 'NUMBER( 38 )'", 0),
        ("physicalType: 'DECIMAL(38, 38) UNSIGNED'", 38),
        ("physicalType: 'numeric(20,2)'", 18),
        ("physicalType: 'numeric(21,0)'", 0),
        ("physicalType: 'decimal(30,19)'", 19),
        ("physicalType: decimal", 18),
        ("physicalType: 'bignumeric(76,38)'", 18),
        ("physicalType: 'decimal(38,-2)'", 18),
        ("logicalType: integer, physicalType: 'decimal(38,0)'", 18),
        ("logicalType: string, physicalType: 'varchar(38)'", 18),
    ],
)
def test_a_decimal_has_the_digits_of_its_physical_type(text: str, scale: int) -> None:
    """Where the common ones, 20 before and 18 after the point, are too few."""
    assert scale == dataset(f"{{name: n, {text}}}").fields[0].scale


@pytest.mark.parametrize(
    ("physical", "parts"),
    [
        ("text[]", [("n", "array"), ("n[]", LogicalType.STRING)]),
        ("int[3]", [("n", "array"), ("n[]", LogicalType.INTEGER)]),
        ("varchar(20) []", [("n", "array"), ("n[]", LogicalType.STRING)]),
        ("integer ARRAY", [("n", "array"), ("n[]", LogicalType.INTEGER)]),
        ("numeric(38,0) array", [("n", "array"), ("n[]", LogicalType.DECIMAL)]),
        ("ARRAY<DOUBLE>", [("n", "array"), ("n[]", LogicalType.NUMBER)]),
        ("ARRAY(VARCHAR(9))", [("n", "array"), ("n[]", LogicalType.STRING)]),
        ("int[][]", [("n", "array"), ("n[]", "array"), ("n[][]", LogicalType.INTEGER)]),
        ("STRUCT<a INT>[]", [("n", "array"), ("n[]", None)]),
        ("STRUCT<a INT>", [("n", None)]),
        ("MAP<STRING, INT>", [("n", None)]),
        ("map(varchar, int)", [("n", None)]),
        ("SETOF text", [("n", None)]),
        ("int MULTISET", [("n", None)]),
        ("timestamp(3) without time zone", [("n", LogicalType.TIMESTAMP)]),
    ],
)
def test_a_physical_type_of_several_values_is_never_one_of_its_parts(
    physical: str, parts: list[tuple[str, str | LogicalType | None]]
) -> None:
    """An array is a list of its elements; what else has parts has no type, which lint says."""
    text = document(f"{{name: n, physicalType: '{physical}'}}")
    (only,) = read(text).datasets
    found = {each.fields[0]: only.field(each.fields[0]) for each in only.rules if each.kind in {"type", "nested"}}
    rules = [(each.fields[0], each.kind) for each in only.rules]
    types = {name: field.type for name, field in found.items() if field is not None}

    wanted = [(name, "nested" if kind == "array" else "type") for name, kind in parts if kind is not None]
    assert rules == wanted
    assert {name: types[name] for name, kind in parts if isinstance(kind, LogicalType)} == {
        name: kind for name, kind in parts if isinstance(kind, LogicalType)
    }
    is_unknown = parts[0][1] is None
    assert ("no-type" in {each.code for each in examine(text).warnings}) is is_unknown


OPTIONS = {
    "logicalType: string, required: true, unique: true": [("required", {}), ("unique", {})],
    "logicalType: string, required: false, unique: false, primaryKey: false": [],
    "logicalType: string, logicalTypeOptions: {minLength: 1, maxLength: 2, pattern: a+, format: email}": [
        ("minLength", {"value": Decimal(1)}),
        ("maxLength", {"value": Decimal(2)}),
        ("pattern", {"pattern": "a+"}),
        ("format", {"value": "email"}),
    ],
    "logicalType: number, logicalTypeOptions: {minimum: 1.0, maximum: 2, multipleOf: 0.5}": [
        ("minimum", {"value": Decimal("1.0"), "exclusive": False}),
        ("maximum", {"value": Decimal(2), "exclusive": False}),
        ("multipleOf", {"value": Decimal("0.5")}),
    ],
    "logicalType: integer, logicalTypeOptions: {exclusiveMinimum: 1, exclusiveMaximum: 9}": [
        ("minimum", {"value": Decimal(1), "exclusive": True}),
        ("maximum", {"value": Decimal(9), "exclusive": True}),
    ],
    "logicalType: string, logicalTypeOptions: {minLength: 5.0}": [("minLength", {"value": Decimal("5.0")})],
    "logicalType: date, logicalTypeOptions: {minimum: 2024-01-01, format: yyyy-MM-dd}": [
        ("minimum", {"value": "2024-01-01", "exclusive": False}),
    ],
    "logicalType: date, logicalTypeOptions: {format: dd.MM.yyyy, minimum: 01.01.2024}": [
        ("dateFormat", {"option": "format", "value": "dd.MM.yyyy"}),
        ("dateFormat", {"option": "minimum", "value": "01.01.2024"}),
    ],
    "logicalType: integer, logicalTypeOptions: {format: u8}": [
        ("minimum", {"value": Decimal(0), "exclusive": False}),
        ("maximum", {"value": Decimal(255), "exclusive": False}),
    ],
    "logicalType: integer": [],
    "logicalType: number, logicalTypeOptions: {format: f64}": [],
    "logicalType: string, relationships: [{to: e.id}]": [("foreignKey", {"to": "e.id"})],
}


@pytest.mark.parametrize("text", OPTIONS)
def test_every_option_of_a_type_is_a_rule(text: str) -> None:
    """Constraints of a property become rules; a format that is not given restricts nothing."""
    assert OPTIONS[text] == option_rules(text)


def test_bounds_of_older_versions_are_opened_by_a_flag() -> None:
    """In ODCS 3.0 `exclusiveMinimum` is true or false beside `minimum`."""
    bounds = "minimum: 1, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false"
    options = f"logicalType: integer, logicalTypeOptions: {{{bounds}}}"
    expected = [
        ("minimum", {"value": Decimal(1), "exclusive": True}),
        ("maximum", {"value": Decimal(9), "exclusive": False}),
    ]

    assert expected == option_rules(options, version="v3.0.2")


@pytest.mark.parametrize(
    ("version", "physical", "logical", "is_warned"),
    [
        ("v3.0.2", "timestamp", LogicalType.TIMESTAMP, False),
        ("v3.0.0", "timestamp_tz", LogicalType.TIMESTAMP, False),
        ("v3.0.1", "DATETIME2(3)", LogicalType.TIMESTAMP, False),
        ("v3.0.2", "time", LogicalType.TIME, False),
        ("v3.0.2", "date", LogicalType.DATE, False),
        ("v3.0.2", "varchar(10)", LogicalType.DATE, False),
        ("v3.0.2", "bigint", LogicalType.DATE, True),
        ("v3.1.0", "timestamp", LogicalType.DATE, True),
        ("v3.2.0", "time", LogicalType.DATE, True),
    ],
)
def test_a_date_of_the_first_versions_holds_moments_if_they_are_stored(
    version: str, physical: str, logical: LogicalType, *, is_warned: bool
) -> None:
    """ODCS 3.0 has no logical type for moments and times of day; later versions have, and lint names it."""
    found = examine(document(f"{{name: n, logicalType: date, physicalType: '{physical}'}}", version=version))

    assert found.contract is not None
    assert found.contract.datasets[0].fields[0].type is logical
    assert [each.code for each in found.warnings] == (["physical-type"] if is_warned else [])


def test_parts_of_a_date_are_read_likewise() -> None:
    """A moment inside of an object, and in a list."""
    inner = "{name: at, logicalType: date, physicalType: timestamp}"
    found = dataset(f"{{name: o, logicalType: object, properties: [{inner}]}}", version="v3.0.2")

    assert found.fields[0].parts[0].type is LogicalType.TIMESTAMP
    assert [rule.kind for rule in found.rules] == ["nested", "type"]


ELEMENTS = [
    ("element: at", ("at",)),
    ("element: d.at", ("at",)),
    ("element: 'at, d.m'", ("at", "m")),
    ("element: d", ()),
    ("", ()),
]


@pytest.mark.parametrize(("element", "fields"), ELEMENTS)
@pytest.mark.parametrize("name", ["freshness", "FRESHNESS", "Retention", "Latency"])
def test_the_element_of_an_only_object_needs_no_name_of_it(name: str, element: str, fields: tuple[str, ...]) -> None:
    """Also as the default of all levels; names of levels are read in any case, and as those of the standard."""
    columns = "{name: at, logicalType: timestamp}, {name: m, logicalType: timestamp}"
    level = f"property: {name}, value: 2, unit: h"
    own = read(document(columns, f"slaProperties: [{{{level}{', ' if element else ''}{element}}}]"))
    as_default = f"slaDefaultElement: {element.removeprefix('element: ') or 'd'}\nslaProperties: [{{{level}}}]"
    default = read(document(columns, as_default))

    for each in (own, default):
        (rule,) = (rule for rule in each.datasets[0].rules if rule.kind == "serviceLevel")
        assert (rule.fields, rule.arguments["property"]) == (fields, name.lower())


def test_an_element_of_an_only_object_is_known_to_lint() -> None:
    """A level of the standard's own examples has no hint at another one."""
    levels = (
        "slaDefaultElement: at\n"
        "slaProperties: [{property: Freshness, value: 2, unit: h, element: m}, {property: timeOfAvailability, value: 9},"
        " {property: retension, value: 1, unit: d}, {property: privacy, value: x}]"
    )
    found = examine(document("{name: at, logicalType: timestamp}, {name: m, logicalType: timestamp}", top=levels))

    assert [(each.code, each.message) for each in found.warnings] == [
        ("older-key", found.warnings[0].message),
        ("unknown-level", "`retension` is not a service level that is known. Did you mean `retention`?"),
        ("unknown-level", "`privacy` is not a service level that is known."),
    ]


def test_an_option_that_is_false_is_no_rule() -> None:
    """Offsets need not be written, and elements may be equal."""
    column = "{name: t, logicalType: timestamp, logicalTypeOptions: {timezone: false}}"
    tags = "{name: l, logicalType: array, logicalTypeOptions: {uniqueItems: false}, items: {logicalType: string}}"

    assert [rule.kind for rule in dataset(f"{column}, {tags}").rules] == ["type", "nested", "type"]


def test_a_zone_is_measured_by_the_type_that_a_file_gives_its_column() -> None:
    """Of moments; a time of day has none in such files, which lint says."""
    top = "customProperties: [{property: lakegate, value: {format: parquet}}]"
    moment, clock = (
        examine(document(f"{{name: t, logicalType: {kind}, logicalTypeOptions: {{timezone: true}}}}", top))
        for kind in ("timestamp", "time")
    )

    assert moment.warnings == ()
    assert [(each.code, each.message) for each in clock.warnings] == [
        (
            "not-measured",
            "The rule is named and not measured: a time has no zone in files with a schema of their own.",
        )
    ]
