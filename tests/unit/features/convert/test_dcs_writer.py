"""Contracts as documents of DCS: what has a place there judges the same, and everything else is listed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from lakegate.base.errors import InputError
from lakegate.base.extension_points import ROOT
from lakegate.cli.main import app
from lakegate.diff.compared_versions import ContractVersion, read_version
from lakegate.features.convert.odcs_export import compared_rules, dcs, odcs
from lakegate.lints.linter import examine
from tests.golden.cases import golden

PROPERTIES: list[dict[str, Any]] = [
    {
        "name": "id",
        "logicalType": "string",
        "required": True,
        "unique": True,
        "primaryKey": True,
        "primaryKeyPosition": 1,
        "businessName": "Number",
        "logicalTypeOptions": {"minLength": 2, "maxLength": 9, "pattern": "^[a-z]+$", "format": "uuid"},
        "examples": ["a"],
        "tags": ["key"],
        "classification": "public",
        "description": "words with ${_:-$}{X}",
        "customProperties": [{"property": "pii", "value": False}, {"property": "glueType", "value": "string"}],
        "authoritativeDefinitions": [{"type": "wiki", "url": "https://example.org/x"}],
    },
    {"name": "n", "logicalType": "integer", "logicalTypeOptions": {"minimum": 1, "exclusiveMaximum": 9}},
    {"name": "s", "logicalType": "number", "logicalTypeOptions": {"exclusiveMinimum": 0.5}},
    {"name": "d", "logicalType": "number", "physicalType": "decimal"},
    {"name": "b", "logicalType": "boolean"},
    {"name": "day", "logicalType": "date"},
    {"name": "t", "logicalType": "timestamp", "logicalTypeOptions": {"timezone": True}},
    {"name": "u", "logicalType": "timestamp"},
    {"name": "raw", "logicalType": "string", "physicalType": "binary"},
    {"name": "state", "logicalType": "string", "enum": [{"value": "on"}, {"value": "off"}]},
    {"name": "who", "logicalType": "object", "properties": [{"name": "k", "logicalType": "integer", "required": True}]},
    {"name": "tags", "logicalType": "array", "items": {"logicalType": "string", "required": True}},
    {"name": "m", "logicalType": "map", "map": {"key": {"logicalType": "string"}, "value": {"logicalType": "number"}}},
    {"name": "ref", "logicalType": "string", "relationships": [{"to": "orders.id"}]},
]
DOCUMENT: dict[str, Any] = {
    "apiVersion": "v3.2.0",
    "kind": "DataContract",
    "id": "shop",
    "name": "Shop",
    "version": "1.2.0",
    "status": "active",
    "description": {"purpose": "p", "usage": "u", "limitations": "l"},
    "team": {"name": "sales"},
    "tags": ["a"],
    "authoritativeDefinitions": [{"type": "doc", "url": "https://example.org/d"}],
    "servers": [
        {"server": "prod", "type": "s3", "location": "s3://b/p", "format": "json", "roles": [{"role": "reader"}]}
    ],
    "schema": [
        {
            "name": "orders",
            "logicalType": "object",
            "description": "all",
            "properties": PROPERTIES,
            "quality": [
                {"id": "few", "metric": "rowCount", "mustBeGreaterThan": 4},
                {"type": "sql", "query": "SELECT count(*) FROM {object}", "mustBe": 1},
                {"type": "custom", "engine": "soda", "implementation": {"type": "row_count > 0"}},
            ],
            "customProperties": [{"property": "lakegate", "value": {"format": "jsonl", "onReject": "rows"}}],
        }
    ],
    "slaProperties": [
        {"property": "freshness", "value": 4, "unit": "h", "element": "orders.u"},
        {"property": "frequency", "value": "0 6 * * *"},
        {"property": "availability", "value": 0.999},
        {"property": "retention", "value": 30, "unit": "d"},
    ],
}


def version_of(document: dict[str, Any]) -> ContractVersion:
    return read_version(json.dumps(document).encode())


def test_a_contract_of_odcs_judges_the_same_in_dcs() -> None:
    """Types, constraints, nested fields, rules, service levels and settings are there; nothing is listed."""
    found = dcs(version_of(DOCUMENT))
    written = yaml.safe_load(found.text)
    model = written["models"]["orders"]
    again = read_version(found.text.encode())

    assert found.omitted == ()
    assert examine(found.text.encode()).errors == ()
    assert compared_rules(version_of(DOCUMENT).contract, again.contract).lost == {}
    assert written["info"] == {
        "title": "Shop",
        "version": "1.2.0",
        "status": "active",
        "description": "p",
        "owner": "sales",
    }
    assert written["terms"] == {"usage": "u", "limitations": "l"}
    assert written["servers"]["prod"]["roles"] == [{"name": "reader"}]
    assert (model["primaryKey"], model["config"]["lakegate"]["onReject"]) == (["id"], "rows")
    assert model["fields"]["id"]["description"] == "words with ${X}"
    assert model["fields"]["id"]["config"] == {"glueType": "string"}
    assert [each["type"] for each in model["fields"].values()] == [
        *("string", "long", "number", "decimal", "boolean", "date", "timestamp_tz", "timestamp", "bytes", "string"),
        *("record", "array", "map", "string"),
    ]
    assert written["servicelevels"] == {
        "freshness": {"threshold": "4h", "timestampField": "orders.u"},
        "frequency": {"cron": "0 6 * * *"},
        "availability": {"percentage": "99.9%"},
        "retention": {"period": "30d"},
    }


@pytest.mark.parametrize(
    ("change", "lost"),
    [
        ({"price": {"priceAmount": 1, "priceCurrency": "EUR", "priceUnit": "GB"}}, "price"),
        ({"team": {"name": "sales", "members": [{"username": "a"}]}}, "team"),
        (
            {"description": {"usage": "u", "customProperties": [{"property": "x", "value": 1}]}},
            "description.customProperties",
        ),
        ({"slaProperties": [{"property": "latency", "value": 1, "unit": "d"}] * 2}, "slaProperties: another `latency`"),
    ],
)
def test_a_key_without_a_place_is_listed(change: dict[str, Any], lost: str) -> None:
    """By its owner and name."""
    assert lost in dcs(version_of(DOCUMENT | change)).omitted


@pytest.mark.parametrize(
    ("field", "lost"),
    [
        ({"logicalType": "integer", "logicalTypeOptions": {"multipleOf": 5}}, "orders.x.logicalTypeOptions.multipleOf"),
        ({"logicalType": "string", "encryptedName": "y"}, "orders.x.encryptedName"),
        (
            {"logicalType": "date", "logicalTypeOptions": {"minimum": "2020-01-01"}},
            "orders.x#minimum (rule: at least 2020-01-01)",
        ),
        (
            {"logicalType": "string", "quality": [{"metric": "nullValues", "mustBe": 0, "severity": "warning"}]},
            "orders.x#nullValues (rule: no null rows, else warn)",
        ),
    ],
)
def test_a_rule_without_a_place_is_listed(field: dict[str, Any], lost: str) -> None:
    """The document is read again, and every rule that it has not is named."""
    (table,) = DOCUMENT["schema"]
    document = DOCUMENT | {"schema": [table | {"properties": [*PROPERTIES, {"name": "x"} | field]}]}

    assert lost in dcs(version_of(document)).omitted


@pytest.mark.parametrize("name", ["odcs", "dcm"])
def test_every_golden_document_becomes_one_of_dcs(name: str) -> None:
    """Whatever can be read; what is written has no errors."""
    count = 0
    for case in golden(name):
        if examine(case.text).errors or not case.id.startswith(("odcs v3.2.0", "dcm")):
            continue
        try:
            found = dcs(read_version(case.text))
        except InputError:
            continue  # a version that is not semantic
        count += 1
        assert examine(found.text.encode()).errors == (), case.id
    assert count > 30


def test_a_document_of_dcs_comes_back_from_odcs() -> None:
    """The example of the specification has the same rules after both ways."""
    text = (ROOT / "tests/golden/documents/orders-latest.dcs.yaml").read_bytes()
    there = read_version(text, published=True)
    back = read_version(dcs(read_version(odcs(there).text.encode(), published=True)).text.encode(), published=True)

    assert dcs(there).text.encode() == text
    assert compared_rules(there.contract, back.contract).lost == {}


def test_a_schema_becomes_a_document_of_dcs(tmp_path: Path) -> None:
    """As the command writes it."""
    source = tmp_path / "t.sql"
    source.write_text("CREATE TABLE t (a BIGINT NOT NULL, b VARCHAR(5));")
    found = CliRunner().invoke(app, ["convert", str(source), "--from", "sql", "--to", "dcs"])

    assert found.exit_code == 0, found.output
    assert yaml.safe_load(found.stdout)["models"]["t"]["fields"] == {
        "a": {"type": "long", "required": True},
        "b": {"type": "string", "maxLength": 5},
    }
