"""What publishing adds to a run: `python -m tests.bench.published_rows`, each way beside the others, in one go.

The same CSV is judged natively by the weather contract, and its accepted rows are published as they arrived, as slices
(`publishAs: parquet`) and as typed files (`publishAs: iceberg`). Each run is a process of its own; ways take turns, and a figure
is the median. The exit code is 1 where typed files take more than 1.15 times the processor seconds of slices.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import yaml

from lakegate.engine.read.data_source import path_of
from lakegate.lints.linter import read
from lakegate.plan.plan import Plan
from lakegate.plan.request import StagedPart
from lakegate.plan.slice_order import SliceOrder
from tests.bench.data import CONTRACT, Work, prepare
from tests.deliveries.delivery import measure_natively, request_for
from tests.reference.cases import only_plan

WAYS: Final = {
    "original": {},
    "parquet": {"publishAs": "parquet", "eventTime": "date"},
    "iceberg": {"publishAs": "iceberg"},
}
"""Values of `publishAs`, each with its settings of the contract."""
METER: Final = Path(__file__).with_name("meter.py")
MOST: Final = 1.15


def plan_of(way: str) -> Plan:
    """The plan of the weather contract, published in a way."""
    document = yaml.safe_load(CONTRACT.read_text()) | {"specific": {"lakegate": {"format": "csv", **WAYS[way]}}}
    return only_plan(read(json.dumps(document).encode()))


def judge(way: str, data: Path, folder: Path) -> int:
    """Judge the file once; the bytes of the files that were written."""
    plan = plan_of(way)
    request = replace(request_for(plan, folder), parts=(StagedPart(data.as_uri(), data.stat().st_size),))
    order = SliceOrder(0, "date") if way == "parquet" else None
    result = measure_natively(replace(request, slices=order, typed_files=way == "iceberg"), plan)
    written = (*result.slices, *result.typed_files)
    assert sum(each.rows for each in written) == (0 if way == "original" else result.rows)
    return sum(path_of(each.uri).stat().st_size for each in written)


def measured(way: str, data: Path) -> dict[str, float]:
    """Seconds, processor seconds and peak memory of one run, and the bytes that it wrote."""
    with TemporaryDirectory(prefix="lakegate-bench-") as name:
        report, folder = Path(name, "report.json"), Path(name, "run")
        folder.mkdir()
        command = [
            sys.executable,
            "-m",
            "tests.bench.published_rows",
            "--way",
            way,
            "--data",
            str(data),
            "--into",
            str(folder),
        ]
        ended = subprocess.run(  # noqa: S603 - this program
            [sys.executable, str(METER), str(report), *command], check=True, capture_output=True, text=True
        )
        found: dict[str, float] = json.loads(report.read_text())
        assert not found["code"], ended.stderr
        return found | {"written": int(ended.stdout)}


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_350_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--data", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--into", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.way:
        sys.stdout.write(f"{judge(given.way, given.data, given.into)}\n")
        return 0
    work = Work("published", given.rows)
    prepare(work)
    runs = [{way: measured(way, work.data) for way in WAYS} for _ in range(given.runs)]
    figures = {
        way: {name: statistics.median(run[way][name] for run in runs) for name in ("seconds", "cpu", "peak", "written")}
        for way in WAYS
    }
    sys.stdout.write(
        f"{work.data.stat().st_size / 2**20:.0f} MiB of CSV, {given.rows:,} rows, median of {given.runs}\n"
    )
    for way, found in figures.items():
        sys.stdout.write(
            f"{way:<10}{found['seconds']:>8.1f} s{found['cpu']:>8.1f} s of CPU{found['peak'] / 2**20:>8.0f} MiB peak"
            f"{found['written'] / 2**20:>8.0f} MiB written\n"
        )
    ratio = figures["iceberg"]["cpu"] / figures["parquet"]["cpu"]
    is_met = ratio <= MOST
    sys.stdout.write(f"typed files ≤ {MOST} times slices: {ratio:.2f}, {'met' if is_met else 'missed'}\n")
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
