"""P15: values of the data reach no log, no result, no report: canaries planted in every column, for rules of every kind."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from lakegate.contract.delivery_policy import OnReject, Policy
from lakegate.plan.result import Result
from lakegate.verdict.verdict import Verdict, judge
from tests.engine.test_canaries import CANARY, SHOWN, planted, shapes
from tests.spark.jobs import ROOT, job, staged

pytestmark = pytest.mark.spark


@pytest.fixture
def talkative(environment: dict[str, str], tmp_path: Path) -> tuple[dict[str, str], Path]:
    """An environment in which Spark logs all that it does to a file."""
    log, settings = tmp_path / "talk.log", tmp_path / "log4j2.properties"
    quiet = ROOT / "lakegate" / "spark" / "log4j2.properties"
    settings.write_text(quiet.read_text().replace("rootLogger.level = warn", "rootLogger.level = info"))
    arguments = environment["PYSPARK_SUBMIT_ARGS"].replace(quiet.as_uri(), settings.as_uri())
    arguments = re.sub(r"-Dlakegate\.log=[^ ']*", f"-Dlakegate.log={log.as_posix()}", arguments)
    return environment | {"PYSPARK_SUBMIT_ARGS": arguments}, log


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
    assert shapes(result, "x") == {SHOWN}
    assert SHOWN not in answer.stderr + logged


def test_an_exception_of_spark_tells_no_value(tmp_path: Path, talkative: tuple[dict[str, str], Path]) -> None:
    """A job that Spark cannot finish (its rows cannot be written) reports it without a value, in its log and its message."""
    plan, content = planted()
    noisy, log = talkative
    plan = replace(plan, policy=Policy(on_reject=OnReject.ROWS))
    nowhere = f"{tmp_path.as_uri()}/staging/part-00000/out"

    answer = job(noisy, "--request", staged(tmp_path, plan, content, output_uri=nowhere))

    assert answer.returncode != 0
    assert "Exception" in answer.stderr
    assert CANARY not in answer.stdout + answer.stderr + log.read_text()
