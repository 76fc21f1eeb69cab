from __future__ import annotations

import json
from typing import Any

import pytest

from lakegate.lints.linter import examine

WHOLE: dict[str, Any] = {"logicalType": "integer"}
MOMENT: dict[str, Any] = {"logicalType": "timestamp"}
ABOUT = {"apiVersion": "v3.2.0", "kind": "DataContract", "id": "c", "version": "1.0.0", "status": "active"}
RECORD = {"name": "a", "logicalType": "object", "properties": [{"name": "b"} | MOMENT]}


def odcs(element: str, *properties: dict[str, Any], dataset: str = "d") -> bytes:
    level = {"property": "freshness", "value": 3, "unit": "d", "element": element}
    return json.dumps(
        ABOUT | {"schema": [{"name": dataset, "properties": properties}], "slaProperties": [level]}
    ).encode()


def dcm(column: str, *columns: dict[str, Any]) -> bytes:
    rule = {"id": "r", "name": "r", "dimension": "uniqueness", "type": "unique", "columns": [column]}
    actors = {each: {"name": each} for each in ("producer", "consumer")}
    about = {"specVersion": "0.1.3", "id": "c-1.0.0", "name": "c", "kind": "DataContract", "version": "1.0.0", **actors}
    return json.dumps(about | {"dataset": {"name": "d", "schema": columns}, "quality": [rule]}).encode()


def fields_of(document: bytes, name: str) -> tuple[tuple[str, ...], list[str]]:
    """The fields of the rule of an id or a kind, and the codes of errors about names."""
    examined = examine(document)
    assert examined.contract is not None
    rule = next(each for each in examined.contract.datasets[0].rules if name in {each.id, each.kind})
    return rule.fields, [each.code for each in examined.errors if each.code != "missing-key"]


@pytest.mark.parametrize(
    ("element", "properties", "path"),
    [
        ("d.x.y", ({"name": "x.y"} | MOMENT,), '"x.y"'),
        ("x.y", ({"name": "x.y"} | MOMENT,), '"x.y"'),
        ('d."x.y"', ({"name": "x.y"} | MOMENT,), '"x.y"'),
        ("d.a.b", (RECORD,), "a.b"),
        ('d."a.b"', (RECORD, {"name": "a.b"} | MOMENT), '"a.b"'),
        ('d."a".b', (RECORD, {"name": "a.b"} | MOMENT), "a.b"),
    ],
)
def test_a_service_level_names_its_field(element: str, properties: tuple[dict[str, Any], ...], path: str) -> None:
    """By its path, or the name of a column."""
    assert fields_of(odcs(element, *properties), "serviceLevel") == ((path,), [])


def test_a_dataset_may_have_a_name_with_points() -> None:
    """The longest name of a dataset is meant."""
    assert fields_of(odcs("d.e.x", {"name": "x"} | MOMENT, dataset="d.e"), "serviceLevel") == (("x",), [])


def test_a_name_of_two_fields_is_refused() -> None:
    """A column with the joined name of a nested field: which one a rule names has to be said."""
    found = examine(odcs("d.a.b", RECORD, {"name": "a.b"} | MOMENT))

    assert [(each.code, each.path, each.message) for each in found.errors] == [
        (
            "ambiguous-field",
            "$.slaProperties[0]",
            'The name `a.b` is that of a column and the path of a nested field: write `"a".b` or `"a.b"`.',
        )
    ]


def test_a_rule_of_dcm_names_its_columns() -> None:
    """Likewise, in the columns of a quality rule."""
    text = {"dataType": "text"}

    assert fields_of(dcm("x.y", {"name": "x.y"} | text), "r") == (('"x.y"',), [])
    record = {"name": "a", "dataType": "struct", "children": [{"name": "b"} | text]}
    assert fields_of(dcm("a.b", record, {"name": "a.b"} | text), "r")[1] == ["ambiguous-field"]


def test_a_call_of_another_tool_names_its_columns() -> None:
    """Great Expectations: a pair of columns whose names have points."""
    kwargs = {"column_A": "x.y", "column_B": "z"}
    call = {"type": "expect_column_pair_values_to_be_equal", "kwargs": kwargs}
    rule = {"type": "custom", "engine": "great-expectations", "implementation": call}
    properties = [{"name": "x.y"} | WHOLE, {"name": "z"} | WHOLE]
    found = examine(
        json.dumps(ABOUT | {"schema": [{"name": "d", "properties": properties, "quality": [rule]}]}).encode()
    )

    assert (found.errors, found.unmeasured) == ((), ())
