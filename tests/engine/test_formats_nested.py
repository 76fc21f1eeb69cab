"""Parts of records, lists and maps in every format that has them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pytest

from lakegate.contract.delivery_policy import FieldTreatment, Policy
from lakegate.contract.file_formats import Compression, Format, Storage
from lakegate.lints.linter import read
from lakegate.plan.result import Columns
from lakegate.verdict.check_status import Status
from lakegate.verdict.verdict import Verdict, judge
from tests.deliveries.delivery import Judged, plan_of, rule
from tests.deliveries.side_by_side import compared
from tests.deliveries.written import STORAGES, as_parquet, written
from tests.engine.formats import KINDS, OF_PARTS, ROWS, nested_plan, stored
from tests.reference.cases import Case, cases_of_parts, only_plan
from tests.reference.evaluator import measure

NESTING = [each for each in STORAGES if each.format is not Format.CSV and each.compression is Compression.NONE]


@pytest.mark.parametrize("storage", NESTING, ids=lambda storage: storage.suffix)
def test_parts_of_values_are_measured_where_they_stand(storage: Storage, judge_files: Callable[..., Judged]) -> None:
    """Parts of records by rows, parts of lists by elements; the reason names row and place."""
    judged = judge_files(nested_plan(storage), written(pa.Table.from_pylist(ROWS, KINDS), storage))
    found = {
        each.check: (each.accept.of, each.accept.failing, each.samples[0].at if each.samples else "")
        for each in judged.result.measurements
        if each.accept
    }

    assert {name: found[name] for name in OF_PARTS} == OF_PARTS
    assert {number for name, (_, number, _) in found.items() if name not in OF_PARTS} == {0}
    assert (judged.result.rows, judged.result.rejected_rows) == (4, 3)
    assert "items[].sku: wanted matching ^[a-z]+$; measured 1 of 4 elements fails (25 %)" in judged.reasons
    assert Status.ERROR not in judged.statuses().values()


TWICE = """\
dataContractSpecification: 1.2.1
id: parts
info: {title: Parts, version: 1.0.0}
models:
  m:
    fields:
      id: {type: long}
      items: {type: array, items: {type: record, fields: {sku: {type: string, unique: true}}}}
"""


@pytest.mark.parametrize("storage", NESTING, ids=lambda storage: storage.suffix)
def test_elements_that_share_a_key_are_sampled_by_their_places(
    storage: Storage, judge_files: Callable[..., Judged]
) -> None:
    """A key twice in one record is two elements of it; each sample names record and place, those of one key together."""
    kinds = pa.schema({"id": pa.int64(), "items": pa.list_(pa.struct({"sku": pa.string()}))})
    rows = [{"id": 1, "items": [{"sku": "b"}, {"sku": "a"}]}, {"id": 2, "items": [{"sku": "a"}, {"sku": "a"}]}]

    judged = judge_files(nested_plan(storage, TWICE), written(pa.Table.from_pylist(rows, kinds), storage))
    found = next(each for each in judged.result.measurements if "unique" in each.check)

    assert found.accept is not None
    assert (found.accept.of, found.accept.failing) == (4, 3)
    assert [(each.row, each.at) for each in found.samples] == [(1, "items[1]"), (2, "items[0]"), (2, "items[1]")]


def test_what_a_file_lacks_of_a_part_is_absent(judge_files: Callable[..., Judged]) -> None:
    """A record without a declared member, and a list that is none, fail the rules that need them; extra members are noted."""
    table = pa.table({"id": [1], "address": [{"no": 1, "zip": "x"}], "items": ["none"], "codes": [[1]]})
    judged = judge_files(nested_plan(Storage(Format.PARQUET)), as_parquet(table))
    columns = judged.result.columns
    assert columns is not None
    statuses = judged.statuses()

    assert columns.absent == ("address.street",)
    assert columns.extra == ("address.zip",)
    assert [(each.field, each.physical) for each in columns.foreign] == [("address.no", "int64")] * 0 + [
        ("items", "string")
    ]
    assert statuses["address.street:required:1/address.street"] is Status.FAIL
    assert statuses["items:nested:1/items"] is Status.FAIL
    assert "the file has it as string" in judged.reasons


# --- columns, types and values


@pytest.mark.parametrize(
    "storage", [Storage(Format.PARQUET), Storage(Format.ORC), Storage(Format.AVRO)], ids=lambda it: it.suffix
)
def test_columns_are_bound_by_name(storage: Storage, judge_files: Callable[..., Judged]) -> None:
    """Extra and absent columns are what they are in CSV; their order is of no account."""
    fields = {"id": "integer", "name": "string", "lost": "string"}
    plan = stored(
        plan_of(fields, rule("required", "lost"), policy=Policy(additional_fields=FieldTreatment.FORBID)), storage
    )
    table = pa.table({"name": ["a"], "more": [1], "id": [1]})

    judged = judge_files(plan, written(table, storage))

    assert judged.result.columns == Columns(("name", "more", "id"), absent=("lost",), extra=("more",))
    assert {"file/additional-columns", "required/lost"} <= set(judged.statuses())


@pytest.mark.parametrize(
    ("storage", "verdict"),
    [
        *((Storage(each), Verdict.REJECTED) for each in (Format.CSV, Format.PARQUET, Format.ORC, Format.AVRO)),
        *((Storage(each), Verdict.ACCEPTED_WITH_WARNINGS) for each in (Format.JSON, Format.JSONL)),
    ],
    ids=lambda it: it.format.value if isinstance(it, Storage) else "",
)
def test_a_file_without_a_column_is_refused_where_the_contract_forbids_it(
    storage: Storage, verdict: Verdict, judge_files: Callable[..., Judged]
) -> None:
    """No rule requires the column; in JSON its absent key is a null."""
    policy = Policy(missing_fields=FieldTreatment.FORBID)
    strict = stored(plan_of({"id": "integer", "lost": "string"}, policy=policy), storage)
    body = written(pa.table({"id": [1, 2]}), storage)

    assert judge_files(strict, body).verdict is verdict
    allowed = replace(strict, policy=Policy(missing_fields=FieldTreatment.ALLOW))
    assert judge_files(allowed, body).verdict is Verdict.ACCEPTED


def test_keys_that_nobody_declared_are_noted_in_json(judge_files: Callable[..., Judged]) -> None:
    """By name where they look like names; keys that are data are masked."""
    plan = stored(
        plan_of({"id": "integer"}, policy=Policy(additional_fields=FieldTreatment.WARN)), Storage(Format.JSONL)
    )
    judged = judge_files(plan, b'{"id": 1, "more": 2}\n{"id": 2, "ana@example.com": 1}\n')

    assert judged.verdict is Verdict.ACCEPTED_WITH_WARNINGS
    assert judged.result.columns == Columns(("id", "more"), extra=("aaa@aaaaaaa.aaa", "more"))


WHOLE = """\
apiVersion: v3.1.0
kind: DataContract
id: whole
name: Whole
version: 1.0.0
status: active
schema:
- name: m
  customProperties: [{property: lakegate, value: {format: FORMAT}}]
  properties:
  - {name: id, logicalType: integer}
  - name: tags
    logicalType: array
    logicalTypeOptions: {minItems: 2, maxItems: 3, uniqueItems: true}
    items: {logicalType: string}
  - name: box
    logicalType: object
    logicalTypeOptions: {minProperties: 1, maxProperties: 2, required: [x]}
    properties:
    - {name: x, logicalType: integer}
    - {name: y, logicalType: string}
    - name: grid
      logicalType: array
      logicalTypeOptions: {minItems: 2, uniqueItems: true}
      items: {logicalType: array, logicalTypeOptions: {uniqueItems: true, maxItems: 2}, items: {logicalType: number}}
  - name: lines
    logicalType: array
    logicalTypeOptions: {uniqueItems: true}
    items:
      logicalType: object
      logicalTypeOptions: {minProperties: 2}
      properties: [{name: a, logicalType: integer}, {name: b, logicalType: string}]
"""
WHOLE_KINDS = pa.schema(
    {
        "id": pa.int64(),
        "tags": pa.list_(pa.string()),
        "box": pa.struct({"x": pa.int64(), "y": pa.string(), "grid": pa.list_(pa.list_(pa.float64()))}),
        "lines": pa.list_(pa.struct({"a": pa.int64(), "b": pa.string()})),
    }
)
LINE = {"a": 1, "b": "x"}
WHOLE_ROWS = [
    {"id": 1, "tags": ["a", "b"], "box": {"x": 1, "y": "y", "grid": None}, "lines": [LINE, {"a": 2, "b": "x"}]},
    {"id": 2, "tags": ["a"], "box": {"x": None, "y": "y", "grid": [[1.0, 2.0]]}, "lines": [LINE, LINE]},
    {"id": 3, "tags": ["a", "a", "b", "c"], "box": {"x": 1, "y": "y", "grid": [[0.5], [0.5]]}, "lines": []},
    {"id": 4, "tags": [None, None], "box": {"x": 1, "y": None, "grid": [[1.0, 1.0], [1.0, 2.0, 3.0]]}, "lines": None},
    {"id": 5, "tags": [], "box": {"x": None, "y": None, "grid": None}, "lines": [{"a": None, "b": "x"}]},
    {"id": 6, "tags": None, "box": None, "lines": None},
]
OF_WHOLE = {
    "tags:minItems:1/tags": (6, 2),
    "tags:maxItems:1/tags": (6, 1),
    "tags:uniqueItems:1/tags": (6, 2),
    "box:minProperties:1/box": (6, 1),
    "box:maxProperties:1/box": (6, 1),
    "box:requiredMember:1/box": (6, 2),
    "box.grid:minItems:1/box.grid": (6, 1),
    "box.grid:uniqueItems:1/box.grid": (6, 1),
    "box.grid[]:uniqueItems:1/box.grid[]": (5, 1),
    "box.grid[]:maxItems:1/box.grid[]": (5, 1),
    "lines:uniqueItems:1/lines": (6, 1),
    "lines[]:minProperties:1/lines[]": (5, 1),
}
"""Of how many rows or elements, and how many of them fail."""


@pytest.mark.parametrize("storage", NESTING, ids=lambda storage: storage.suffix)
def test_whole_lists_and_objects_are_measured_at_every_level(
    storage: Storage, judge_files: Callable[..., Judged]
) -> None:
    """How many parts there are, whether two are equal, and which must be there, in every format that has parts."""
    plan = only_plan(read(WHOLE.replace("FORMAT", storage.format.value).encode()))

    judged = judge_files(plan, written(pa.Table.from_pylist(WHOLE_ROWS, WHOLE_KINDS), storage))
    found = {each.check: (each.accept.of, each.accept.failing) for each in judged.result.measurements if each.accept}

    assert {name: found[name] for name in OF_WHOLE} == OF_WHOLE
    assert {number for name, (_, number) in found.items() if name not in OF_WHOLE} == {0}
    assert Status.ERROR not in judged.statuses().values()


@pytest.mark.parametrize("case", cases_of_parts(), ids=lambda case: case.id)
def test_rules_of_parts_are_measured_as_by_the_reference(case: Case, judge_files: Callable[..., Judged]) -> None:
    """The numbers and the statuses of the case files, in JSON lines."""
    lines = "".join(f'{{"a": {row[0] or "null"}}}\n' for row in case.rows)
    wanted = judge(case.plan, measure(case.plan, case.header, case.rows))

    judged = judge_files(case.plan, lines.encode())

    if case.rows:
        assert compared({case.id: judged.result}) == compared({case.id: measure(case.plan, case.header, case.rows)})
        statuses = judged.statuses()
        assert {each.id: statuses[each.id] for each in wanted.outcomes if each.kind != "file"} == {
            each.id: each.status for each in wanted.outcomes if each.kind != "file"
        }
