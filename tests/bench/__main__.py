"""`python -m tests.bench`: one table of one run, with the targets beside the figures.

1. A file with faults is judged once by every program. All must count the same failing rows of each check that they can express.
2. Each work is done in turn by every program, `--runs` times, each a cold process tree; the median counts. Again all must agree.
3. Only then is the table printed. The exit code is 1, and nothing is printed but the differences, where two programs disagree.

Figures are printed beside targets; no exit code depends on a time.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from importlib.metadata import version
from statistics import median

from infra.setup.environments import install
from lakegate.base.extension_points import ROOT
from tests.bench import stack
from tests.bench.data import CLEAN, DIRTY, Work, prepare
from tests.bench.sides import BY_HAND, NATIVE, SIDES, SPARK, Run, differences, timed
from tests.bench.table import ROWS, Figures, lines, markdown

GIBIBYTE, MEBIBYTE = 2**30, 2**20
FAULTY = Work("dirty", 20_000, DIRTY)
SMALL = Work("small", 199)
LARGE = Work("large", 1_350_000)
BIG = Work("big", 14_200_000)
PARQUET = Work("parquet", 1_350_000, CLEAN, "parquet")
CHECKS = Work("checks", 1_350_000, CLEAN, "csv", 10)
WORKS = {"small": (SMALL,), "large": (LARGE,), "big": (BIG,), "parquet": (LARGE, PARQUET), "checks": (LARGE, CHECKS)}
"""By part: what is done for its rows."""
PARTS = (*WORKS, "stack", "release")
USUAL = tuple(part for part in PARTS if part != "big")
SIDES_OF = {CHECKS: (NATIVE, SPARK)}
"""By work: who does it, where not all do."""
Runs = dict[str, dict[str, list[Run]]]
"""By name of a work: by side."""


def main(arguments: list[str] | None = None) -> int:
    """Measure the selected parts and print the table; the exit code: 0, or 1 where programs disagree about failing rows."""
    options = _options(arguments)
    works = list(dict.fromkeys(work for part in options.only for work in WORKS.get(part, ())))
    runs: Runs = {}
    if works:
        install("datacontract")
        runs |= _done(FAULTY, 1)
        for work in () if _disagreements(runs) else works:
            runs |= _done(work, options.runs)
    if wrong := _disagreements(runs):
        sys.stdout.write("".join(f"{line}\n" for line in wrong))
        return 1
    figures = figures_of(runs)
    if "stack" in options.only:
        _progress("the local stack")
        verdict, burst = stack.measured(options.runs)
        figures |= {"verdict": {SPARK: verdict}, "burst": {SPARK: burst}}
    remarks = [_heading(options.runs), *_release(figures, wanted="release" in options.only)]
    table = (markdown if options.markdown else lines)(figures, [row for row in ROWS if row.part in options.only])
    sys.stdout.write("\n".join([*table, "", *remarks, ""]))
    return 0


def figures_of(runs: Runs) -> Figures:
    """The medians of what was measured, in the units of the table's rows."""
    figures: Figures = {}
    for work in (SMALL, LARGE, BIG, PARQUET):
        if work.name in runs:
            own = runs[work.name]
            per = work.data.stat().st_size / GIBIBYTE if work in {LARGE, BIG} else 1.0
            figures[work.name] = {side: median(run.seconds for run in each) for side, each in own.items()}
            figures[f"{work.name}-cpu"] = {side: median(run.cpu for run in each) / per for side, each in own.items()}
            peaks = {side: median(run.peak for run in each) / MEBIBYTE for side, each in own.items()}
            figures[f"{work.name}-peak"] = peaks
    if CHECKS.name in runs:
        base, own = runs[LARGE.name], runs[CHECKS.name]
        seconds = {side: [median(run.seconds for run in each[side]) for each in (own, base)] for side in own}
        cpu = {side: [median(run.cpu for run in each[side]) for each in (own, base)] for side in own}
        figures["checks"] = {side: more / less for side, (more, less) in seconds.items()}
        figures["checks-cpu"] = {side: more / less for side, (more, less) in cpu.items()}
    return figures


def _done(work: Work, times: int) -> Runs:
    """The runs of one work, the sides in turn."""
    prepare(work)
    sides = SIDES_OF.get(work, SIDES)
    found: dict[str, list[Run]] = {side: [] for side in sides}
    for number in range(times):
        for side in sides:
            _progress(f"{work.name}: {side}, run {number + 1} of {times}")
            found[side].append(timed(side, work))
    return {work.name: found}


def _disagreements(runs: Mapping[str, Mapping[str, list[Run]]]) -> list[str]:
    """Of all works; who did not work by hand is compared with the work by hand on the same file."""
    return [
        f"{name}: {line}"
        for name, own in runs.items()
        for line in differences({BY_HAND: runs[LARGE.name][BY_HAND], **own} if BY_HAND not in own else own)
    ]


def _release(figures: Figures, *, wanted: bool) -> list[str]:
    """Add the size of the job's release to the figures; a remark where it has not been made."""
    name = ROOT / "build/release"
    if wanted and name.is_file():
        release = ROOT / "build/code" / name.read_text()
        figures["release"] = {SPARK: sum(each.stat().st_size for each in release.rglob("*") if each.is_file()) / 1e6}
    return (
        ["The job's release has not been made: `make package` makes it."] if wanted and "release" not in figures else []
    )


def _heading(runs: int) -> str:
    cores, memory = os.cpu_count(), os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / GIBIBYTE
    engines = ", ".join(f"{name} {version(name)}" for name in ("duckdb", "pyarrow", "pyspark"))
    load = os.getloadavg()[2]
    return f"Medians of {runs} cold runs; {cores} cores, {memory:.0f} GiB, load of the last 15 minutes {load:.1f}; {engines}."


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench")
    parser.add_argument("--only", help=f"parts, divided by commas: {', '.join(PARTS)} (without: all but big)")
    parser.add_argument("--big", action="store_true", help="the part big as well: 2.1 GB")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--markdown", action="store_true", help="the table as Markdown")
    options = parser.parse_args(arguments)
    chosen = set(options.only.split(",") if options.only else USUAL) | ({"big"} if options.big else set())
    if unknown := chosen.difference(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    if options.runs < 1:
        parser.error("at least one run is needed")
    options.only = [part for part in PARTS if part in chosen]
    return options


def _progress(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
