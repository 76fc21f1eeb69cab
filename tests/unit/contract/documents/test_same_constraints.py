"""The same constraints in three formats give the same checks; and documents are returned unchanged."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from lakegate.contract.contract_model import Contract
from lakegate.contract.documents.read_document import parse
from lakegate.lints.linter import read
from lakegate.plan.check import Check
from tests.golden.cases import FILES, golden
from tests.reference.cases import only_plan

FULL = 20_000 if os.environ.get("LAKEGATE_FULL") else 60
DCS_TYPES = {
    "string": "text",
    "integer": "long",
    "number": "double",
    "boolean": "boolean",
    "date": "date",
    "time": "time",
    "timestamp": "timestamp",
}
"""Each logical type of ODCS with the equivalent type of DCS."""
DCM_TYPES = {**DCS_TYPES, "integer": "bigint"}
NUMBERS = st.integers(0, 50)


@st.composite
def fields(draw: st.DrawFn) -> dict[str, dict[str, Any]]:
    """Fields in ODCS: a type, flags, and options of the type."""
    found: dict[str, dict[str, Any]] = {}
    for name in draw(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=4, unique=True)):
        logical = draw(st.sampled_from(sorted(DCS_TYPES)))
        found[name] = {"logicalType": logical, "required": draw(st.booleans()), "unique": draw(st.booleans())}
        low = draw(NUMBERS)
        if logical in {"integer", "number"}:
            found[name]["logicalTypeOptions"] = {"minimum": low, "exclusiveMaximum": low + 1 + draw(NUMBERS)}
        if logical == "string":
            found[name]["logicalTypeOptions"] = {
                "minLength": low,
                "maxLength": low + draw(NUMBERS),
                "pattern": "^[a-z]*$",
            }
    return found


def as_odcs(drawn: dict[str, dict[str, Any]], key: list[str], rows: int) -> Contract:
    """The fields in ODCS 3.2."""
    properties = [{"name": name, **each, "primaryKey": name in key} for name, each in drawn.items()]
    for each in properties:
        if each["primaryKey"]:
            each["primaryKeyPosition"] = key.index(each["name"]) + 1
    quality = [{"metric": "rowCount", "mustBeGreaterOrEqualTo": rows}]
    return _read(
        apiVersion="v3.2.0",
        kind="DataContract",
        id="x",
        version="1.0.0",
        schema=[{"name": "d", "properties": properties, "quality": quality}],
    )


def as_dcs(drawn: dict[str, dict[str, Any]], key: list[str], rows: int, *, older: bool) -> Contract:
    """The fields in DCS 1.1.0, or in DCS 1.2.1 through definitions."""
    named = {name: _dcs_field(each) for name, each in drawn.items()}
    operator, metric = ("mustBeGreaterThanOrEqualTo", "rule") if older else ("mustBeGreaterOrEqualTo", "metric")
    quality = [{"type": "library", metric: "rowCount", operator: rows}]
    types = {name: {"$ref": f"#/definitions/{name}"} for name in drawn} if not older else named
    model = {"fields": types, "primaryKey": key, "quality": quality}
    return _read(
        dataContractSpecification="1.1.0" if older else "1.2.1",
        id="x",
        info={"title": "x", "version": "1.0.0"},
        models={"d": model},
        definitions=named,
    )


def _dcs_field(drawn: dict[str, Any]) -> dict[str, Any]:
    flags = {key: drawn[key] for key in ("required", "unique")}
    return {"type": DCS_TYPES[drawn["logicalType"]], **flags, **drawn.get("logicalTypeOptions", {})}


def _read(**document: Any) -> Contract:
    return read(json.dumps(document).encode())


def checks(contract: Contract) -> list[Check]:
    """The checks without their ids, which depend on the document."""
    found = only_plan(contract).checks
    return sorted((replace(check, id="", rule="") for check in found), key=repr)


@settings(max_examples=FULL, deadline=None)
@given(fields(), st.data())
def test_equal_constraints_in_two_formats_give_equal_checks(
    drawn: dict[str, dict[str, Any]], data: st.DataObject
) -> None:
    """ODCS, current DCS through definitions, and older DCS compile to the same checks."""
    drawn = {name: each for name, each in drawn.items() if each["logicalType"] != "time"} or {
        "a": {"logicalType": "date", "required": True, "unique": False}
    }
    key = data.draw(st.lists(st.sampled_from(sorted(drawn)), max_size=2, unique=True))
    rows = data.draw(st.integers(1, 9))
    expected = checks(as_odcs(drawn, key, rows))

    assert expected == checks(as_dcs(drawn, key, rows, older=False))
    assert expected == checks(as_dcs(drawn, key, rows, older=True))


@settings(max_examples=FULL, deadline=None)
@given(fields())
def test_types_and_constraints_mean_the_same_in_dcm(drawn: dict[str, dict[str, Any]]) -> None:
    """What a column declares in DCM is measured as in ODCS."""
    plain = {name: {"logicalType": each["logicalType"], "required": each["required"]} for name, each in drawn.items()}
    columns = [
        {
            "name": name,
            "dataType": DCM_TYPES[each["logicalType"]],
            **({"constraint": "NOT_NULL"} if each["required"] else {}),
        }
        for name, each in plain.items()
    ]
    dcm = _read(
        specVersion="0.1.3",
        id="x-p-1.0.0",
        name="x",
        kind="DataContract",
        version="1.0.0",
        producer={"name": "p", "group": "g"},
        access={"eventType": "push", "protocol": "HTTP", "location": "/", "accessConfiguration": {}},
        dataset={"name": "d", "schema": columns},
    )
    odcs = _read(
        apiVersion="v3.2.0",
        kind="DataContract",
        id="x",
        version="1.0.0",
        schema=[{"name": "d", "properties": [{"name": name, **each} for name, each in plain.items()]}],
    )

    assert checks(odcs) == checks(dcm)


def test_every_document_comes_back_byte_for_byte() -> None:
    """What was read is kept as it came: spaces, comments, quotes, the order of keys, variables and all."""
    for name in FILES:
        for case in golden(name):
            assert parse(case.text).text == case.text

    odd = b"\xef\xbb\xbf# a comment\r\nb:   '1.10'   # kept\r\na: ${X:-y}\r\n"
    assert parse(odd).text == odd


def test_a_document_is_the_same_in_yaml_and_in_json() -> None:
    """Written the other way, each golden document holds the same values."""
    for name in FILES:
        for case in golden(name):
            plain = json.loads(case.text)
            again = yaml.dump(plain, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True).encode()

            assert parse(case.text).plain() == parse(again).plain()
