"""Values that do not fit the type that their file gives them: there, and none of it; never another one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pytest

from lakegate.contract.file_formats import Format, Storage
from tests.deliveries.delivery import Judged, plan_of, rule
from tests.deliveries.written import as_parquet
from tests.engine.formats import failing, nested_plan
from tests.engine.unfit import FAR, UNFIT, far


@pytest.mark.parametrize("name", UNFIT)
def test_a_value_that_does_not_fit_its_type_is_none_of_it(name: str, judge_files: Callable[..., Judged]) -> None:
    """It fails the type check alone; it is present, and the others of its column are judged."""
    case = UNFIT[name]
    plan = replace(plan_of({"x": case.declared}, rule("required", "x")), storage=Storage(case.form))
    judged = judge_files(plan, case.content)

    assert judged.result.unreadable is None
    assert failing(judged) == {"type-0/x": case.failing, "required/x": 0}
    assert [each.form and each.form.code for each in judged.result.measurements] == ["beyond-type", None]


NESTED = """\
apiVersion: v3.1.0
kind: DataContract
id: inner
name: Inner
version: 1.0.0
status: active
schema:
- name: m
  customProperties: [{property: lakegate, value: {format: FORMAT}}]
  properties:
  - {name: id, logicalType: integer}
  - name: list
    logicalType: array
    logicalTypeOptions: {uniqueItems: true}
    items: {logicalType: timestamp}
  - name: box
    logicalType: object
    properties:
    - {name: at, logicalType: timestamp}
  - name: boxes
    logicalType: array
    logicalTypeOptions: {uniqueItems: true}
    items:
      logicalType: object
      properties:
      - {name: at, logicalType: timestamp}
"""
MOMENTS = far("ms", 0, FAR, 1000, -FAR, 2000, FAR)
TABLE = pa.table(
    {
        "id": [1, 2],
        "list": pa.ListArray.from_arrays([0, 2, 2], MOMENTS.slice(0, 2)),
        "box": pa.StructArray.from_arrays([MOMENTS.slice(2, 2)], ["at"]),
        "boxes": pa.ListArray.from_arrays([0, 1, 2], pa.StructArray.from_arrays([MOMENTS.slice(4, 2)], ["at"])),
    }
)
"""Moments within parts: three of them do not fit."""


def test_parts_that_do_not_fit_their_type_are_none_of_it(judge_files: Callable[..., Judged]) -> None:
    """In lists, in records, and in records in lists; whether elements are equal is told all the same."""
    plan = nested_plan(Storage(Format.PARQUET), NESTED.replace("FORMAT", "parquet"))
    judged = judge_files(plan, as_parquet(TABLE))
    found = {check: count for check, count in failing(judged).items() if count}

    assert found == {"list[]:type:1/list[]": 1, "box.at:type:1/box.at": 1, "boxes[].at:type:1/boxes[].at": 1}
