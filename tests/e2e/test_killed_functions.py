"""A function that dies between two effects: the next worker finds the workload in the same state."""

from __future__ import annotations

import os
import signal

import pytest

from lakegate.gate.delivery.advance import completion
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.protocol import State
from lakegate.gate.effects import Effect, run
from tests.e2e.deployed import Deployed, until
from tests.e2e.killing import die_after

INTAKE = (
    Effect.CLAIM,
    Effect.PIN,
    Effect.STAGE,
    Effect.MARK_STAGED,
    Effect.WRITE_REQUEST,
    Effect.SUBMIT,
    Effect.START_JOB,
    Effect.MARK_STARTED,
)
COMPLETION = (
    Effect.DECIDE,
    Effect.COPY,
    Effect.COMMIT,
    Effect.WRITE_MANIFEST,
    Effect.DELETE_SOURCE,
    Effect.DELETE_STAGING,
    Effect.WRITE_REPORT,
)


def test_an_intake_that_dies_after_any_of_its_effects_loses_nothing(stack: Deployed) -> None:
    """Eight deliveries, each abandoned behind another effect; one sweep carries all of them to their end, each once.

    Job runs judge those that were abandoned while theirs was started, the judge function the others.
    """
    started = INTAKE[INTAKE.index(Effect.SUBMIT) :]
    bodies = {effect: stack.larger() if effect in started else stack.fresh() for effect in INTAKE}
    killed = {effect: stack.upload_unseen(body) for effect, body in bodies.items()}
    for effect, landed in killed.items():
        die_after(effect, intake(stack.dependencies, stack.dependencies.places.landing, landed.key))
    stack.sweep_later(6)
    rows = {effect: stack.finished(landed) for effect, landed in killed.items()}

    assert dict.fromkeys(INTAKE, (State.PUBLISHED, 1, 1)) == {
        effect: (row.state, row.attempt, stack.blocks(row)) for effect, row in rows.items()
    }


@pytest.mark.full  # tests/simulation has every crash of a completion; an intake that dies is above
def test_a_completion_that_dies_after_any_of_its_effects_loses_nothing(stack: Deployed) -> None:
    """Seven deliveries whose run has ended, each abandoned after another effect of publication; then one sweep."""
    stack.order(times=len(COMPLETION), events="drop")
    killed = {effect: stack.upload(stack.larger()) for effect in COMPLETION}
    for effect, landed in killed.items():
        run_of = stack.reached(landed, State.VALIDATING).run
        prefix = f"runs/{landed.workload}/attempt=1/result.json"
        until("the result is written", lambda prefix=prefix: stack.objects(prefix))
        die_after(effect, completion(stack.dependencies, run_of))
    stack.sweep_later(6)
    rows = {effect: stack.finished(landed) for effect, landed in killed.items()}

    assert dict.fromkeys(COMPLETION, (State.PUBLISHED, 1, 1, False)) == {
        effect: (row.state, len(stack.destinations(row)), stack.blocks(row), stack.in_landing(killed[effect]))
        for effect, row in rows.items()
    }


def test_a_function_killed_while_it_starts_a_job_starts_no_second_one(stack: Deployed) -> None:
    """SIGKILL between asking EMR Serverless and hearing its answer: the same request, sent again, is the same run."""
    service = stack.state.pids["emr"]
    os.kill(service, signal.SIGSTOP)
    try:
        landed = stack.upload(stack.larger())
        stack.reached(landed, State.SUBMITTING)
        assert stack.kill_function("IntakeFunction") >= 1
    finally:
        os.kill(service, signal.SIGCONT)
    stack.sweep_later(6)
    row = stack.finished(landed)

    assert (row.state, row.attempt, len(stack.runs(landed)), stack.blocks(row)) == (State.PUBLISHED, 1, 1, 1)


@pytest.mark.full  # tests/simulation/test_storms.py has the same race
def test_a_sweep_and_a_function_at_once_come_to_one_end(stack: Deployed) -> None:
    """Several workers on one workload: each effect happens, none twice in a way that shows."""
    landed = stack.upload_unseen(stack.larger())
    for _ in range(3):
        run(intake(stack.dependencies, stack.dependencies.places.landing, landed.key), stack.dependencies.clock)
        stack.sweep()
    row = stack.finished(landed)

    assert (row.state, len(stack.runs(landed)), stack.blocks(row)) == (State.PUBLISHED, 1, 1)
