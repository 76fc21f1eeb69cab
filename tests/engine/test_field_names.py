"""Fields whose names look like paths of other ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from lakegate.contract.field_paths import column_path
from lakegate.contract.file_formats import Csv, Format, NullWords, Storage
from lakegate.contract.logical_types import LogicalType
from lakegate.plan.plan import Plan, PlanField
from lakegate.verdict.check_status import Status
from tests.deliveries.delivery import Judged, plan_of, rule
from tests.deliveries.hostile_names import FORMATS, of_bounds, plan_of_properties
from tests.deliveries.hostile_names import hostile_dataset as dataset_of
from tests.deliveries.written import as_jsonl, written
from tests.reference.evaluator import measure

SEEDS = range(8)


@pytest.mark.parametrize("form", FORMATS)
def test_each_field_is_measured_by_its_own_rule(form: Format, judge_files: Callable[..., Judged]) -> None:
    """A column `a.b` beside a record `a`, `l[]` beside a list, `m.value` beside a map: no rule falls on the other field."""
    for seed in SEEDS:
        case = dataset_of(seed, form)
        plan = case.plan(form)
        result = judge_files(plan, case.file(form)).result

        assert (seed, result.unreadable, result.columns and result.columns.extra) == (seed, None, ())
        assert (seed, of_bounds(plan, result)) == (seed, case.expected)


@pytest.mark.parametrize("form", FORMATS)
def test_a_field_is_not_taken_for_an_extra_one(form: Format, judge_files: Callable[..., Judged]) -> None:
    """Each second column of the file is none of the contract: the others are read and measured as they were."""
    for seed in SEEDS:
        case = dataset_of(seed, form)
        without = [name for name, _ in case.columns[::2]]
        plan = case.plan(form, *without)
        result = judge_files(plan, case.file(form)).result
        columns = result.columns

        assert (seed, result.unreadable, columns and columns.absent) == (seed, None, ())
        assert columns is not None
        if not form.is_json:  # of keys the names may be masked
            assert sorted(columns.extra) == sorted(map(column_path, without))
        places = {each.place for each in plan.fields}
        assert (seed, of_bounds(plan, result)) == (
            seed,
            {at: found for at, found in case.expected.items() if at in places},
        )


def test_the_reference_measures_the_same(judge_files: Callable[..., Judged]) -> None:
    """The second implementation, over the values of each column and of each member of a record, by its place."""

    def value(row: Any, place: tuple[str, ...]) -> str | None:
        for step in place:
            row = None if row is None else row[step[1:]]
        return None if row is None else str(row)

    for seed in SEEDS:
        case = dataset_of(seed, Format.JSONL)
        plan = case.plan(Format.JSONL)
        fields = [each for each in plan.fields if not each.level and each.shape.value == "value"]
        checks = tuple(each for each in plan.checks if each.reads <= {field.name for field in fields})
        rows = [[value(row, each.place) for each in fields] for row in case.rows]
        ours = judge_files(plan, case.file(Format.JSONL)).result
        theirs = measure(replace(plan, checks=checks), [each.name for each in fields], rows)
        bounds = of_bounds(plan, ours)

        assert of_bounds(plan, theirs) == {each.place: bounds[each.place] for each in fields}


@pytest.mark.parametrize("form", [Format.PARQUET, Format.JSONL])
def test_a_member_in_other_capitals_is_refused(form: Format, judge_files: Callable[..., Judged]) -> None:
    """An undeclared member beside a declared one, in a record and in those of a list; members of two records are not alike."""
    rows = [{"a": {"x": 1, "X": 2, "b": {"x": 3}}, "l": [{"y": 4, "Y": 5}], "B": 6}]
    whole = {"logicalType": "integer"}
    inner = {"name": "b", "logicalType": "object", "properties": [{"name": "x"} | whole]}
    properties = [
        {"name": "a", "logicalType": "object", "properties": [{"name": "x"} | whole, inner]},
        {
            "name": "l",
            "logicalType": "array",
            "items": {"logicalType": "object", "properties": [{"name": "y"} | whole]},
        },
        {"name": "B"} | whole,
    ]
    file = as_jsonl(rows) if form is Format.JSONL else written(pa.Table.from_pylist(rows), Storage(form))
    judged = judge_files(plan_of_properties(properties, form), file)

    assert [f"{each.id}: {each.message}" for each in judged.judgement.reasons] == [
        (
            "file/column-case: names differ in capitals only: a.x and a.X, l[].y and l[].Y; "
            "Spark, Athena and others take them for one: rename one"
        )
    ]


@pytest.mark.parametrize("form", [Format.CSV, *FORMATS])
def test_a_stored_plan_of_before_is_read(form: Format, judge_files: Callable[..., Judged]) -> None:
    """There the path of a column is its plain name: files have the columns, and rules are measured on them."""
    fields = (PlanField("a.b", "c0", LogicalType.INTEGER), PlanField("No.", "c1", LogicalType.STRING))
    plan = plan_of({"x": "integer", "y": "string"}, rule("required", "y"))
    renamed = json.dumps(plan.to_json()).replace('"x"', '"a.b"').replace('"y"', '"No."')
    before = replace(Plan.from_bytes(renamed.encode()), storage=Storage(form))
    assert before.fields == fields

    rows = pa.table({"a.b": [1, 2], "No.": ["n", None], "a": [3, 4]})
    judged = judge_files(before, written(rows, Storage(form)))

    own = {name: status for name, status in judged.statuses().items() if not name.startswith("file/")}
    assert own == {"type-0/x": Status.PASS, "type-1/y": Status.PASS, "required/y": Status.FAIL}
    assert judged.result.columns is not None
    assert (judged.result.columns.absent, judged.result.columns.extra) == ((), ("a",))


def test_other_spellings_of_a_column_are_told_by_its_name(judge_files: Callable[..., Judged]) -> None:
    """What is compared with a header, and words for null of one column, are plain names."""
    plan = plan_of_properties(
        [{"name": "a.b", "logicalType": "integer"}, {"name": "c", "logicalType": "string"}], Format.CSV
    )
    plan = replace(plan, csv=Csv(null_values_by_column=(NullWords("a.b", ("-",)),)))

    assert judge_files(plan, b"a.b,c\n1,x\n-,y\n").reasons == ""
    assert judge_files(plan, b"A_B,x\n1,x\n").reasons == (
        "file/readable: the header has another spelling: 'A_B' should be a.b"
    )
