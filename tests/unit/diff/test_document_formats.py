"""Documents of different formats that require the same differ in nothing."""

from __future__ import annotations

import json
from typing import Any

from tests.unit.diff.builder import compared, lines

ODCS: dict[str, Any] = {
    "apiVersion": "v3.2.0",
    "kind": "DataContract",
    "id": "shop",
    "name": "Shop",
    "version": "1.0.0",
    "status": "active",
    "team": {"name": "sales"},
    "description": {"usage": "Reports", "limitations": "None"},
    "tags": ["orders"],
    "servers": [{"server": "prod", "type": "s3", "location": "s3://a/*.csv", "format": "csv"}],
    "schema": [
        {
            "name": "orders",
            "logicalType": "object",
            "description": "All orders",
            "properties": [
                {
                    "name": "id",
                    "logicalType": "string",
                    "required": True,
                    "unique": True,
                    "primaryKey": True,
                    "businessName": "Number",
                    "logicalTypeOptions": {"minLength": 2, "maxLength": 9, "pattern": "^[a-z]+$"},
                },
                {"name": "n", "logicalType": "integer", "logicalTypeOptions": {"minimum": 1}, "description": "Pieces"},
                {"name": "country", "logicalType": "string", "enum": [{"value": "PL"}, {"value": "DE"}]},
                {
                    "name": "mail",
                    "logicalType": "string",
                    "classification": "confidential",
                    "logicalTypeOptions": {"format": "email"},
                    "customProperties": [{"property": "pii", "value": True}],
                },
                {"name": "t", "logicalType": "timestamp", "logicalTypeOptions": {"timezone": True}},
                {
                    "name": "lines",
                    "logicalType": "array",
                    "items": {
                        "logicalType": "object",
                        "properties": [{"name": "sku", "logicalType": "string", "required": True}],
                    },
                },
            ],
            "quality": [{"metric": "rowCount", "mustBeGreaterOrEqualTo": 5}],
        }
    ],
    "slaProperties": [
        {"property": "freshness", "value": 240, "unit": "m", "element": "orders.t"},
        {"property": "availability", "value": 99.9, "unit": "percent"},
        {"property": "retention", "value": 1, "unit": "y"},
    ],
    "customProperties": [{"property": "lakegate", "value": {"onReject": "rows"}}],
}
DCS: dict[str, Any] = {
    "dataContractSpecification": "1.2.1",
    "id": "shop",
    "info": {"title": "Shop", "version": "1.0.0", "status": "active", "owner": "sales"},
    "terms": {"usage": "Reports", "limitations": "None"},
    "tags": ["orders"],
    "servers": {"prod": {"type": "s3", "location": "s3://a/*.csv", "format": "csv"}},
    "models": {
        "orders": {
            "type": "table",
            "description": "All orders",
            "fields": {
                "id": {
                    "$ref": "#/definitions/code",
                    "required": True,
                    "unique": True,
                    "primaryKey": True,
                    "title": "Number",
                },
                "n": {"type": "long", "minimum": 1, "description": "Pieces"},
                "country": {"type": "string", "enum": ["DE", "PL"]},
                "mail": {"type": "text", "format": "email", "classification": "confidential", "pii": True},
                "t": {"type": "timestamp_tz"},
                "lines": {
                    "type": "array",
                    "items": {"type": "record", "fields": {"sku": {"type": "varchar", "required": True}}},
                },
            },
            "quality": [{"type": "library", "metric": "rowCount", "mustBeGreaterThan": 4}],
        }
    },
    "definitions": {"code": {"type": "string", "minLength": 2, "maxLength": 9, "pattern": "^[a-z]+$"}},
    "servicelevels": {
        "freshness": {"threshold": "4h", "timestampField": "orders.t"},
        "availability": {"percentage": "99.9%"},
        "retention": {"period": "P1Y"},
    },
    "config": {"lakegate": {"onReject": "rows"}},
}
DCM: dict[str, Any] = {
    "specVersion": "0.1.3",
    "id": "shop-1.0.0",
    "name": "Shop",
    "kind": "DataContract",
    "version": "1.0.0",
    "producer": {"name": "shop", "group": "shop"},
    "access": {"eventType": "push", "protocol": "HTTP", "location": "/a", "accessConfiguration": {}},
    "dataset": {
        "name": "orders",
        "schema": [
            {"name": "id", "dataType": "string", "constraint": "NOT_NULL"},
            {"name": "n", "dataType": "bigint"},
        ],
    },
    "quality": [
        {"id": "n", "name": "n", "type": "complete", "columns": ["n"], "parameter": 0.9},
        {"id": "lots", "name": "lots", "type": "allowedValues", "columns": ["id"], "parameter": ["a", "b"]},
    ],
    "serviceLevelAgreements": {"upTime": 0.999},
}
LIKE_DCM: dict[str, Any] = {
    "apiVersion": "v3.2.0",
    "kind": "DataContract",
    "id": "shop",
    "name": "Shop",
    "version": "1.0.0",
    "team": {"name": "shop"},
    "schema": [
        {
            "name": "orders",
            "properties": [
                {
                    "name": "id",
                    "logicalType": "string",
                    "required": True,
                    "quality": [
                        {
                            "id": "lots",
                            "name": "lots",
                            "metric": "invalidValues",
                            "arguments": {"validValues": ["b", "a"]},
                            "mustBe": 0,
                        }
                    ],
                },
                {
                    "name": "n",
                    "logicalType": "integer",
                    "quality": [
                        {"id": "n", "name": "n", "metric": "nullValues", "mustBeLessOrEqualTo": 10, "unit": "percent"}
                    ],
                },
            ],
        }
    ],
    "slaProperties": [{"property": "av", "value": 99.9, "unit": "%"}],
}


def both_ways(first: dict[str, Any], second: dict[str, Any]) -> list[list[str]]:
    texts = [json.dumps(each).encode() for each in (first, second)]
    return [lines(compared(*texts).changes), lines(compared(*reversed(texts)).changes)]


def test_a_dcs_document_and_an_equivalent_odcs_document_differ_in_nothing() -> None:
    """Types, constraints, definitions, nested fields, rules, service levels, policies and descriptions are the same."""
    assert both_ways(DCS, ODCS) == [[], []]


def test_a_dcm_document_and_an_equivalent_odcs_document_differ_in_nothing() -> None:
    """A share of complete values is a percentage of nulls; names of service levels are translated."""
    assert both_ways(DCM, LIKE_DCM) == [[], []]


def test_a_difference_is_found_across_formats() -> None:
    """What only one of the documents requires, or describes otherwise, is reported."""
    fields = DCS["models"]["orders"]["fields"]
    changed = {**DCS["models"]["orders"], "fields": {**fields, "t": {"type": "date"}}, "description": "Orders"}

    assert both_ways(DCS | {"models": {"orders": changed}, "tags": ["o"]}, ODCS)[0] == [
        "major type-changed orders.t: date -> timestamp",
        "minor rule-added orders.t#timezone: none -> with an offset from UTC",
        "patch description orders.description: Orders -> All orders",
        'patch metadata tags: ["o"] -> ["orders"]',
    ]


def test_a_change_of_a_definition_is_a_change_of_each_field_that_refers_to_it() -> None:
    """The rule of the field is looser, and the document has another definition."""
    looser = DCS | {"definitions": {"code": {**DCS["definitions"]["code"], "maxLength": 20}}}

    assert both_ways(DCS, looser)[0][0] == (
        "major rule-looser orders.id#maxLength: at most 9 characters -> at most 20 characters"
    )


def test_the_remainder_of_a_service_level_is_compared() -> None:
    """The key that gives the value of a level is read; all others are reported as they are written."""
    levels = DCS["servicelevels"]
    other = {**levels, "retention": {"period": "P1Y", "unlimited": False, "description": "By law"}}

    assert both_ways(DCS, DCS | {"servicelevels": other})[0] == [
        "patch description serviceLevels.retention.description: none -> By law",
        "patch metadata serviceLevels.retention.unlimited: none -> false",
    ]
