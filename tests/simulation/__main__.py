"""`python -m tests.simulation 20000 --pairs 1 --planted`: as many schedules as asked for, from one printed seed.

Prints schedules per second and what was covered. Ends with 1 on the first broken promise, told as the shortest story
that breaks it, and when a planted bug survives.
"""

from __future__ import annotations

import argparse
import gc
import random
import sys
import time
from typing import TYPE_CHECKING

from functions.usecases.steps import Effect
from tests.simulation.choices import Choices
from tests.simulation.exhaustive import MORE, SCENARIOS, Planned, faults_of, pairs_of, play
from tests.simulation.planted import PLANTED, planted
from tests.simulation.promises import Violation
from tests.simulation.schedules import broken, run, shrunk, told
from tests.simulation.stage import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable

PLANTED_LIMIT = 10_000
GARBAGE = 2_000
"""Schedules between two collections: the collector would look at every living world otherwise."""


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def timed(count: int, began: float) -> str:
    spent = time.process_time() - began
    return f"{spent:.1f} s CPU, {count / max(spent, 1e-9):,.0f}/s"


def schedules(number: int, seed: int) -> bool:
    """Random schedules; False when one breaks a promise."""
    began, steps, faults, states = time.process_time(), 0, 0, set()
    for ordinal in range(number):
        choices = Choices(seed + ordinal)
        try:
            ran = run(choices)
        except Violation as violation:
            tell(seed + ordinal, tuple(choices.made), violation)
            return False
        steps, faults = steps + ran.steps, faults + ran.faults
        states |= ran.states
        if ordinal % GARBAGE == 0:
            gc.collect()
    say(
        f"{number:,} schedules, {steps:,} effects, {faults:,} faults, {len(states):,} states visited, "
        f"no promise broken "
        f"({timed(number, began)})"
    )
    return True


def tell(seed: int, made: tuple[int, ...], violation: Violation) -> None:
    script = shrunk(made, violation.promise)
    say(
        f"BROKEN by schedule {seed}: {violation}\nThe shortest schedule found that breaks {violation.promise}: {script}"
    )
    say(told(script))


def exhaustive(share: int, seed: int) -> bool:
    """Every single fault, and every `share`-th pair of faults; False when one breaks a promise."""
    began, singles, pairs, hit, effects = time.process_time(), 0, 0, 0, set()
    for scenario in (*SCENARIOS, *MORE):
        faults = faults_of(scenario)
        effects |= {effect for effect, _ in faults}
        plans: list[tuple[Planned, ...]] = [(each,) for each in faults]
        singles += len(plans)
        if scenario in SCENARIOS:
            plans += list(pairs_of(scenario))[seed % share :: share]
        for planned in plans:
            story: list[str] = []
            try:
                hit += play(scenario, planned, story).left == 0
            except AssertionError as violation:
                say(f"BROKEN: {scenario.name}, {planned}: {violation}")
                say("\n".join(story))
                return False
        pairs += len(plans) - len(faults)
        gc.collect()
    say(
        f"{len(SCENARIOS)} + {len(MORE)} scenarios, {len(effects)} of {len(Effect)} effects x {len(KINDS)} kinds: "
        f"{singles:,} singles, {pairs:,} pairs{'' if share == 1 else f' (1 in {share})'}, "
        f"{hit:,} with every fault met, "
        f"no promise broken ({timed(singles + pairs, began)})"
    )
    return True


def bugs(seed: int) -> bool:
    """Every planted bug falls; False when one survives."""
    began, survivors = time.process_time(), 0
    for bug in PLANTED:
        with planted(bug):
            needed, violation = first_broken(seed)
        gc.collect()
        survivors += violation is None
        say(f"{needed:7,}  {bug.name}: {violation or 'SURVIVED'}")
    say(
        f"{len(PLANTED)} planted bugs, {survivors} survived, schedules until caught above "
        f"({timed(len(PLANTED), began)})"
    )
    return survivors == 0


def first_broken(seed: int) -> tuple[int, Violation | None]:
    for ordinal in range(PLANTED_LIMIT):
        violation = broken(Choices(seed + ordinal))
        if violation is not None:
            return ordinal + 1, violation
    return PLANTED_LIMIT, None


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("schedules", type=int, help="random schedules to run")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**9))
    parser.add_argument("--pairs", type=int, default=0, metavar="N", help="all singles and every N-th pair of faults")
    parser.add_argument("--planted", action="store_true", help="plant every bug and see it fall")
    asked = parser.parse_args(arguments)
    say(f"seed {asked.seed}")
    gc.disable()
    parts: list[Callable[[], bool]] = [lambda: schedules(asked.schedules, asked.seed)] if asked.schedules else []
    if asked.pairs:
        parts.append(lambda: exhaustive(asked.pairs, asked.seed))
    if asked.planted:
        parts.append(lambda: bugs(asked.seed))
    kept = [part() for part in parts]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
