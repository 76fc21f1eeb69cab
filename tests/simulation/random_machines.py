"""Random workflows with states of their own, and a reference interpreter that plays them without any guard.

It shares no code with the gate, nor with the proof: it does what a document says, one observation after another.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

from lakegate.plan.planned_workflow import PlannedState, PlannedTransition, PlannedWorkflow

OUTCOMES = {
    "ask": ("approved", "declined", "expired"),
    "call-back": ("approved", "declined", "expired"),
    "wait": ("due",),
    "notify": ("done",),
    "compare": ("usual", "unusual"),
}
NEEDED = frozenset({"approved", "due", "done", "usual", "unusual"})
MOST_STEPS = 60
"""A way that is longer does not end: the states of these machines may be entered fewer times together."""
VERDICTS = ("accepted", "accepted_with_warnings")


def random_machine(seed: int) -> PlannedWorkflow:
    """A workflow of one to four own states; about a third of them keep every guarantee."""
    chance = random.Random(seed)
    operations = [chance.choice(list(OUTCOMES)) for _ in range(chance.randint(1, 4))]
    states = tuple(
        PlannedState(
            f"own-{number}",
            operation,
            chance.choice((1, 1, 1, 2)),
            days=chance.randint(1, 3),
            another=chance.random() < 0.7,
            until="06:00Z" if operation == "wait" and number % 2 else "",
            hours=chance.randint(1, 30) if operation == "wait" and not number % 2 else 0,
        )
        for number, operation in enumerate(operations)
    )
    rows = [
        PlannedTransition("VALIDATING", verdict, chance.choice(states[:2]).name)
        for verdict in VERDICTS
        if verdict == "accepted" or chance.random() < 0.5
    ]
    careful = chance.random() < 0.7
    for number, state in enumerate(states):
        later = [each.name for each in states[number + 1 :]]
        for on in OUTCOMES[state.operation]:
            every = [each.name for each in states]
            rows += _careful(chance, state, on, later) if careful else _careless(chance, state, on, every)
    return PlannedWorkflow(f"machine-{seed}@1.0.0", chance.randint(1, 3), tuple(rows), states=states)


def _careful(chance: random.Random, state: PlannedState, on: str, later: list[str]) -> Iterator[PlannedTransition]:
    """The transitions for an observation that go on, and publish where they may."""
    if on in NEEDED or chance.random() < 0.3:
        if chance.random() < 0.2 and on not in NEEDED:
            yield PlannedTransition(state.name, on, state.name)
        end = "PUBLISHED" if on in NEEDED else "QUARANTINED"
        yield PlannedTransition(state.name, on, chance.choice([*later, end]))


def _careless(chance: random.Random, state: PlannedState, on: str, every: list[str]) -> Iterator[PlannedTransition]:
    """Those that lead anywhere, or nowhere."""
    for _ in range(chance.choice((0, 1, 1, 2))):
        yield PlannedTransition(state.name, on, chance.choice([*every, "PUBLISHED", "QUARANTINED"]))


class Seen(NamedTuple):
    """What was observed, where."""

    at: str
    on: str


def broken_run(machine: PlannedWorkflow) -> tuple[Seen, ...] | None:
    """A run of the reference interpreter that breaks a guarantee; None where none of all runs does.

    Bounds of entries count only as an order of preference: where nothing is left, nothing follows.
    """
    known: set[tuple[object, ...]] = set()
    runs: list[tuple[tuple[Seen, ...], dict[str, int]]] = [((Seen("VALIDATING", each),), {}) for each in VERDICTS]
    while runs:
        run, entered = runs.pop()
        to = _next(machine, *run[-1], entered)
        if to == "QUARANTINED":
            continue
        if to is None or len(run) > MOST_STEPS or (to == "PUBLISHED" and any(_flags(run))):
            return run
        if to == "PUBLISHED":
            continue
        operation = next(each.operation for each in machine.states if each.name == to)
        if operation in {"ask", "call-back", "wait"} and _flags(run)[0]:
            return run  # the gate cannot record an answer about what is rejected
        entered = {**entered, to: entered.get(to, 0) + 1}
        mark = (to, tuple(sorted(entered.items())), _flags(run))
        if mark not in known:
            known.add(mark)
            runs += [((*run, Seen(to, each)), entered) for each in OUTCOMES[operation]]
    return None


def _next(machine: PlannedWorkflow, at: str, on: str, entered: dict[str, int]) -> str | None:
    most = {each.name: each.entries for each in machine.states}
    for each in machine.transitions:
        if (each.source, each.when) == (at, on) and entered.get(each.to, 0) < most.get(each.to, MOST_STEPS):
            return each.to
    if at == "VALIDATING":
        return "PUBLISHED"
    return "QUARANTINED" if on in {"declined", "expired"} else None


def _flags(run: tuple[Seen, ...]) -> tuple[bool, bool]:
    """Whether somebody declined, and whether the last question has no approval."""
    answers = [each.on for each in run if each.on in {"approved", "expired"}]
    return any(each.on == "declined" for each in run), bool(answers) and answers[-1] == "expired"
