"""P15: values of the data reach no log, no result, no report: canaries planted in every column, for rules of every kind."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from subprocess import run
from typing import TYPE_CHECKING

import pytest

from contracts.check import NONE, Check, Metric, Tier, Unit
from contracts.model import OnReject, Policy
from contracts.predicate import Matches
from contracts.result import Result
from contracts.verdict import Verdict, judge
from tests.deliveries.side_by_side import side_by_side
from tests.reference.cases import good_cases
from tests.spark.test_validate import ROOT, environment, job, staged

if TYPE_CHECKING:
    from pathlib import Path

    from contracts.plan import Plan
    from tests.reference.cases import Case

__all__ = ["environment"]
pytestmark = pytest.mark.spark
CANARY = "CANARY7311"
SHOWN = "CANARYshown"
"""What the one public field holds."""


def one_of_each() -> list[Case]:
    """One case of each kind of rule and of each expectation."""
    found = {}
    for case in good_cases():
        rule = case.contract.datasets[0].rules[0]
        found[rule.kind, rule.arguments.get("call")] = case
    return list(found.values())


@pytest.fixture
def talkative(environment: dict[str, str], tmp_path: Path) -> tuple[dict[str, str], Path]:
    """An environment in which Spark logs all that it does to a file."""
    log, settings = tmp_path / "talk.log", tmp_path / "log4j2.properties"
    quiet = ROOT / "infra" / "local" / "log4j2.properties"
    settings.write_text(quiet.read_text().replace("rootLogger.level = warn", "rootLogger.level = info"))
    arguments = environment["PYSPARK_SUBMIT_ARGS"].replace(quiet.as_uri(), settings.as_uri())
    arguments = re.sub(r"-Dlakegate\.log=[^ ']*", f"-Dlakegate.log={log.as_posix()}", arguments)
    return environment | {"PYSPARK_SUBMIT_ARGS": arguments}, log


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


def test_no_rule_of_any_kind_lets_a_value_out(tmp_path: Path, talkative: tuple[dict[str, str], Path]) -> None:
    """The job as a process, its log whole: no canary of any column but the public one's, in log, result or reasons."""
    plan, content = planted()
    noisy, log = talkative

    answer = job(noisy, "--request", staged(tmp_path, plan, content))

    text = (tmp_path / "out" / "result.json").read_text()
    result = Result.from_json(json.loads(text))
    judgement = judge(plan, result)
    assert answer.returncode == 0
    logged = log.read_text()
    assert " INFO " in logged
    assert CANARY not in answer.stdout + answer.stderr + logged + text
    assert CANARY not in repr(judgement)
    assert judgement.verdict is Verdict.UNDECIDED
    assert sum(bool(each.samples) for each in result.measurements) > 10
    assert {SHOWN} == {
        shape for each in result.measurements if each.check == "x" for it in each.samples for shape in it.shapes
    }
    assert SHOWN not in answer.stderr + logged


def test_a_file_without_its_header_tells_no_value(tmp_path: Path, environment: dict[str, str]) -> None:
    """Where the first line is data, its values are not taken for names that may be told."""
    plan, content = planted()

    answer = job(environment, "--request", staged(tmp_path, plan, content.partition(b"\n")[2]))

    text = (tmp_path / "out" / "result.json").read_text()
    assert answer.returncode == 0
    assert "CANARY" not in answer.stdout + answer.stderr + text
    assert judge(plan, Result.from_json(json.loads(text))).verdict is Verdict.REJECTED


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
    environment: dict[str, str],
) -> None:
    """`lakegate check` on canaries, in a file that is named by one: nothing on either stream names them."""
    (tmp_path / "canaries.yaml").write_text(CONTRACT)
    data = tmp_path / f"{CANARY}.csv"
    row = ",".join([CANARY] * 5)
    data.write_text(f'id,name,born,seen,open\n{row}\n{row}\n"{CANARY}"x,{row}\n')
    command = [sys.executable, "-m", "cli.main", "check", *options, "--contract", str(tmp_path / "canaries.yaml")]

    answer = run([*command, str(data)], env=environment, capture_output=True, check=False, text=True)  # noqa: S603 - our own command

    assert answer.returncode == 1
    assert CANARY not in answer.stdout + answer.stderr
    assert "aaaaaa9999" in answer.stdout


def test_an_exception_of_spark_tells_no_value(tmp_path: Path, talkative: tuple[dict[str, str], Path]) -> None:
    """A job that Spark cannot finish (its rows cannot be written) says so without a value, in its log and its last words."""
    plan, content = planted()
    noisy, log = talkative
    plan = replace(plan, policy=Policy(on_reject=OnReject.ROWS))
    nowhere = f"{tmp_path.as_uri()}/staging/part-00000/out"

    answer = job(noisy, "--request", staged(tmp_path, plan, content, output_uri=nowhere))

    assert answer.returncode != 0
    assert "Exception" in answer.stderr
    assert CANARY not in answer.stdout + answer.stderr + log.read_text()
