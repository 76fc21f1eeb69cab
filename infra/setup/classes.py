"""Last part of `make spark-tools`: the archive of Java classes, recorded while the job judges a small delivery."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from infra.samples.sample_data import SAMPLES, write
from infra.setup.atomic_dir import atomic_dir
from lakegate.base.errors import SetUpError
from lakegate.base.extension_points import ROOT, TOOLS
from lakegate.lints.linter import read
from lakegate.plan.request import Request, StagedPart
from lakegate.rules.compile_plan import compile_plan
from lakegate.spark.local_spark import CLASSES, archive, java_home, use_local_spark

CONTRACT = ROOT / "contracts" / "examples" / "weather.dcm.yaml"
SAMPLE = "weather-clean.csv"
ROWS = 1000
PATIENCE_SECONDS = 300


def main(tools: Path = TOOLS) -> int:
    """Record the archive if it is missing; the exit code: 0, or 2 after one sentence on standard error."""
    try:
        target = archive(java_home(tools), tools)
        if not target.is_file():
            _say("classes: recording the Java classes of a Spark job (130 MB, half a minute)")
            record(target, tools)
        _say(f"classes: {target}")
    except SetUpError as error:
        _say(str(error))
        return 2
    return 0


def record(target: Path, tools: Path) -> None:
    """Run the job once and keep the classes that its JVM loaded, instead of older archives. SetUpError if there are none."""
    with atomic_dir(tools) as folder:
        made = folder / target.name
        use_local_spark(folder, size=0, recorded=made)
        _judge(_request(folder))
        if not made.is_file():
            raise SetUpError("The Java classes could not be recorded: the JVM wrote no archive.")
        shutil.rmtree(tools / CLASSES, ignore_errors=True)
        target.parent.mkdir()
        made.rename(target)


def _judge(request: Path) -> None:
    """Run the job in this process, and wait until its JVM has ended."""
    from pyspark import SparkContext  # noqa: PLC0415 - reads the settings made above

    from lakegate.spark.spark_job import run  # noqa: PLC0415 - likewise

    run(request.as_uri())
    context = SparkContext.getOrCreate()
    jvm = context._gateway.proc  # type: ignore[union-attr]  # noqa: SLF001 - PySpark has no public way to its JVM
    context.stop()
    jvm.stdin.close()
    jvm.wait(PATIENCE_SECONDS)


def _request(folder: Path) -> Path:
    """A request for a small delivery, below a folder with all that it names."""
    contract = read(CONTRACT.read_bytes())
    plan = compile_plan(contract, contract.datasets[0])
    data = folder / "data.csv"
    write(SAMPLES[SAMPLE], data, ROWS, seed=1)
    (folder / "plan.json").write_bytes(plan.to_bytes())
    request = Request(
        workload="0" * 64,
        attempt=1,
        plan_uri=(folder / "plan.json").as_uri(),
        plan_digest=plan.digest,
        source_version="set-up",
        parts=(StagedPart(data.as_uri(), data.stat().st_size),),
        judged_at="2026-01-01T00:00:00+00:00",
        output_uri=(folder / "out").as_uri(),
    )
    path = folder / "request.json"
    path.write_bytes(request.to_bytes())
    return path


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
