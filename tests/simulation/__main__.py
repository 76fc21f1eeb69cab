"""`python -m tests.simulation 20000 --pairs 1 --planted`: as many schedules as asked for, from one printed seed.

Prints schedules per second and what was covered. Ends with 1 on the first broken promise, with a short trace that breaks it
and names the deliveries, and when a planted bug survives.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import os
import random
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from typing import TypeVar

from lakegate.gate.effects import Effect
from tests.simulation.choices import Choices
from tests.simulation.contract import results_remembered
from tests.simulation.exhaustive import MORE, NOT_PLAYED, SCENARIOS, Failed, Scenario, pairs_of, play, singles_of
from tests.simulation.planted import PLANTED, Planted, failed_test, planted
from tests.simulation.promises import Violation
from tests.simulation.schedules import broken, run, shrunk, trace_text
from tests.simulation.stage import KINDS

PLANTED_LIMIT = 100_000
SHRINKING = 8.0
"""Seconds for a shorter schedule that breaks the same promise: what is shortest by then is printed."""
CHUNK = 200
"""Schedules of one task: those under way are finished where another one breaks a promise.

Reference counts free an environment when its schedule ends; cycles are collected after a task.
"""

Task = TypeVar("Task")
Answer = TypeVar("Answer")


@dataclass(slots=True)
class Covered:
    """What a part of a run covered, and the first thing it broke."""

    schedules: int = 0
    singles: int = 0
    hit: int = 0
    steps: int = 0
    faults: int = 0
    sweeps: int = 0
    """The most that one recovery took."""
    seconds: float = 0.0
    states: set[int] = field(default_factory=set)
    effects: set[Effect] = field(default_factory=set)
    broken: str = ""
    script: tuple[int, ...] = ()
    """Of the schedule that broke a promise."""
    promise: str = ""
    """That it broke."""

    def add(self, other: Covered) -> None:
        for name in ("schedules", "singles", "hit", "steps", "faults", "seconds"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.sweeps = max(self.sweeps, other.sweeps)
        self.states |= other.states
        self.effects |= other.effects
        if other.broken and not self.broken:
            self.broken, self.script, self.promise = other.broken, other.script, other.promise

    def pace(self, wall: float) -> str:
        return f"{wall:.1f} s, {self.schedules / wall:,.0f}/s; {self.schedules / self.seconds:,.0f}/s of CPU"


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def spread(jobs: int, work: Callable[[Task], Answer], tasks: Iterable[Task]) -> Generator[Answer, None, None]:
    """Each task in one of `jobs` processes, the answers in order; a fork sees the bugs that are planted here.

    Closed, it leaves the tasks that have not begun.
    """
    if jobs == 1:
        yield from map(work, tasks)
        return
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("fork"), gc.disable) as pool:
        try:
            yield from pool.map(work, tasks)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def some_schedules(seeds: range) -> Covered:
    """Random schedules of these seeds, up to the first that breaks a promise."""
    began, covered = time.process_time(), Covered(schedules=len(seeds))
    for seed in seeds:
        choices = Choices(seed)
        try:
            ran = run(choices)
        except Violation as violation:
            covered.broken = f"BROKEN by schedule {seed}: {violation}"
            covered.script, covered.promise = tuple(choices.made), violation.promise
            break
        covered.steps += ran.steps
        covered.faults += ran.faults
        covered.sweeps = max(covered.sweeps, ran.sweeps)
        covered.states |= ran.states
    gc.collect(0)  # what was made since the last time: the collector is off
    covered.seconds = time.process_time() - began
    return covered


def story(found: Covered) -> str:
    """What was broken, and the shortest schedule that is found in a few seconds that breaks it, step by step."""
    gc.enable()
    script = shrunk(found.script, found.promise, time.monotonic() + SHRINKING)
    return f"{found.broken}\nThe shortest schedule found that breaks {found.promise}: {script}\n{trace_text(script)}"


def schedules(number: int, seed: int, jobs: int) -> bool:
    """Random schedules; False when one breaks a promise."""
    began, all_of_it = time.perf_counter(), Covered()
    parts = [range(first, min(first + CHUNK, seed + number)) for first in range(seed, seed + number, CHUNK)]
    answers = spread(jobs, some_schedules, parts)
    for covered in answers:
        all_of_it.add(covered)
        if all_of_it.broken:
            answers.close()
            say(story(all_of_it))
            return False
    say(
        f"{number:,} schedules, {all_of_it.steps:,} effects, {all_of_it.faults:,} faults, "
        f"{len(all_of_it.states):,} states visited, finished within "
        f"{all_of_it.sweeps} sweeps, no promise broken ({all_of_it.pace(time.perf_counter() - began)})"
    )
    return True


def one_scenario(scenario: Scenario, share: int, seed: int) -> Covered:
    """Every single fault of a scenario, and every `share`-th pair of the nine of them, up to the first that breaks a promise."""
    began, covered = time.process_time(), Covered()
    try:
        singles = singles_of(scenario)
        covered.schedules = covered.singles = len(singles)
        covered.hit = sum(each.left == 0 for each in singles.values())
        covered.effects = {effect for effect, _ in singles}
        pairs = islice(pairs_of(singles), seed % share, None, share) if scenario in SCENARIOS else ()
        for pair in pairs:
            covered.schedules += 1
            covered.hit += play(scenario, pair).left == 0
    except Failed as failed:
        covered.broken = str(failed)
    gc.collect()
    covered.seconds = time.process_time() - began
    return covered


def exhaustive(share: int, seed: int, jobs: int) -> bool:
    """All scenarios; False when one breaks a promise or never ends as it must, or when an effect is in none of them."""
    began, all_of_it = time.perf_counter(), Covered()
    for covered in spread(jobs, partial(one_scenario, share=share, seed=seed), (*SCENARIOS, *MORE)):
        all_of_it.add(covered)
    if all_of_it.broken:
        say(all_of_it.broken)
        return False
    if missed := set(Effect) - NOT_PLAYED - all_of_it.effects:
        say(f"No scenario meets {', '.join(sorted(effect.name for effect in missed))}")
        return False
    say(
        f"{len(SCENARIOS)} + {len(MORE)} scenarios, {len(all_of_it.effects)} of {len(Effect)} effects x {len(KINDS)} kinds: "
        f"{all_of_it.singles:,} singles, {all_of_it.schedules - all_of_it.singles:,} pairs"
        f"{'' if share == 1 else f' (1 in {share})'}, {all_of_it.hit:,} with every fault met, "
        f"no promise broken ({all_of_it.pace(time.perf_counter() - began)})"
    )
    return True


def until_caught(bug: Planted, seed: int, *, known: bool = False) -> tuple[int, Violation | None]:
    """How many random schedules a planted bug survives, and what it breaks; with `known`, its own schedule is the first."""
    first = [bug.seed] if known and bug.seed else []
    with planted(bug):
        for ordinal, each in enumerate((*first, *range(seed, seed + PLANTED_LIMIT))):
            violation = broken(Choices(each, begin=tuple(bug.begin)))
            if violation is not None:
                return ordinal + 1, violation
    return PLANTED_LIMIT, None


def caught(bug: Planted, seed: int, *, known: bool = False) -> tuple[int, str]:
    """How many schedules a bug survived, and the promise that it broke."""
    needed, violation = until_caught(bug, seed, known=known)
    gc.collect()
    return needed, str(violation or "")


def failed_tests(shown: Sequence[Planted], jobs: int) -> Iterator[str]:
    """What the contract test of each bug reports: of the first one here, of the others in forks, which find all imported."""
    some_schedules(range(1))
    yield from map(failed_test, shown[:1])
    gc.freeze()
    with multiprocessing.get_context("fork").Pool(jobs, maxtasksperchild=1) as pool:
        yield from pool.imap(failed_test, shown[1:])


def bugs(seed: int, jobs: int, *, known: bool) -> bool:
    """Every planted bug falls; False when one survives."""
    survivors = 0
    by_tests = [bug for bug in PLANTED if bug.shown_by]
    by_schedules = [bug for bug in PLANTED if not bug.shown_by]
    fallen = chain(
        spread(jobs, partial(caught, seed=seed, known=known), by_schedules),
        ((0, each) for each in failed_tests(by_tests, jobs)),
    )
    for bug, (needed, seen) in zip((*by_schedules, *by_tests), fallen, strict=True):
        survivors += not seen
        say(f"{needed:7,}  {bug.name}: {seen or 'SURVIVED'}")
    say(f"{len(PLANTED)} planted bugs, {survivors} survived; schedules until caught above")
    return survivors == 0


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("schedules", type=int, help="random schedules to run")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**9))
    parser.add_argument("--pairs", type=int, default=0, metavar="N", help="all singles and every N-th pair of faults")
    parser.add_argument("--planted", action="store_true", help="plant every bug and see it fall")
    parser.add_argument("--known", action="store_true", help="try the schedules first that showed rare bugs before")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one for each core)")
    asked = parser.parse_args(arguments)
    say(f"seed {asked.seed}")
    kept = [schedules(asked.schedules, asked.seed, asked.jobs)] if asked.schedules else []
    if asked.pairs:
        kept.append(exhaustive(asked.pairs, asked.seed, asked.jobs))
    if asked.planted:
        kept.append(bugs(asked.seed, asked.jobs, known=asked.known))
    return 0 if all(kept) else 1


if __name__ == "__main__":
    gc.disable()
    with results_remembered():
        sys.exit(main(sys.argv[1:]))
