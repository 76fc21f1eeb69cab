"""Logical types of ODCS documents, and the options of each."""

from __future__ import annotations

from decimal import Decimal

import pytest

from lakegate.contracts.model.types import LogicalType
from tests.unit.documents.test_odcs import dataset


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
