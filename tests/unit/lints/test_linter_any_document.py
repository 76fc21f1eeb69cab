"""Any document gives a contract or problems with positions."""

from __future__ import annotations

import json
import os
from copy import deepcopy
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakegate.base.errors import ContractError
from lakegate.base.text import MAX_HINTS
from lakegate.contract.documents.document_tree import MOST_NOTED, Node
from lakegate.contract.documents.read_document import parse
from lakegate.lints.linter import examine, read

EXAMPLES = Path(__file__).parents[3] / "contracts/examples"
FULL = 100_000 if os.environ.get("LAKEGATE_FULL") else 20
SMALL = """
apiVersion: v3.1.0
kind: DataContract
id: x
version: 1.0.0
status: active
schema:
  - name: d
    properties:
      - {name: n, logicalType: number, logicalTypeOptions: {minimum: 0, maximum: 9, multipleOf: 3, format: f32}, primaryKey: true}
      - {name: s, logicalType: string, logicalTypeOptions: {pattern: a, minLength: 1, format: email}, required: true}
      - {name: t, logicalType: date, logicalTypeOptions: {minimum: 2024-01-01, format: yyyy-MM-dd}, relationships: [{to: d.e}]}
      - {name: e, logicalType: date}
      - {name: m, logicalType: number}
      - {name: o, logicalType: object, properties: [{name: i, logicalType: array, items: {logicalType: date}}]}
      - name: q
        logicalType: string
        quality:
          - {metric: invalidValues, arguments: {validValues: [a], pattern: b}, mustBeLessThan: 5, unit: percent, severity: info}
          - {type: custom, engine: gx, implementation: {type: expect_column_values_to_be_in_set, kwargs: {value_set: [a]}}}
    quality:
      - {metric: rowCount, mustBeBetween: [1, 5]}
      - {type: sql, query: SELECT 1, mustBe: 1}
    relationships: [{from: d.n, to: d.m}]
    customProperties: [{property: lakegate, value: {mode: observe, csv: {delimiter: ;}}}]
slaProperties: [{property: latency, value: 4, unit: d, element: d.n}]
"""
DOCUMENTS = {
    "weather": (EXAMPLES / "weather.dcm.yaml").read_bytes(),
    "orders": (EXAMPLES / "orders.odcs.yaml").read_bytes(),
    "small": SMALL.encode(),
    "newer": SMALL.replace("v3.1.0", "v3.2.0").encode(),
    "older": SMALL.replace("v3.1.0", "v3.0.2").encode(),
}
ODD = (
    st.none()
    | st.booleans()
    | st.integers(-9, 10**9)
    | st.text(max_size=8)
    | st.sampled_from(
        [
            "",
            [],
            {},
            [[]],
            [None],
            [{}],
            {"": ""},
            "${A}",
            "^(",
            "2024-13-01",
            "1e5",
            10**60,
            "NaN",
            "n",
            "custom",
            "percent",
            -1,
        ]
    )
)
"""Values that stand where the format has others."""


def json_of(node: Any) -> Any:
    return node if not isinstance(node, Decimal) else float(node)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container of a value with every key or index of it."""
    if isinstance(value, dict):
        return [(value, key) for key in value] + [each for inner in value.values() for each in places(inner)]
    if isinstance(value, list):
        return [(value, index) for index in range(len(value))] + [each for inner in value for each in places(inner)]
    return []


@pytest.mark.parametrize("name", DOCUMENTS)
@settings(max_examples=FULL, deadline=None)
@given(data=st.data())
def test_no_document_ends_in_a_traceback(name: str, data: st.DataObject) -> None:
    """Any damaged contract gives problems with positions, and `read` raises no other error."""
    plain: Any = parse(DOCUMENTS[name]).plain()
    for _ in range(data.draw(st.integers(1, 3))):
        holder, key = data.draw(st.sampled_from(places(plain) or [({"a": 0}, "a")]))
        if data.draw(st.booleans()):
            holder[key] = deepcopy(data.draw(ODD))
        else:
            del holder[key]
    text = json.dumps(plain, default=json_of).encode()
    examined = examine(text)

    assert all(problem.line and problem.path.startswith("$") for problem in (*examined.errors, *examined.warnings))
    if examined.errors:
        with pytest.raises(ContractError):
            read(text)
    else:
        assert examined.contract == read(text)


def test_json_and_yaml_give_the_same_contract() -> None:
    """A document may be written either way; only lines differ."""
    plain: Any = parse(DOCUMENTS["small"]).plain()
    again = read(json.dumps(plain, default=json_of).encode())
    first = read(DOCUMENTS["small"])

    assert [rule.id for rule in first.datasets[0].rules] == [rule.id for rule in again.datasets[0].rules]
    assert [rule.arguments for rule in first.datasets[0].rules] == [rule.arguments for rule in again.datasets[0].rules]


def test_a_node_is_not_compared_by_value() -> None:
    """Nodes are places in a document: two that look alike are two."""
    root = parse(b"[1, 1]").root
    items = root.content

    assert isinstance(items, tuple)
    assert all(isinstance(each, Node) for each in items)
    assert items[0] != items[1]


def of_dcs(fields: str, definitions: str = "") -> str:
    """A document of DCS with fields, one a line, and definitions."""
    head = "dataContractSpecification: 1.1.0\nid: x\ninfo: {title: x, version: 1.0.0, status: active}\n"
    return f"{head}models:\n  m:\n    fields:\n{fields}\ndefinitions:\n{definitions or '  none: {type: text}'}\n"


def of_odcs(fields: str, top: str = "", version: str = "3.1.0") -> str:
    """A document of ODCS with fields, one a line."""
    head = f"apiVersion: v{version}\nkind: DataContract\nid: x\nversion: 1.0.0\nstatus: active\n{top}\n"
    return f"{head}schema:\n  - name: t\n    properties:\n{fields}\n"


def repeated(count: int, line: str) -> str:
    return "\n".join(line.format(at=at, next=at + 1) for at in range(count))


LONG = "x" * 200_000
WORDS = ", ".join(f"v{at}" for at in range(10_000))
GROWING = {
    "texts by aliases": (
        of_dcs(
            f"      a: {{type: text, description: &a '{LONG}'}}\n"
            + repeated(30, "      f{at}: {{type: text, description: *a}}")
        ),
        "document-too-large",
    ),
    "values by references": (
        of_dcs(repeated(10, "      f{at}: {{$ref: '#/definitions/d'}}"), f"  d: {{type: text, enum: [{WORDS}]}}"),
        "too-many-fields",
    ),
    "texts by references": (
        of_dcs(repeated(30, "      f{at}: {{$ref: '#/definitions/d'}}"), f"  d: {{type: text, description: '{LONG}'}}"),
        "too-many-fields",
    ),
    "a chain of definitions": (
        of_dcs(
            repeated(900, "      f{at}: {{$ref: '#/definitions/d0'}}"),
            repeated(1_000, "  d{at}: {{type: text, $ref: '#/definitions/d{next}'}}") + "\n  d1000: {type: text}",
        ),
        "too-many-fields",
    ),
    "a chain of definitions in ODCS": (
        of_odcs(
            "      - {name: a, $ref: '#/definitions/d0'}",
            "definitions:\n" + repeated(3_000, "  d{at}: {{$ref: '#/definitions/d{next}'}}") + "\n  d3000: {name: a}",
        ),
        "too-deep",
    ),
    "texts by references in ODCS": (
        of_odcs(
            repeated(30, "      - {{name: f{at}, $ref: '#/definitions/d'}}"),
            f"definitions: {{d: {{logicalType: string, description: '{LONG}'}}}}",
        ),
        "document-too-large",
    ),
    "variables by aliases": (
        of_odcs(
            repeated(30, "      - {{name: f{at}, logicalType: string, description: *a}}"),
            f"description: {{purpose: &a '{'${A:-' + 'x' * 100_000 + '}'}'}}",
            "3.2.0",
        ),
        None,
    ),
}


@pytest.mark.parametrize(("text", "code"), GROWING.values(), ids=GROWING)
def test_a_document_that_grows_when_it_is_expanded_is_refused(text: str, code: str | None) -> None:
    """Whatever expands it, aliases, references or variables: it is refused with one error, while it is built."""
    assert [each.code for each in examine(text.encode()).errors] == ([code] if code else [])


def test_variables_that_lead_to_a_long_document_are_refused() -> None:
    """Values are given by who reads it: the texts of the document together stay short."""
    text = of_odcs(repeated(50, "      - {{name: f{at}, logicalType: string, description: '${{A}}'}}"), version="3.2.0")
    found = examine(text.encode(), {"A": LONG})

    assert [(each.code, each.path) for each in found.errors] == [
        ("document-too-large", "$.schema[0].properties[20].description")
    ]


def test_problems_and_hints_of_a_document_are_bounded() -> None:
    """A short document may have millions of problems by aliases: the first are kept, and hints are searched for the first."""
    text = of_odcs(
        repeated(300, "      - {{name: f{at}, logicalType: string, description: *a}}"),
        f"description: {{purpose: &a '{'${A}' * 300}'}}",
        "3.2.0",
    )
    errors = examine(text.encode()).errors
    queries = repeated(80, "      - {{type: sql, query: SELECT max(colum{at}) FROM t, mustBe: 1}}")
    warnings = examine(
        (of_odcs(repeated(90, "      - {{name: column{at}}}")) + "    quality:\n" + queries).encode()
    ).warnings

    assert {each.code for each in errors} == {"unresolved-variable"}
    assert len(errors) <= MOST_NOTED
    assert sum("Did you mean" in each.message for each in warnings if each.code == "query-unknown-column") == MAX_HINTS
    assert len([each for each in warnings if each.code == "query-unknown-column"]) == 80


@pytest.mark.parametrize("text", ["/* ", "'' ", '"" ', "{ ", "${ ", "-- ", "` ", "'/* "])
def test_a_query_that_is_no_query_is_no_work(text: str) -> None:
    """Whatever is begun in it and never ended; in quadratic time this would take hours."""
    query = json.dumps(f"SELECT {text * 100_000}")
    columns = of_odcs("      - {name: a}\n")
    found = examine(f"{columns}    quality: [{{type: sql, query: {query}, mustBe: 0}}]\n".encode())

    assert "query-too-large" in {each.code for each in found.errors}
