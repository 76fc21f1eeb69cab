"""What holds for all documents: no change without an edit, an inverse for each change, and a change for each edit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from lakegate.base.errors import ContractError, InputError
from lakegate.base.extension_points import ROOT
from lakegate.diff.change_kinds import KINDS, VersionComparison
from lakegate.diff.compared_versions import read_version
from lakegate.verdict.verdict import Verdict, judge
from tests.golden.cases import FILES, golden
from tests.reference.cases import only_plan
from tests.reference.evaluator import measure
from tests.reference.sampling import sampled
from tests.unit.diff.builder import CASES, compared, document

Path = tuple[str | int, ...]
DOCUMENTS: dict[str, Any] = {
    path.name: json.loads(json.dumps(yaml.load(path.read_text(), yaml.CSafeLoader), default=str))
    for path in (
        *sorted((ROOT / "contracts/examples").glob("*.yaml")),
        ROOT / "tests/golden/documents/orders-latest.dcs.yaml",
    )
}
SAME_MEANING = ("apiVersion", "dataContractSpecification", "version", "primaryKeyPosition", "severity")
"""Keys of which another value may mean the same: the format, the number itself, an order of one, and a severity's synonyms."""
VERSIONS = [document(case[side]) for case in CASES for side in ("old", "new")]


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The scalars of a document with their paths."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if entries is None:
        yield path, value
    else:
        for key, each in entries:
            yield from leaves(each, (*path, key))


EDITABLE = [
    (name, path, value)
    for name, whole in DOCUMENTS.items()
    for path, value in leaves(whole)
    if path[-1] not in SAME_MEANING
]


def edited(whole: Any, path: Path, value: object) -> bytes:
    """The document with another value at a path."""
    copy = place = deepcopy(whole)
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return json.dumps(copy).encode()


def tried(old: bytes, new: bytes) -> VersionComparison | None:
    """The comparison; None if the edit made the document invalid."""
    try:
        return compared(old, new)
    except (ContractError, InputError):
        return None


@pytest.mark.parametrize("name", FILES)
def test_a_document_differs_from_itself_in_nothing(name: str) -> None:
    """Whatever a document of any format contains."""
    newest = {each.id.partition(": ")[2]: each.text for each in golden(name)}
    found = {each: comparison for each, text in newest.items() if (comparison := tried(text, text))}

    assert found
    assert {each: comparison.changes for each, comparison in found.items() if comparison.changes} == {}


@sampled(60, 2_000)
@given(st.sampled_from(VERSIONS), st.sampled_from(VERSIONS))
def test_the_comparison_of_any_two_versions_has_a_mirror(old: bytes, new: bytes) -> None:
    """From the new version to the old one there are as many changes, of the inverse kinds."""
    there, back = compared(old, new), compared(new, old)

    assert sorted(KINDS[each.kind].inverse for each in there.changes) == sorted(each.kind for each in back.changes)


@sampled(30, 2_000)
@given(st.sampled_from(EDITABLE), st.data())
def test_any_edit_of_a_value_is_reported(place: tuple[str, Path, Any], data: st.DataObject) -> None:
    """Another number, flag or text anywhere in a document is a change, if the document is still valid."""
    name, path, value = place
    others: Any = {
        bool: st.just(not value),
        int: st.integers(0, 99),
        float: st.floats(0, 1),
        str: st.text("abc", min_size=1),
    }
    other = data.draw(others.get(type(value), st.just("x")))
    assume(other != value)
    comparison = tried(json.dumps(DOCUMENTS[name]).encode(), edited(DOCUMENTS[name], path, other))
    assume(comparison is not None)

    assert comparison is not None
    assert comparison.changes


OPTIONS = {
    "integer": ({"minimum": 3}, {"exclusiveMaximum": 9}, {"multipleOf": 2}, {"format": "i8"}),
    "string": ({"minLength": 2}, {"maxLength": 3}, {"pattern": "^a"}, {"format": "uuid"}),
}
RULES = [
    *(
        {"type": "library", "metric": metric, "arguments": arguments, operator: 2, "severity": severity}
        for metric, arguments in (
            ("nullValues", {}),
            ("missingValues", {"missingValues": ["", "x"]}),
            ("invalidValues", {"validValues": ["3"]}),
            ("duplicateValues", {}),
        )
        for operator in ("mustBe", "mustBeLessThan", "mustBeGreaterThan", "mustNotBe")
        for severity in ("error", "warning")
    ),
    *(
        {"type": "custom", "engine": "greatExpectations", "implementation": {"type": call, "kwargs": arguments}}
        for call, arguments in (
            ("expect_column_values_to_not_be_null", {"mostly": 0.1}),
            ("expect_column_values_to_be_in_set", {"value_set": ["1"], "mostly": 0.5}),
            ("expect_column_values_to_be_in_set", {"value_set": ["1"], "row_condition": "id > 1"}),
            ("expect_column_values_to_be_unique", {}),
            ("expect_column_pair_values_to_be_equal", {"column_A": "id", "column_B": "added"}),
            ("expect_column_unique_value_count_to_be_between", {"min_value": 0, "max_value": 3}),
            ("expect_column_unique_value_count_to_be_between", {"min_value": 1}),
            ("expect_column_proportion_of_non_null_values_to_be_between", {"min_value": 0, "max_value": 1}),
            ("expect_column_proportion_of_unique_values_to_be_between", {"min_value": 0.5}),
            ("expect_column_values_to_be_null", {}),
            ("expect_column_most_common_value_to_be_in_set", {"value_set": ["1"]}),
        )
    ),
    *(
        {"type": "custom", "engine": "soda", "implementation": call}
        for call in (
            "duplicate_count(added) = 0",
            "missing_count(added) < 5",
            "missing_percent(added) < 5",
            "avg_length(added) > 1",
        )
    ),
    {"type": "sql", "query": "SELECT count(*) FROM orders WHERE added IS NULL", "mustBe": 0},
]
"""Rules of a property, for each of which a file without its column is accepted or not."""


@sampled(60, 1_000)
@given(st.sampled_from(sorted(OPTIONS)), st.data())
def test_a_file_that_a_version_lets_in_is_let_in_by_a_version_that_affects_no_producer(
    logical: str, data: st.DataObject
) -> None:
    """Where a new field affects no producer, a file without its column is accepted, whatever rules the field has."""
    added = {
        "name": "added",
        "logicalType": logical,
        "required": data.draw(st.sampled_from([False, False, True])),
        "unique": data.draw(st.booleans()),
        "logicalTypeOptions": data.draw(st.sampled_from(OPTIONS[logical])),
        "quality": data.draw(st.lists(st.sampled_from(RULES), max_size=2)),
    }
    column = {"name": "id", "logicalType": "integer"}
    old, new = document({"properties": [column]}), document({"properties": [column, added]})
    rows = tuple((str(each),) for each in range(1, data.draw(st.integers(1, 5)) + 1))
    comparison = tried(old, new)
    assume(comparison is not None)
    assert comparison
    plan = only_plan(read_version(new).contract)

    verdict = judge(plan, measure(plan, ("id",), rows)).verdict

    if not any(each.effect.producer for each in comparison.changes):
        assert verdict is Verdict.ACCEPTED_WITH_WARNINGS
    if not (added["quality"] or added["required"]):
        assert verdict is Verdict.ACCEPTED_WITH_WARNINGS


@pytest.mark.parametrize(
    ("rule", "kind"),
    [
        ({}, "optional-field-added"),
        ({"logicalTypeOptions": {"maxLength": 3}}, "optional-field-added"),
        ({"unique": True}, "optional-field-added"),
        ({"quality": [{"metric": "nullValues", "mustBeLessThan": 5, "unit": "percent"}]}, "required-field-added"),
        (
            {"quality": [{"metric": "nullValues", "mustBe": 0, "severity": "warning"}]},
            "optional-field-added",
        ),
        ({"quality": [RULES[-1]]}, "required-field-added"),
    ],
)
def test_a_new_field_is_required_where_a_file_without_it_is_rejected(rule: dict[str, Any], kind: str) -> None:
    """Not only by `required`: a rule that counts or queries the values of the field rejects the file, too."""
    added = {"name": "added", "logicalType": "string", **rule}
    old, new = document({}), document({"properties": [{"name": "id", "logicalType": "integer"}, added]})
    plan = only_plan(read_version(new).contract)

    rejected = judge(plan, measure(plan, ("id",), (("1",),))).verdict is Verdict.REJECTED

    assert [each.kind for each in compared(old, new).changes] == [kind]
    assert rejected is (kind == "required-field-added")
