"""`make bench`: `lakegate check` against the hand-written program, in turn, each run a whole cold process.

1. The data is written once (the same bytes for the same seed) and read once, so that neither side finds a colder disk.
2. Lakegate and the baseline run in turn, three times each; a process is timed from its start to its end.
3. Both must have counted the same failing rows for every check the baseline knows: a fast wrong answer is no figure.

It prints figures and judges none: how long a run takes depends on the machine and on who else uses it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from infra.local.java import java_home
from infra.local.places import ROOT
from infra.samples.catalogue import SAMPLES
from infra.samples.writer import write

CACHE = ROOT / ".cache" / "bench"
CONTRACT = ROOT / "contracts" / "examples" / "weather.dcm.yaml"
SAMPLE = "weather-clean.csv"
SEED = 1
MEBIBYTE = 2**20


@dataclass(frozen=True, slots=True)
class Run:
    """One process: how long it took, and the JSON document it printed."""

    seconds: float
    answer: Any


def main(arguments: list[str] | None = None) -> int:
    """Run both sides and print the table; 1 where their numbers differ."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.judge")
    parser.add_argument("--rows", type=int, default=1_350_000)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args(arguments)
    data = sample_file(options.rows)
    lakegate, baseline = _race(data, options.runs)
    say(_heading(data, options.rows))
    say(_table(lakegate, baseline))
    say(_where_the_time_goes(lakegate))
    wrong = differences(lakegate[0].answer["checks"], baseline[0].answer)
    for line in wrong or ["both counted the same failing rows for every check"]:
        say(line)
    return 1 if wrong else 0


def differences(checks: list[dict[str, Any]], expected: dict[str, int]) -> list[str]:
    """A line for each check whose failing rows are not those the baseline counted."""
    found = {check["id"]: check["failing_rows"] for check in checks}
    return [
        f"{check}: baseline {rows}, lakegate {found.get(check, 'has no such check')}"
        for check, rows in expected.items()
        if found.get(check) != rows
    ]


def sample_file(rows: int) -> Path:
    """The sample of that many rows, written once and read once."""
    path = CACHE / f"weather-{rows}-{SEED}.csv"
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        write(SAMPLES[SAMPLE], path.with_suffix(".aside"), rows, SEED)
        path.with_suffix(".aside").rename(path)
    path.read_bytes()
    return path


def _race(data: Path, runs: int) -> tuple[list[Run], list[Run]]:
    command = str(Path(sys.executable).with_name("lakegate"))
    check = [command, "check", "--json", "--contract", str(CONTRACT), str(data)]
    by_hand = [sys.executable, "-m", "tests.bench.baseline", str(data)]
    pairs = [(_timed(check), _timed(by_hand)) for _ in range(runs)]
    return [lakegate for lakegate, _ in pairs], [baseline for _, baseline in pairs]


def _timed(command: list[str]) -> Run:
    environment = os.environ | {"JAVA_HOME": str(java_home()), "PYSPARK_PYTHON": sys.executable}
    start = time.perf_counter()
    ended = subprocess.run(  # noqa: S603 - our own two programs
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    seconds = time.perf_counter() - start
    if ended.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {ended.returncode}:\n{ended.stderr}")
    return Run(seconds, json.loads(ended.stdout))


def _heading(data: Path, rows: int) -> str:
    return f"weather, {rows:,} rows, {data.stat().st_size / MEBIBYTE:.0f} MiB, {os.cpu_count()} cores; seconds"


def _table(lakegate: list[Run], baseline: list[Run]) -> str:
    sides = {"lakegate check": lakegate, "hand-written": baseline}
    lines = [
        f"{name:<16}{''.join(f'{run.seconds:8.1f}' for run in runs)}   median {_median(runs):5.1f}"
        for name, runs in sides.items()
    ]
    return "\n".join([*lines, f"ratio of the medians: {_median(lakegate) / _median(baseline):.2f}"])


def _where_the_time_goes(runs: list[Run]) -> str:
    """Medians of what lakegate reports; the rest of the process is Python's start, and the report."""
    steps = {step: median(run.answer["timings"][step] for run in runs) for step in runs[0].answer["timings"]}
    lines = [f"  {step:<24}{seconds:6.1f}" for step, seconds in steps.items()]
    return "\n".join(["where lakegate's time goes:", *lines])


def _median(runs: list[Run]) -> float:
    return median(run.seconds for run in runs)


def say(text: str) -> None:
    """Print what a person reads."""
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
