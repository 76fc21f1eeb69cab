"""P15: values of the data reach no result and no report: canaries in every column, for rules of every kind."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from lakegate.cli.main import main
from lakegate.contract.delivery_policy import Policy
from lakegate.lints.linter import read
from lakegate.plan.check import NONE, Check, Tier, Unit
from lakegate.plan.metrics import Metric
from lakegate.plan.plan import Plan
from lakegate.plan.predicates import Matches
from lakegate.plan.result import Result
from lakegate.rules.compile_plan import compile_plan
from lakegate.verdict.verdict import Verdict
from tests.deliveries.delivery import Judged
from tests.deliveries.side_by_side import side_by_side
from tests.reference.cases import Case, good_cases

CANARY = "CANARY7311"
SHOWN = "CANARYshown"
"""The value of the only public field."""


def one_of_each() -> list[Case]:
    """One case of each kind of rule and of each expectation."""
    found = {}
    for case in good_cases():
        rule = case.contract.datasets[0].rules[0]
        found[rule.kind, rule.arguments.get("call")] = case
    return list(found.values())


def planted() -> tuple[Plan, bytes]:
    """A rule of every kind, a call of every expectation and a broken rule, over columns that hold nothing but canaries."""
    plan = side_by_side(list(enumerate(one_of_each())))
    public = replace(plan.fields[0], name="shown", alias=f"c{len(plan.fields)}", classification=" Public ")
    confidential = [
        replace(each, classification=("confidential", None, "publicity")[at % 3]) for at, each in enumerate(plan.fields)
    ]
    failing = Check("x", "x", "x", ("shown",), Metric.FAILING_ROWS, Unit.ROWS, Tier(NONE, Matches("shown", r"\A\z")))
    broken = replace(failing, id="y", accept=Tier(NONE, Matches("shown", "(")))
    names = [each.name for each in plan.fields]
    header = ",".join(f'"{each}"' for each in (*names, "shown", "more"))
    row = ",".join([*(f"{CANARY}é{at}" for at in range(len(names))), SHOWN, CANARY])
    odd = ",".join([*(f'"{CANARY}""{at}"' for at in range(len(names))), SHOWN, CANARY])
    broken_rows = [f'"{CANARY}"x,{row}', f"{CANARY},too,few", f"{CANARY}\x00,{row}", f'"{CANARY}']
    return (
        replace(
            plan,
            fields=(*confidential, public),
            checks=(*plan.checks, failing, broken),
            policy=Policy(),
        ),
        "\n".join([header, row, row, odd, odd, *broken_rows]).encode() + b"\n" + CANARY.encode() + b"\xff\n",
    )


def shapes(result: Result, check: str) -> set[str]:
    """The samples of a check."""
    return {shape for each in result.measurements if each.check == check for it in each.samples for shape in it.shapes}


def test_no_rule_of_any_kind_lets_a_value_out(judge_files: Callable[..., Judged]) -> None:
    """No canary of any column but the public one's, in result or reasons."""
    judged = judge_files(*planted())

    assert CANARY not in json.dumps(judged.result.to_json()) + repr(judged.judgement)
    assert judged.verdict is Verdict.UNDECIDED
    assert sum(bool(each.samples) for each in judged.result.measurements) > 10
    assert shapes(judged.result, "x") == {SHOWN}


def test_a_file_without_its_header_tells_no_value(judge_files: Callable[..., Judged]) -> None:
    """Where the first line is data, its values are not shown as if they were names."""
    plan, content = planted()

    judged = judge_files(plan, content.partition(b"\n")[2])

    assert "CANARY" not in json.dumps(judged.result.to_json()) + repr(judged.judgement)
    assert judged.verdict is Verdict.REJECTED


CONTRACT = """\
apiVersion: v3.1.0
kind: DataContract
id: canaries
version: 1.0.0
status: active
schema:
  - name: people
    properties:
      - {name: id, logicalType: integer, unique: true, required: true}
      - {name: name, logicalType: string, logicalTypeOptions: {pattern: "^(a|bc)*$", maxLength: 3}, classification: confidential}
      - {name: born, logicalType: date}
      - {name: seen, logicalType: timestamp}
      - {name: open, logicalType: boolean}
"""


@pytest.mark.parametrize("options", [("--json",), ()], ids=["for machines", "for people"])
def test_no_report_shows_a_value(
    options: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """`lakegate check` on a file of canaries: nothing on either stream shows one."""
    (tmp_path / "canaries.yaml").write_text(CONTRACT)
    data = tmp_path / "people.csv"
    row = ",".join([CANARY] * 5)
    data.write_text(f'id,name,born,seen,open\n{row}\n{row}\n"{CANARY}"x,{row}\n')
    words = ["check", *options, "--contract", str(tmp_path / "canaries.yaml"), str(data)]
    monkeypatch.setattr(sys, "argv", ["lakegate", *words])

    with pytest.raises(SystemExit) as ended:
        main()

    answers, messages = capfd.readouterr()
    assert ended.value.code == 1
    assert CANARY not in answers + messages
    assert "AAAAAA9999" in answers


SALARIES = """\
apiVersion: v3.1.0
kind: DataContract
id: salaries
version: 1.0.0
status: active
schema:
  - name: people
    properties:
      - {name: name, logicalType: string}
      - {name: salary, logicalType: integer, classification: restricted}
      - {name: since, logicalType: timestamp, classification: confidential}
      - {name: age, logicalType: integer, classification: public}
    quality:
      - {id: best, type: sql, query: SELECT max(salary) FROM people, mustBeLessThan: 9000000, severity: error}
      - {id: worst, type: sql, query: SELECT min(salary) - 1 FROM people WHERE name = 'x', mustBeGreaterThan: 9000000}
      - {id: both, type: sql, query: "WITH a AS (SELECT salary AS s FROM people) SELECT sum(s) FROM a", mustBeBetween: [1, 2]}
      - {id: counted, type: sql, query: SELECT COUNT(*) FROM people WHERE salary < 9000000, mustBe: 0}
      - {id: open, type: sql, query: SELECT max(age) FROM people, mustBe: 31}
      - id: mean
        type: custom
        engine: greatExpectations
        implementation: {type: expect_column_mean_to_be_between, kwargs: {column: salary, max_value: 5}}
      - {id: middle, type: custom, engine: soda, implementation: "percentile(salary, 0.5) < 1"}
slaProperties: [{property: freshness, value: 1, unit: d, element: people.since}]
"""


@pytest.mark.parametrize(
    "options",
    [("--json",), (), ("--all",), ("--report", "page.html"), ("--format", "github"), ("--format", "junit")],
    ids=str,
)
def test_no_number_shows_a_value_of_a_classified_field(
    options: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Of answers of SQL, means, percentiles and ages of classified fields, only whether the bound holds. Counts are shown."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.yaml").write_text(SALARIES)
    (tmp_path / "d.csv").write_text("name,salary,since,age\nx,7311731,2019-03-04T05:06:07Z,31\n")
    monkeypatch.setattr(sys, "argv", ["lakegate", "check", *options, "--contract", "c.yaml", "d.csv"])
    with pytest.raises(SystemExit):
        main()
    shown = "".join(capfd.readouterr()) + "".join(each.read_text() for each in tmp_path.glob("*.html"))

    assert not re.search(r"7.?311.?73|1551.?676|2019|\d days", shown.replace("9000000", ""))
    assert "may be a classified value" in " ".join(shown.split())


def test_a_result_holds_no_number_of_a_classified_field(judge_files: Callable[..., Judged]) -> None:
    """The result of an attempt, of which all outputs and the ledger are made, has a number that depends on the bounds alone."""
    contract = read(SALARIES.encode())
    plan = compile_plan(contract, contract.datasets[0])
    results = [
        judge_files(plan, f"name,salary,since,age\nx,{salary},2019-03-0{day}T05:06:07Z,31\n".encode())
        for salary, day in ((7311731, 1), (7318888, 9))
    ]
    measurements = [json.dumps(each.result.to_json()["measurements"]) for each in results]

    assert measurements[0] == measurements[1]
    assert "7311" not in measurements[0]
    assert {each.id.split("/")[0]: each.status.value for each in results[0].judgement.outcomes if each.numbers} | {
        "best": "pass",
        "worst": "fail",
        "both": "fail",
        "counted": "fail",
        "open": "pass",
        "mean": "fail",
        "middle": "fail",
    } == {each.id.split("/")[0]: each.status.value for each in results[0].judgement.outcomes if each.numbers}
