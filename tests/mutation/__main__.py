"""`python -m tests.mutation [PACKAGE …] [--positions 60] [--seed 7]`: how many changes of the code do the tests notice?

Mutates so many drawn positions of each package (`--all`: every one), runs the fast tests that execute the changed line, and
prints the score: the mutants that tests fail on, of all. Ends with 1 where a package is below 85 %. A mutant that survives is
printed with its line, unless tests/mutation/survivors.yaml explains it; explained ones count as survivors too.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from lakegate.base.extension_points import ROOT
from tests.mutation.mutants import Mutant, drawn
from tests.mutation.packages import PACKAGES
from tests.mutation.runs import Covered, Fate, covered_by, fate, prepare

LEAST = 0.85
SURVIVORS = Path(__file__).with_name("survivors.yaml")
PROCESSES = 2
PROGRESS = 20
"""Mutants between two lines of progress."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", default=[], help=", ".join(PACKAGES))
    parser.add_argument("--positions", type=int, default=60)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args(arguments)
    if unknown := set(given.packages) - set(PACKAGES):
        parser.error(f"no package {min(unknown)}: {', '.join(PACKAGES)}")
    prepare()
    scores = {
        package: of_package(package, None if given.all else given.positions, given.seed)
        for package in given.packages or PACKAGES
    }
    for package, score in scores.items():
        say(f"{package:<20} {score:.1%}")
    return 0 if min(scores.values()) >= LEAST else 1


def of_package(package: str, positions: int | None, seed: int) -> float:
    """The share of a package's drawn mutants that tests fail on."""
    mutants = drawn(package, positions, seed)
    covered = covered_by(PACKAGES[package], package, ROOT)
    say(
        f"{package}: {len(mutants)} mutants with seed {seed}, {len(covered.seconds)} tests, {sum(covered.seconds.values()):.0f} s"
    )
    counts: Counter[Fate] = Counter()
    explained = 0
    for mutant, found in fates(mutants, covered):
        counts[found] += 1
        if found is Fate.SURVIVED:
            reason = explanation(mutant)
            explained += reason is not None
            if reason is None:
                before, after = mutant.changed
                say(f"  survived {mutant.path}:{mutant.line} {mutant.operator}\n    - {before}\n    + {after}")
        if counts.total() % PROGRESS == 0:
            say(f"  {counts.total()} of {len(mutants)}")
    say(f"  {', '.join(f'{counts[each]} {each.value}' for each in Fate)}, {explained} of them explained")
    return 1 - counts[Fate.SURVIVED] / counts.total()


def fates(mutants: list[Mutant], covered: Covered) -> Iterator[tuple[Mutant, Fate]]:
    """Each mutant with its fate, in the order in which they end."""
    tasks = []
    for mutant in mutants:
        tests = covered.tests_of(mutant.path, mutant.line)
        tasks.append((mutant, tests, sum(covered.seconds[each] for each in tests)))
    with multiprocessing.get_context("fork").Pool(PROCESSES) as pool:
        yield from pool.imap_unordered(_fate, tasks)


def _fate(task: tuple[Mutant, list[str], float]) -> tuple[Mutant, Fate]:
    mutant, tests, seconds = task
    return mutant, fate(mutant, tests, seconds, ROOT)


def explanation(mutant: Mutant) -> str | None:
    """Why no test can fail on a mutant, if that is written down: by its path, its operator and the line's text."""
    before, _ = mutant.changed
    known: list[dict[str, Any]] = yaml.safe_load(SURVIVORS.read_text()) or []
    for each in known:
        if (each["path"], each["line"]) == (mutant.path, before) and mutant.operator in each["operators"]:
            return str(each["reason"])
    return None


def say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - a program for a person


if __name__ == "__main__":
    sys.exit(main())
