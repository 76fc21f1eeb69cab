"""States of a workflow's own: what the proof accepts keeps every promise, what it refuses has a run that breaks one."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakegate.features.workflows.prove_workflow import prove
from lakegate.features.workflows.workflow_document import read_workflow
from lakegate.gate.delivery.protocol import State
from lakegate.plan.planned_workflow import PlannedWorkflow
from tests.simulation.choices import Choices
from tests.simulation.promises import Violation
from tests.simulation.random_machines import broken_run, random_machine
from tests.simulation.schedules import run
from tests.simulation.workflows import following

EXAMPLES = sorted((Path(__file__).parents[2] / "contracts/examples/workflows").glob("*.yaml"))
MACHINES = [40, pytest.param(1_000, marks=pytest.mark.full)]
SCHEDULES = 10
"""Of each machine."""


def keeps_promises(workflow: PlannedWorkflow, seeds: range) -> set[tuple[State, State]]:
    """The steps that were taken in schedules of the real use cases."""
    taken = set()
    with following(workflow):
        for seed in seeds:
            try:
                taken |= run(Choices(seed)).taken
            except Violation as broken:
                pytest.fail(f"seed {seed}: {workflow} breaks a promise: {broken}")
    return taken


def test_the_proof_refuses_exactly_what_can_break_a_guarantee() -> None:
    """Of 1,000 random machines: a refused one has a run that breaks one, in an interpreter without guards, and no other has."""
    refused = 0
    for seed in range(1_000):
        machine = random_machine(seed)
        proof, broken = prove(machine), broken_run(machine)
        assert bool(proof.broken) is (broken is not None), f"{machine}\n{proof}\n{broken}"
        refused += bool(proof.broken)

    assert 300 < refused < 800


@pytest.mark.simulation
@pytest.mark.parametrize("number", MACHINES)
def test_every_machine_that_is_accepted_keeps_the_promises(number: int) -> None:
    """Random machines, played by the real use cases under random faults."""
    taken, played = set[tuple[State, State]](), 0
    for seed in range(number):
        machine = random_machine(seed)
        if not prove(machine).broken:
            played += 1
            taken |= keeps_promises(machine, range(seed * SCHEDULES, (seed + 1) * SCHEDULES))

    assert played > number // 5
    wanted = {
        (State.VALIDATING, State.PASSING),
        (State.PASSING, State.AWAITING),
        (State.AWAITING, State.ANSWERED),
        (State.ANSWERED, State.DECIDED),
        (State.SCHEDULED, State.DECIDED),
    }
    assert wanted <= taken


@pytest.mark.simulation
@pytest.mark.parametrize("number", [20, pytest.param(500, marks=pytest.mark.full)])
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda each: each.stem)
def test_every_example_keeps_the_promises(example: Path, number: int) -> None:
    """The documents of contracts/examples/workflows, played by the real use cases under random faults."""
    assert (State.DECIDED, State.PUBLISHED) in keeps_promises(read_workflow(example.read_bytes()), range(number))
