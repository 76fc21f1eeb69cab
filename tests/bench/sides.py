"""The four programs that do the same work, each run as one cold process tree, and the failing rows that each of them counted.

| side | program |
|---|---|
| native | `lakegate check` |
| spark | `lakegate check --engine spark` |
| by hand | `python -m tests.bench.by_hand`: what an engineer would write in Spark |
| datacontract-cli | `datacontract test`, in the environment `.tools/datacontract` |
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from infra.setup.environments import program
from lakegate.base.extension_points import ROOT
from lakegate.spark.local_spark import java_home
from tests.bench.data import Work
from tests.bench.weather import CHECKS, RULES

NATIVE, SPARK, BY_HAND, PEER = "native", "--engine spark", "by hand", "datacontract-cli"
SIDES = (NATIVE, SPARK, BY_HAND, PEER)
METER = Path(__file__).with_name("meter.py")
LAKEGATE = str(Path(sys.executable).with_name("lakegate"))
ENDS = frozenset({0, 1})
"""Exit codes of a judgement: the data passed, or it did not."""
NOT_COMPARED = {PEER: frozenset({"custom_date_rule/date"})}
"""Checks that a side cannot express: datacontract-cli has a date's shape (a pattern), not the calendar."""
PEER_TYPES = {
    "unique_index_rule": "field_duplicate_values",
    "not_null_indexing_fields_rule": "field_required",
    "not_null_measurements_rule": "field_null_values",
    "not_null_radiation_rule": "field_null_values",
    "gt_zero_measurements_rule": "field_minimum",
    "max_percent_measurements_rule": "field_maximum",
    "max_degrees_measurements_rule": "field_maximum",
    "allowed_states_rule": "field_invalid_values",
    "custom_date_rule": "field_regex",
    "custom_time_rule": "field_regex",
}
"""By rule: what datacontract-cli calls its check of a field."""


@dataclass(frozen=True, slots=True)
class Run:
    """One process tree, as `meter.py` measured it."""

    seconds: float
    cpu: float
    """Processor seconds."""
    peak: int
    """Bytes of memory."""
    failing: Mapping[str, int]
    """Failing rows by check (`rule/field`)."""


def timed(side: str, work: Work) -> Run:
    """Do the work by one side. Raises SystemExit with its standard error where it ends without a judgement."""
    with TemporaryDirectory(prefix="lakegate-bench-") as name:
        answer = Path(name, "answer.json")
        measured, output = metered(_command(side, work, answer), Path(name, "report.json"))
        text = answer.read_text() if side == PEER else output
    return Run(measured["seconds"], measured["cpu"], measured["peak"], COUNTS[side](json.loads(text)))


def metered(command: list[str], report: Path) -> tuple[dict[str, Any], str]:
    """Run a command below the meter: the meter's report, and what the command wrote on standard output.

    Bytecode is cached, as in an installed package, whatever the environment of the bench.

    Raises SystemExit with its standard error if it ends otherwise than with 0 or 1.
    """
    own = {"JAVA_HOME": str(java_home()), "PYSPARK_PYTHON": sys.executable, "PYTHONDONTWRITEBYTECODE": ""}
    environment = os.environ | own
    ended = subprocess.run(  # noqa: S603 - our own programs
        [sys.executable, str(METER), str(report), *command],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    measured = json.loads(report.read_text()) if report.exists() else {"code": "no report"}
    if ended.returncode or measured["code"] not in ENDS:
        raise SystemExit(f"{' '.join(command)} ended with {measured['code']}:\n{ended.stderr}")
    return measured, ended.stdout


def differences(runs: Mapping[str, Iterable[Run]]) -> list[str]:
    """A line for each check of which a run counted other failing rows than the first run by hand; runs by side."""
    wanted = next(iter(runs[BY_HAND])).failing
    return [
        f"{side}: {check}: failing rows: {run.failing.get(check, 'not counted')}, by hand: {wanted.get(check, 'not counted')}"
        for side, own in runs.items()
        for run in own
        for check in CHECKS
        if check not in NOT_COMPARED.get(side, frozenset())
        if run.failing.get(check) is None or run.failing[check] != wanted.get(check)
    ]


def _command(side: str, work: Work, answer: Path) -> list[str]:
    check = [LAKEGATE, "check", "--json", "--contract", str(work.contract), str(work.data)]
    if side == PEER:
        datacontract = str(program("datacontract/datacontract"))
        return [datacontract, "test", str(work.peer_contract), "--output-format", "json", "--output", str(answer)]
    if side == BY_HAND:
        return [sys.executable, "-m", "tests.bench.by_hand", str(work.data)]
    return [*check, "--engine", "spark"] if side == SPARK else check


def _counted_by_lakegate(document: dict[str, Any]) -> dict[str, int]:
    return {each["id"]: each["failing_rows"] for each in document["checks"] if each["id"] in CHECKS}


def _counted_by_peer(document: dict[str, Any]) -> dict[str, int]:
    values = {
        (each["type"], each["field"]): each["diagnostics"]["value"]
        for each in document["checks"]
        if "value" in (each.get("diagnostics") or {})
    }
    found = {
        f"{rule}/{field}": values.get((PEER_TYPES[rule], field)) for rule, fields in RULES.items() for field in fields
    }
    return {check: value for check, value in found.items() if value is not None}


COUNTS: dict[str, Callable[[Any], dict[str, int]]] = {
    NATIVE: _counted_by_lakegate,
    SPARK: _counted_by_lakegate,
    BY_HAND: dict,
    PEER: _counted_by_peer,
}
"""By side: the failing rows in the document that it wrote."""
