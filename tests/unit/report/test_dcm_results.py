"""Results of checks in DCM's representation: id and column name one of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lakegate.library.api import check
from lakegate.lints.linter import read
from lakegate.report.dcm_results import metric_of, results_of
from lakegate.rules.compile_plan import compile_plan
from lakegate.verdict.verdict import judge
from tests.deliveries.delivery import measure_natively, request_for

DOCUMENT = """\
specVersion: 0.1.3
id: x-p-1.0.0
name: x
kind: DataContract
version: 1.0.0
producer: {{name: p, group: g}}
access: {{eventType: push, protocol: HTTP, location: /, accessConfiguration: {{}}}}
dataset: {{name: d, schema: [{columns}]}}
quality: [{rules}]
"""


def results(folder: Path, columns: str, rules: str, rows: str) -> dict[tuple[str, str | None], dict[str, Any]]:
    """The results of a contract and a CSV file, by id and column."""
    contract, data = folder / "contract.yaml", folder / "data.csv"
    contract.write_text(DOCUMENT.format(columns=columns, rules=rules))
    data.write_text(rows)
    found = list(results_of(check(contract, data)._report))  # noqa: SLF001 - what `results_of` takes
    assert set(Counter((each["id"], each["column"]) for each in found).values()) == {1}
    return {(each["id"], each["column"]): each for each in found}


def test_id_and_column_name_one_result(tmp_path: Path) -> None:
    """A primary key has two checks of its column: that it is there, and that it is unique."""
    columns = "{name: k, dataType: int, constraint: PRIMARY_KEY}, {name: n, dataType: number, constraint: UNIQUE}"
    rules = "{id: few, name: few, type: size, parameter: 2}, {id: all, name: all, type: complete, columns: [k, n], parameter: 1}"
    found = results(tmp_path, columns, rules, "k,n\n1,1\n1,2\n")

    assert found["k:primaryKey:1:required", "k"]["success"] == "pass"
    assert found["k:primaryKey:1", "k"]["success"] == "fail"
    assert {("n:unique:1", "n"), ("few", None), ("all", "k"), ("all", "n")} <= set(found)


COLUMNS = "{name: fare, dataType: number}, {name: kind, dataType: int}, {name: state, dataType: text}"
RULES = """{id: low, name: low, type: min, columns: [fare], parameter: 0},
{id: high, name: high, type: max, columns: [fare], parameter: 100},
{id: kinds, name: kinds, type: allowedValues, columns: [kind], parameter: [1, 2, 3, 4]},
{id: states, name: states, type: allowedValues, columns: [state], parameter: [SP, RJ, MG]},
{id: mean, name: mean, type: mean, columns: [fare], parameter: 0},
{id: rows, name: rows, type: size, parameter: 4}, {id: full, name: full, type: complete, columns: [fare], parameter: 0.5}"""
DATA = "fare,kind,state\n-52,1,SP\n3.5,4,SP\n,9,XX\n7,1,RJ\n"


def test_the_metric_is_what_was_observed(tmp_path: Path) -> None:
    """As the thesis has it: -52 for a minimum, the values for a list; the number of failing rows stands beside it."""
    rules = RULES.replace("type: mean, columns: [fare], parameter: 0", "type: mean, columns: [fare], parameter: 1")
    found = results(tmp_path, COLUMNS, rules, DATA)
    seen = {name: (each["metric"], each["unit"], each["failingRows"]) for (name, _), each in found.items()}

    assert seen["low"] == (-52, "value", 1)
    assert seen["high"] == (7, "value", 0)
    assert seen["kinds"] == ([1, 4], "values", 1)
    assert seen["states"] == (["SP", "RJ"], "values", 1)
    assert seen["mean"] == (pytest.approx(-13.8333333), "value", None)
    assert seen["rows"] == (4, "rows", None)
    assert seen["full"] == (0.75, "share", 1)


@pytest.mark.parametrize(("classification", "values"), [(None, ["A"]), ("public", ["A", "Z"])])
def test_a_masked_value_is_none_of_the_metric(tmp_path: Path, classification: str | None, values: list[str]) -> None:
    """The shape of Z is `A`, which would look like a value that is allowed; the number of failing rows says that one is not."""
    columns = "{name: v, dataType: string}"
    rules = "{id: list, name: l, type: allowedValues, columns: [v], parameter: [A, B]}"
    loaded = read(DOCUMENT.format(columns=columns, rules=rules).encode())
    plan = compile_plan(loaded, loaded.datasets[0])
    plan = replace(plan, fields=tuple(replace(each, classification=classification) for each in plan.fields))
    result = measure_natively(request_for(plan, tmp_path, b"v\nA\nZ\nA\n"), plan)
    judgement = judge(plan, result)
    (check,) = (each for each in plan.checks if each.kind == "allowedValues")
    outcome = next(each for each in judgement.outcomes if each.id == check.id)

    assert (metric_of(plan, check, outcome, None), outcome.failing_rows) == ((values, "values"), 1)


def test_nothing_is_observed_of_no_values_and_of_a_long_list(tmp_path: Path) -> None:
    """Then the metric is the number of failing rows, as for other rules."""
    many = ", ".join(map(str, range(100)))
    rules = RULES.replace("[1, 2, 3, 4]", f"[{many}]")
    found = results(tmp_path, COLUMNS, rules, "fare,kind,state\n,1,\n,200,\n")

    assert (found["low", "fare"]["metric"], found["low", "fare"]["unit"]) == (0, "rows")
    assert (found["kinds", "kind"]["metric"], found["kinds", "kind"]["unit"]) == (1, "rows")


@pytest.mark.parametrize(("classification", "is_seen"), [(None, True), ("public", True), ("confidential", False)])
def test_values_of_classified_fields_are_not_observed(
    tmp_path: Path, classification: str | None, *, is_seen: bool
) -> None:
    """Neither in the result of the engine nor in what is made of it."""
    contract, data = tmp_path / "contract.yaml", tmp_path / "data.csv"
    contract.write_text(DOCUMENT.format(columns=COLUMNS, rules=RULES))
    data.write_bytes(DATA.encode())
    loaded = read(contract.read_bytes())
    plan = compile_plan(loaded, loaded.datasets[0])
    plan = replace(plan, fields=tuple(replace(each, classification=classification) for each in plan.fields))
    result = measure_natively(request_for(plan, tmp_path, DATA.encode()), plan)

    assert {bool(each.observed) for each in result.measurements if each.check.startswith(("low", "kinds"))} == {is_seen}
