"""`make bench`: `lakegate check`, native and by Spark, against the hand-written program, in turn, each run a whole cold process.

1. The data is written once (the same bytes for the same seed) and read once, so that no side finds a colder disk.
2. All sides run in turn; a process is measured from its start to its end: seconds, and processor seconds and peak memory of the
   Python process (a JVM that it starts is not in them: `result.json` has its processor seconds).
3. All must have counted the same failing rows for every check the baseline knows: a fast wrong answer is no figure.

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
from tempfile import TemporaryFile
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
    cpu: float
    """Processor seconds."""
    peak: int
    """Bytes of the largest process."""
    answer: Any


def main(arguments: list[str] | None = None) -> int:
    """Run both sides and print the table; 1 where their numbers differ."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.judge")
    parser.add_argument("--rows", type=int, default=1_350_000)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args(arguments)
    data = sample_file(options.rows)
    runs = _race(data, options.runs)
    say(_heading(data, options.rows))
    say(_table(runs))
    say(_where_the_time_goes(runs["native"]))
    wrong = [
        f"{side}: {line}"
        for side in ("native", "spark")
        for line in differences(runs[side][0].answer["checks"], runs["by hand"][0].answer)
    ]
    for line in wrong or ["all counted the same failing rows for every check"]:
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


def _race(data: Path, runs: int) -> dict[str, list[Run]]:
    command = [
        str(Path(sys.executable).with_name("lakegate")),
        "check",
        "--json",
        "--contract",
        str(CONTRACT),
        str(data),
    ]
    commands = {
        "native": command,
        "spark": [*command, "--engine", "spark"],
        "by hand": [sys.executable, "-m", "tests.bench.baseline", str(data)],
    }
    found: dict[str, list[Run]] = {name: [] for name in commands}
    for _ in range(runs):
        for name, each in commands.items():
            found[name].append(_timed(each))
    return found


def _timed(command: list[str]) -> Run:
    environment = os.environ | {"JAVA_HOME": str(java_home()), "PYSPARK_PYTHON": sys.executable}
    start = time.perf_counter()
    with TemporaryFile("w+") as answer, TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=answer, stderr=errors)  # noqa: S603 - our own programs
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - start
        answer.seek(0)
        errors.seek(0)
        if process.returncode:
            raise SystemExit(f"{' '.join(command)} ended with {process.returncode}:\n{errors.read()}")
        return Run(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, json.load(answer))


def _heading(data: Path, rows: int) -> str:
    return f"weather, {rows:,} rows, {data.stat().st_size / MEBIBYTE:.0f} MiB, {os.cpu_count()} cores; seconds"


def _table(runs: dict[str, list[Run]]) -> str:
    hand = _median(runs["by hand"])
    lines = ["side        seconds (median)    to by hand    Python: cpu seconds    peak MiB"]
    for name, own in runs.items():
        cpu, peak = median(run.cpu for run in own), max(run.peak for run in own) / MEBIBYTE
        lines.append(f"{name:<12}{_median(own):16.1f}{_median(own) / hand:14.2f}{cpu:21.1f}{peak:12.0f}")
    return "\n".join(lines)


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
