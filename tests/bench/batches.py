"""`python -m tests.bench.batches`: the processor seconds of small deliveries, in batches and each with a job run of its own.

Each run is a `spark-submit` of the job, as on EMR Serverless: its JVM, its driver and all their processes count. Runs of one
delivery are measured a few times; the median, times the number of deliveries, is what batches are compared with.
The exit code is 1 where the targets are missed: at most 20 runs for 1,000 deliveries, and a fiftieth of the seconds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from local_emr.spark_processes import Surroundings

from infra.local.local_stack import spark_settings
from infra.samples.sample_data import SAMPLES, write
from lakegate.lints.linter import examine
from lakegate.plan.plan import Plan
from lakegate.plan.request import BatchRequest, Request, StagedPart
from lakegate.plan.result import Result
from lakegate.rules.compile_plan import compile_plan
from lakegate.spark.local_spark import java_home
from lakegate.verdict.verdict import Verdict, judge

ROOT = Path(__file__).parents[2]
CONTRACT = ROOT / "contracts/examples/orders.odcs.yaml"
ROWS = 100
"""The fewest that the contract accepts: a file of about 14 KB."""
MAX_RUNS, MIN_RATIO = 20, 50


def main() -> int:
    """Measure, and print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=1_000)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--singles", type=int, default=3, help="how many runs of one delivery are measured")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        requests = delivered(Path(place), asked.files)
        single = statistics.median(_seconds("--request", each.as_uri()) for each in requests[: asked.singles])
        _forget(requests)
        documents = batches(Path(place), requests, asked.batch)
        together = sum(_seconds("--batch", each.as_uri()) for each in documents)
        accepted = sum(_is_accepted(each) for each in requests)
        size = requests[0].with_name("part").stat().st_size
    ratio = single * len(requests) / together
    sys.stdout.write(
        f"{len(requests):,} deliveries of {size:,} bytes, {accepted:,} accepted\n"
        f"a run each   {single * len(requests):>10,.0f} s of CPU ({single:.2f} s each, median of {asked.singles})\n"
        f"{len(documents)} batches   {together:>10,.1f} s of CPU ({together / len(requests):.3f} s each)\n"
        f"ratio        {ratio:>10,.0f}\n"
    )
    is_met = len(documents) * 1_000 <= MAX_RUNS * len(requests) and ratio >= MIN_RATIO and accepted == len(requests)
    return 0 if is_met else 1


def delivered(place: Path, files: int) -> list[Path]:
    """Requests for as many deliveries of orders, each of other bytes, in folders of their own."""
    plan = _plan()
    (place / "plan.json").write_bytes(plan.to_bytes())
    found = []
    for number in range(files):
        folder = place / f"{number:04}"
        folder.mkdir()
        write(SAMPLES["orders-clean.csv"], folder / "part", ROWS, seed=number)
        request = Request(
            workload=f"{number:064}",
            attempt=1,
            plan_uri=(place / "plan.json").as_uri(),
            plan_digest=plan.digest,
            source_version="v1",
            parts=(StagedPart((folder / "part").as_uri(), (folder / "part").stat().st_size),),
            judged_at="2026-11-22T12:00:00Z",
            output_uri=(folder / "out").as_uri(),
        )
        (folder / "request.json").write_bytes(request.to_bytes())
        found.append(folder / "request.json")
    return found


def batches(place: Path, requests: list[Path], size: int) -> list[Path]:
    """The documents of batches of this size."""
    found = []
    for number, first in enumerate(range(0, len(requests), size)):
        document = BatchRequest(f"{number:064}", tuple(each.as_uri() for each in requests[first : first + size]))
        found.append(place / f"batch-{number}.json")
        found[-1].write_bytes(document.to_bytes())
    return found


@cache
def _plan() -> Plan:
    contract = examine(CONTRACT.read_bytes()).contract
    assert contract is not None
    return compile_plan(contract, contract.datasets[0])


def _forget(requests: list[Path]) -> None:
    for each in requests:
        result = each.with_name("out") / "result.json"
        result.unlink(missing_ok=True)


def _is_accepted(request: Path) -> bool:
    result = Result.from_bytes((request.with_name("out") / "result.json").read_bytes())
    return judge(_plan(), result).verdict in {Verdict.ACCEPTED, Verdict.ACCEPTED_WITH_WARNINGS}


def _seconds(*arguments: str) -> float:
    """Processor seconds of a run, with all its processes."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        settings = {"spark.driver.memory": "1g", **spark_settings()}
        nowhere = "http://127.0.0.1:9"  # all files are local
        around = Surroundings(nowhere, "us-east-1", "key", "secret", (ROOT,), settings)
        submit = str(Path(sys.executable).with_name("spark-submit"))
        options = around.spark_options(Path(folder, "spark"), {}, ())
        program = [submit, *options, str(ROOT / "spark_jobs/validate.py"), *arguments]
        environment = around.environment() | {"JAVA_HOME": str(java_home())}
        ran = subprocess.run(  # noqa: S603 - our own job
            [sys.executable, str(Path(__file__).with_name("meter.py")), str(report), *program],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        measured = json.loads(report.read_text()) if report.exists() else {"code": ran.returncode}
    if measured["code"]:
        raise RuntimeError(f"the job ended with {measured['code']}:\n{ran.stderr[-2000:]}")
    return float(measured["cpu"])


if __name__ == "__main__":
    sys.exit(main())
