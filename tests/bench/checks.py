"""`python -m tests.bench.checks`: what more checks cost. 46, 115, 230 and 460 checks on one file, each a whole cold process.

The 46 are those of the weather contract; more are as many again with bounds of their own, so that no predicate is measured twice.
Figures are ratios within one run, of seconds and of processor seconds; none is judged here.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from contracts.compile import compile_plan
from contracts.formats import read
from contracts.plan import Plan
from contracts.request import Part, Request
from infra.local.places import ROOT
from infra.local.spark import use_local_spark
from tests.bench.judge import CONTRACT, MEBIBYTE, sample_file, say

if TYPE_CHECKING:
    from contracts.model import Contract, Rule

COUNTS = (46, 115, 230, 460)
GIBIBYTE = 2**30
CHILD = "import sys; from tests.bench.checks import answer; answer(sys.argv[1])"


@dataclass(frozen=True, slots=True)
class Run:
    """One process of the job."""

    checks: int
    seconds: float
    vcpu_seconds: float
    peak: int
    """Bytes of memory that the JVM had at most."""
    timings: dict[str, float]


def main(arguments: list[str] | None = None) -> None:
    """Run the job with each number of checks and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.checks")
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--checks", type=int, nargs="*", default=COUNTS)
    options = parser.parse_args(arguments)
    file = sample_file(options.rows)
    say(f"weather, {options.rows:,} rows, {file.stat().st_size / MEBIBYTE:.0f} MiB, {os.cpu_count()} cores")
    say("  checks  seconds  ratio  vCPU seconds  ratio  vCPU s/GB  peak MiB  open  read  measure  explain")
    runs = [timed(checks, file) for checks in options.checks]
    for run in runs:
        say(_line(run, runs[0], file.stat().st_size))


def _line(run: Run, first: Run, size: int) -> str:
    time_ratio, cpu_ratio = run.seconds / first.seconds, run.vcpu_seconds / first.vcpu_seconds
    cost = f"{run.seconds:9.1f}{time_ratio:7.2f}{run.vcpu_seconds:14.1f}{cpu_ratio:7.2f}"
    steps = "  ".join(f"{run.timings[step]:4.1f}" for step in ("open", "read", "measure", "explain"))
    return f"{run.checks:8}{cost}{run.vcpu_seconds / size * GIBIBYTE:11.0f}{run.peak / MEBIBYTE:10.0f}  {steps}"


def timed(checks: int, file: Path) -> Run:
    """The job on a file, in a process of its own."""
    with TemporaryDirectory(prefix="lakegate-bench-") as name:
        folder = Path(name)
        request = _request(weather_plan(checks), file, folder)
        began = time.perf_counter()
        ended = subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-c", CHILD, str(request)], cwd=ROOT, capture_output=True, text=True, check=False
        )
        seconds = time.perf_counter() - began
    if ended.returncode:
        raise SystemExit(f"{checks} checks ended with {ended.returncode}:\n{ended.stderr}")
    said: dict[str, Any] = json.loads(ended.stdout)
    return Run(checks, seconds, said["vcpu_seconds"], said["peak"], said["timings"])


def answer(path: str) -> None:
    """The child: answer the request in that file, and print what it cost."""
    request = Request.from_json(json.loads(Path(path).read_text()))
    plan = Plan.from_json(json.loads(Path(path).with_name("plan.json").read_text()))
    use_local_spark(Path(path).parent, sum(part.size for part in request.parts))
    from spark_jobs.session import start  # noqa: PLC0415 - reads the settings made above
    from spark_jobs.validate import validate  # noqa: PLC0415 - likewise

    result = validate(request, plan)
    assert not any(each.error for each in result.measurements)
    jvm = start()._jvm  # noqa: SLF001 - PySpark has no other way to the JVM's process
    status = Path(f"/proc/{jvm.java.lang.ProcessHandle.current().pid()}/status").read_text()
    peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) * 1024
    say(json.dumps({"vcpu_seconds": result.vcpu_seconds, "timings": result.timings, "peak": peak}))


def weather_plan(checks: int) -> Plan:
    """The weather contract's plan with so many checks, none the same as another."""
    contract: Contract = read(CONTRACT.read_bytes())
    dataset = contract.datasets[0]
    rules = [rule for rule in dataset.rules if rule.id.endswith("_rule")]
    copies = [_varied(rule, copy) for copy in range(-(-checks // COUNTS[0])) for rule in rules]
    plan = compile_plan(contract, replace(dataset, rules=tuple(copies)))
    return replace(plan, checks=plan.checks[:checks])


def _varied(rule: Rule, copy: int) -> Rule:
    """A rule on the same columns with a bound of its own, which good data keeps as well."""
    if copy == 0:
        return rule
    written = rule.arguments.get("parameter")
    if rule.kind in {"min", "max"}:
        further = Decimal(str(written)) + (copy if rule.kind == "max" else -copy)
        return replace(rule, arguments={**rule.arguments, "parameter": further})
    return replace(rule, kind="maxLength", arguments={"value": Decimal(ord(rule.id[0]) + 1000 * copy + len(rule.id))})


def _request(plan: Plan, file: Path, folder: Path) -> Path:
    (folder / "plan.json").write_text(json.dumps(plan.to_json()))
    request = Request(
        workload="0" * 64,
        attempt=1,
        plan_uri=(folder / "plan.json").as_uri(),
        plan_digest=plan.digest,
        source_version="bench",
        parts=(Part(file.as_uri(), file.stat().st_size),),
        judged_at="2026-01-02T03:04:05+00:00",
        output_uri=(folder / "out").as_uri(),
    )
    path = folder / "request.json"
    path.write_text(json.dumps(request.to_json()))
    return path


if __name__ == "__main__":
    main()
