from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from lakegate.lints.linter import read
from lakegate.rules.compile_plan import compile_plan
from tests.bench import __main__ as bench
from tests.bench import sides
from tests.bench.data import CONTRACT, Work
from tests.bench.sides import BY_HAND, NATIVE, PEER, SIDES, SPARK, Run, differences
from tests.bench.stack import last_verdict
from tests.bench.table import Row, Target, lines, markdown
from tests.bench.weather import CHECKS, with_checks

SECONDS = {NATIVE: 2.0, SPARK: 20.0, BY_HAND: 16.0, PEER: 10.0}
METER = Path(bench.__file__).with_name("meter.py")
DATE, MISSING = "custom_date_rule/date", "not_null_measurements_rule/temp_c"


def of(failing: Mapping[str, int], seconds: float = 1.0) -> Run:
    return Run(seconds, 2 * seconds, 2**20, dict.fromkeys(CHECKS, 0) | dict(failing))


def test_a_row_has_a_figure_for_each_program_and_the_targets_with_their_outcome() -> None:
    """Targets compare with a number or with another figure of the run, and stay open where a figure is absent."""
    rows = [
        Row(
            "time",
            "part",
            "check",
            "s",
            2,
            (
                Target(NATIVE, "native ≤ 1.0 s", 1.0),
                Target(NATIVE, "native ≤ 1/3 of datacontract-cli", 1 / 3, "time", PEER),
                Target(SPARK, "spark ≤ 2", 2),
            ),
        ),
        Row("ratio", "part", "ratio", "", 1),
    ]
    figures = {"time": {NATIVE: 1.004, BY_HAND: 9.0, PEER: 4.0}, "ratio": {NATIVE: 1.26}}

    assert lines(figures, rows) == [
        "figure  native  --engine spark  hand-written Spark  datacontract-cli  target",
        (
            "check   1.00 s  -               9.00 s              4.00 s            "
            "native ≤ 1.0 s: missed; native ≤ 1/3 of datacontract-cli: met; spark ≤ 2: -"
        ),
        "ratio   1.3     -               -                   -                 -",
    ]
    assert markdown(figures, rows) == [
        "| figure | native | --engine spark | hand-written Spark | datacontract-cli | target |",
        "|---|---|---|---|---|---|",
        (
            "| check | 1.00 s | - | 9.00 s | 4.00 s | "
            "native ≤ 1.0 s: missed; native ≤ 1/3 of datacontract-cli: met; spark ≤ 2: - |"
        ),
        "| ratio | 1.3 | - | - | - | - |",
    ]


def test_failing_rows_that_differ_or_are_absent_are_named() -> None:
    """Each run of each program is compared with the work by hand, but for what a program cannot express."""
    silent = Run(1.0, 1.0, 1, {check: 0 for check in CHECKS if check != MISSING})

    assert differences({BY_HAND: [of({})], NATIVE: [of({})], PEER: [of({DATE: 7})]}) == []
    assert differences({NATIVE: [of({}), of({DATE: 7})], BY_HAND: [of({})], PEER: [silent]}) == [
        f"native: {DATE}: failing rows: 7, by hand: 0",
        f"datacontract-cli: {MISSING}: failing rows: not counted, by hand: 0",
    ]


@pytest.fixture
def order(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[str, str]]:
    """The bench without its programs: each takes a known time; what was run is recorded in order."""
    done: list[tuple[str, str]] = []

    def timed(side: str, work: Work) -> Run:
        done.append((work.name, side))
        return of({}, SECONDS[side] * (2 if work.copies > 1 else 1))

    monkeypatch.setattr("tests.bench.data.CACHE", tmp_path)
    (tmp_path / "weather-clean-1350000-1.csv").write_bytes(b" " * 2**20)
    monkeypatch.setattr(bench, "prepare", lambda _: None)
    monkeypatch.setattr(bench, "install", lambda _: None)
    monkeypatch.setattr(bench, "ROOT", tmp_path)
    monkeypatch.setattr(bench, "timed", timed)
    return done


def test_parts_are_measured_in_turn_and_make_one_table(
    order: list[tuple[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """The faulty file comes first; each program does each work in turn, the requested number of times, once for all parts."""
    assert bench.main(["--only", "checks,large,release", "--runs", "2", "--markdown"]) == 0

    table = capsys.readouterr().out.splitlines()
    assert order == [
        *(("dirty", side) for side in SIDES),
        *(("large", side) for side in SIDES * 2),
        *(("checks", side) for side in (NATIVE, SPARK) * 2),
    ]
    assert table[2:-2] == [
        (
            "| check, 201 MiB, 1.35 M rows | 2.0 s | 20.0 s | 16.0 s | 10.0 s | native ≤ 1/2 of datacontract-cli: met; "
            "native ≤ 6.5 s (1/5 of 32.3 s): met; spark ≤ 1.15 times by hand: missed |"
        ),
        (
            "| the same, CPU seconds per GB | 4096 s/GB | 40960 s/GB | 32768 s/GB | 20480 s/GB | "
            "native ≤ 35: missed; spark ≤ 200: missed |"
        ),
        "| the same, peak memory | 1 MiB | 1 MiB | 1 MiB | 1 MiB | - |",
        "| 460 checks against 46, seconds | 2.00 | 2.00 | - | - | native ≤ 2: met |",
        "| the same, CPU seconds | 2.00 | 2.00 | - | - | - |",
        "| size of the job's release | - | - | - | - | - |",
        "",
    ]
    assert table[-1] == "The job's release has not been made: `make package` makes it."


def test_the_size_of_the_release_is_that_of_its_files(
    order: list[tuple[str, str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The release that is named in `build/release` is measured; no program is needed for it."""
    code = tmp_path / "build/code"
    for name, size in (("new/a", 1_500_000), ("new/b/c", 500_000), ("old/a", 9_000_000)):
        (code / name).parent.mkdir(parents=True, exist_ok=True)
        (code / name).write_bytes(b"0" * size)
    (tmp_path / "build/release").write_text("new")

    assert bench.main(["--only", "release", "--markdown"]) == 0

    assert capsys.readouterr().out.splitlines()[2] == "| size of the job's release | - | 2.0 MB | - | - | - |"
    assert order == []


@pytest.mark.parametrize("wrong", ["dirty", "small"])
def test_no_figure_is_printed_where_programs_disagree(
    order: list[tuple[str, str]], wrong: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The differences are all that is printed, and nothing is measured once the faulty file shows one."""

    def timed(side: str, work: Work) -> Run:
        order.append((work.name, side))
        return of({MISSING: 3} if (side, work.name) == (PEER, wrong) else {})

    monkeypatch.setattr(bench, "timed", timed)

    assert bench.main(["--only", "small", "--runs", "1"]) == 1

    line = f"{wrong}: datacontract-cli: {MISSING}: failing rows: 3, by hand: 0\n"
    assert capsys.readouterr().out == line
    assert (("small", NATIVE) in order) == (wrong == "small")


def test_answers_of_the_programs_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lakegate's checks stand by their ids; those of datacontract-cli are found by their type and field."""
    peer = [
        {"type": "field_required", "field": "date", "diagnostics": {"value": 4}},
        {"type": "field_maximum", "field": "wind_direct_grad", "diagnostics": {"value": 5}},
        {"type": "field_is_present", "field": "date", "diagnostics": {"present": True}},
        {"type": "field_regex", "field": "hour", "diagnostics": None},
    ]
    lakegate = [{"id": DATE, "failing_rows": 2}, {"id": "date:type:1/date", "failing_rows": 9}]
    answers = {NATIVE: {"checks": lakegate}, BY_HAND: {DATE: 2}, PEER: {"checks": peer}}

    def metered(command: list[str], _: Path) -> tuple[dict[str, Any], str]:
        side = PEER if "--output" in command else BY_HAND if "tests.bench.by_hand" in command else NATIVE
        if side == PEER:
            Path(command[command.index("--output") + 1]).write_text(json.dumps(answers[PEER]))
        return {"seconds": 1.0, "cpu": 2.0, "peak": 3}, json.dumps(answers[side])

    monkeypatch.setattr(sides, "metered", metered)
    monkeypatch.setattr(sides, "program", Path)
    found = {side: sides.timed(side, Work("small", 199)) for side in SIDES}

    counted = {NATIVE: {DATE: 2}, SPARK: {DATE: 2}, BY_HAND: {DATE: 2}} | {
        PEER: {"not_null_indexing_fields_rule/date": 4, "max_degrees_measurements_rule/wind_direct_grad": 5}
    }
    assert found == {side: Run(1.0, 2.0, 3, counted[side]) for side in SIDES}


def test_a_program_that_fails_ends_the_bench_with_its_own_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """No figure is made of a run that broke."""
    monkeypatch.setattr(sides, "java_home", lambda: tmp_path)
    program = "import sys; sys.stderr.write('no space left'); sys.exit(3)"

    with pytest.raises(SystemExit, match="ended with 3:\nno space left"):
        sides.metered([sys.executable, "-c", program], tmp_path / "report.json")


def test_the_meter_counts_a_process_that_outlives_its_parent(tmp_path: Path) -> None:
    """Its processor time and memory are in the figures, and the exit code is that of the first process."""
    work = "import time; x = b'1' * 80_000_000\nwhile time.process_time() < 0.5: pass"
    start = f"import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', {work!r}]); time.sleep(0.2); sys.exit(1)"
    command = [sys.executable, str(METER), str(tmp_path / "report"), sys.executable, "-c", start]
    subprocess.run(command, check=True)  # noqa: S603 - our own program

    report = json.loads((tmp_path / "report").read_text())
    assert report["code"] == 1
    assert report["cpu"] >= 0.5
    assert report["peak"] >= 80_000_000


def test_the_burst_ends_with_its_last_verdict() -> None:
    """Uploads follow one another; a verdict counts from the end of its own upload."""
    waited = [{"upload": 1.0, "verdict": 7.0}, {"upload": 0.5, "verdict": 2.0}, {"upload": 0.5, "verdict": 5.5}]

    assert last_verdict(waited) == 8.0


def test_copied_checks_are_ten_times_as_many_and_no_two_are_the_same() -> None:
    """A contract of 460 checks measures 460 things: each copy has a bound of its own."""
    document = with_checks(yaml.safe_load(CONTRACT.read_text()), 10)
    contract = read(json.dumps(document).encode())
    plan = compile_plan(contract, contract.datasets[0])

    rules = [each for each in plan.checks if "_rule" in each.id]
    measured = {str((each.fields, each.metric, each.accept, each.row_filter)) for each in rules}
    assert len(rules) == len({each.id for each in rules}) == len(measured) == 460
