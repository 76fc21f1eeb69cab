"""Rules that another service measures: each effect with each fault, while the service answers, is slow, fails and lies.

At the end of each run: the verdict follows from the document with all answers that was kept first, whose digest was decided on;
and a service that does not answer rightly leads to FAILED, with its cause, and never to a block.
"""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING

import pytest

from lakegate.base.errors import NotFound, PortError, Throttled, Unanswered
from lakegate.features.external_validators.registered_validators import remove_validator
from lakegate.features.external_validators.validator_client import ExternalValidation
from lakegate.gate.delivery.advance import advance
from lakegate.gate.delivery.delivery_row import FailureCause
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.effects import Effect, run
from tests.fakes.validators import answer_of, results_of
from tests.simulation.stage import Fault
from tests.simulation.validated import FAULTS, ValidatedDataset, Worker, broken

if TYPE_CHECKING:
    from tests.simulation.validated import Answer

SCHEDULES = 5_000 if os.environ.get("LAKEGATE_FULL") else 150
C = FailureCause


def _other(validation: ExternalValidation) -> bytes:
    return answer_of(validation._replace(name="0" * 64))


def _unknown(validation: ExternalValidation) -> bytes:
    return answer_of(validation, result=[{**results_of(validation)[0], "id": "another"}, *results_of(validation)])


def _running(validation: ExternalValidation) -> bytes:
    return answer_of(validation, status="Running", result=[])


LIES: dict[str, tuple[Answer, FailureCause]] = {
    "another validation": (_other, C.WRONG_ANSWER),
    "a rule that was not asked": (_unknown, C.WRONG_ANSWER),
    "no result of a rule": (lambda asked: answer_of(asked, result=[]), C.WRONG_ANSWER),
    "two results of a rule": (lambda asked: answer_of(asked, result=results_of(asked) * 2), C.WRONG_ANSWER),
    "another technology": (
        lambda asked: answer_of(asked, result=results_of(asked, technology="Deequ")),
        C.WRONG_ANSWER,
    ),
    "no success": (lambda asked: answer_of(asked, result=results_of(asked, severity={})), C.WRONG_ANSWER),
    "no JSON": (lambda _: b"<html>", C.WRONG_ANSWER),
    "an endless answer": (lambda _: b"[" * (1 << 20), C.WRONG_ANSWER),
    "more than is read": (lambda asked: answer_of(asked, padding="x" * (1 << 20)), C.VALIDATOR_REFUSED),
    "it could not": (lambda asked: answer_of(asked, status="NOK", result=[]), C.VALIDATOR_REFUSED),
    "it knows of none": (lambda _: NotFound("http-404"), C.VALIDATOR_REFUSED),
    "it refuses": (lambda _: PortError("http-403"), C.VALIDATOR_REFUSED),
    "it is slow": (_running, C.VALIDATOR_LATE),
    "it is away": (lambda _: Unanswered("http-503"), C.VALIDATOR_UNREACHABLE),
    "it is throttled": (lambda _: Throttled("http-429"), C.VALIDATOR_UNREACHABLE),
}
"""What a service answers, and why attempts come to nothing."""


def effects(dataset: ValidatedDataset) -> list[Effect]:
    """The effects of one worker from intake to the end, with the jobs answered on the way."""
    seen = []
    worker = Worker(dataset.intake())
    while worker.call is not None:
        seen.append(worker.call.effect)
        worker.turn()
    dataset.answer_jobs()
    worker = Worker(advance(DeliveryTurn(dataset.env.dependencies, dataset.row)))
    while worker.call is not None:
        seen.append(worker.call.effect)
        worker.turn()
    return seen


def played(dataset: ValidatedDataset, at: int, fault: Fault) -> ValidatedDataset:
    """The same with a fault at one effect, and sweeps afterwards."""
    count = 0
    for steps in (dataset.intake, lambda: advance(DeliveryTurn(dataset.env.dependencies, dataset.row))):
        if dataset.upload.workload not in dataset.env.memory.workloads and count:
            break
        worker = Worker(steps())
        while worker.call is not None:
            worker.turn(fault if count == at else Fault.NONE)
            dataset.hold()
            count += 1
        dataset.answer_jobs()
    return dataset.settled()


@pytest.mark.simulation
@pytest.mark.parametrize("judge", [False, True])
@pytest.mark.parametrize(("answer", "end"), [(answer_of, State.PUBLISHED), (broken, State.QUARANTINED)])
def test_every_effect_may_fail_in_every_way(answer: Answer, end: State, judge: bool) -> None:  # noqa: FBT001 - a case
    """Whatever fails once, what the service answers decides; an attempt is lost only where its start was not answered."""
    all_effects = effects(ValidatedDataset.of(answer, judge=judge))

    assert all_effects.index(Effect.START_VALIDATION) < all_effects.index(Effect.START_JOB)
    assert all_effects.index(Effect.KEEP_ANSWERS) < all_effects.index(Effect.DECIDE)
    for at, effect in enumerate(all_effects):
        for fault in FAULTS:
            dataset = played(ValidatedDataset.of(answer, judge=judge), at, fault)
            is_lost = (effect, fault) == (Effect.START_VALIDATION, Fault.UNANSWERED)

            assert (dataset.row.state, [each.cause for each in dataset.row.failed]) == (
                end,
                [C.VALIDATOR_UNREACHABLE] if is_lost else [],
            ), (effect, fault)


@pytest.mark.simulation
@pytest.mark.parametrize("name", LIES)
def test_what_is_no_answer_fails_the_delivery(name: str) -> None:
    """It counts neither as kept to nor as broken: each attempt is lost with the cause, and after the last one it is FAILED."""
    answer, cause = LIES[name]
    for body in (b"good:1", b"bad:1"):
        dataset = ValidatedDataset.of(answer, body).settled()

        assert (dataset.row.state, [each.cause for each in dataset.row.failed]) == (State.FAILED, [cause] * 3)
        assert dataset.env.memory.ledger.blocks("orders/lines_v1") == ()
        assert [key for key in dataset.env.lake if key.startswith(("accepted/", "quarantine/"))] == []
        assert len(dataset.env.memory.validators.started) == 3


@pytest.mark.simulation
@pytest.mark.parametrize(
    ("refusal", "cause"),
    [
        (Unanswered("http-503"), C.VALIDATOR_UNREACHABLE),
        (Throttled("http-429"), C.VALIDATOR_UNREACHABLE),
        (PortError("http-400"), C.VALIDATOR_REFUSED),
    ],
)
def test_a_service_that_cannot_be_started_fails_the_delivery(refusal: PortError, cause: FailureCause) -> None:
    """No run is started for an attempt whose rules nobody would measure."""
    dataset = ValidatedDataset.of()
    dataset.env.memory.validators.refusal = refusal
    dataset.settled()

    assert (dataset.row.state, [each.cause for each in dataset.row.failed]) == (State.FAILED, [cause] * 3)
    assert [each.id for each in dataset.env.memory.jobs.runs.values()] == [dataset.env.stranger]


@pytest.mark.simulation
def test_an_unregistered_validator_gets_nothing() -> None:
    """One that is removed, before or while an attempt needs it, is neither started nor asked, and the delivery is FAILED."""
    never = ValidatedDataset.of(registered=False).settled()
    removed = ValidatedDataset.of()
    run(removed.intake(), removed.env.memory.clock)
    run(remove_validator(removed.env.dependencies, "probe"), removed.env.memory.clock)
    removed.settled()

    for dataset in (never, removed):
        assert (dataset.row.state, [each.cause for each in dataset.row.failed]) == (State.FAILED, [C.NO_VALIDATOR] * 3)
        assert dataset.env.memory.validators.asked == []
    assert (len(never.env.memory.validators.started), len(removed.env.memory.validators.started)) == (0, 1)


@pytest.mark.simulation
def test_a_service_that_is_away_for_some_minutes_costs_no_delivery() -> None:
    """Attempts that its absence has cost are minutes apart, and a poll that is not answered costs none before the deadline."""
    starting = ValidatedDataset.of()
    starting.env.memory.validators.refusal = Unanswered("http-503")
    run(starting.intake(), starting.env.memory.clock)
    starting.env.memory.clock.sleep(60)
    starting.env.memory.validators.refusal = None
    starting.settled()

    asked = ValidatedDataset.of(lambda _: Unanswered("http-503"))
    run(asked.intake(), asked.env.memory.clock)
    asked.answer_jobs()
    run(advance(DeliveryTurn(asked.env.dependencies, asked.row)), asked.env.memory.clock)
    asked.env.memory.validators.answer = answer_of
    asked.settled()

    assert [len(dataset.row.failed) for dataset in (starting, asked)] == [1, 0]
    assert [dataset.row.state for dataset in (starting, asked)] == [State.PUBLISHED] * 2


def scheduled(seed: int) -> ValidatedDataset:
    """Workers in a random order with random faults, while a service answers now this and now that."""
    draw = random.Random(seed)

    def answer(validation: ExternalValidation) -> bytes | PortError:
        lies = [each for each, _ in LIES.values()]
        return draw.choice([answer_of, broken, *draw.choices(lies, k=3)])(validation)

    dataset = ValidatedDataset.of(answer, draw.choice([b"good:1", b"good:1", b"bad:1"]), judge=draw.random() < 0.3)
    workers = [Worker(dataset.intake())]
    for _ in range(60):
        move = draw.randrange(6)
        if move == 0 and len(workers) < 4:
            row = dataset.env.memory.workloads.get(dataset.upload.workload)
            workers.append(
                Worker(advance(DeliveryTurn(dataset.env.dependencies, row)) if row is not None else dataset.intake())
            )
        elif move == 1:
            dataset.answer_jobs()
        elif workers:
            draw.choice(workers).turn(draw.choice(FAULTS) if draw.random() < 0.08 else Fault.NONE)
        dataset.hold()
    while any(each.call is not None for each in workers):
        draw.choice(workers).turn()
        dataset.hold()
    return dataset.settled()


@pytest.mark.simulation
def test_of_several_answers_the_one_that_was_kept_decides() -> None:
    """However workers interleave, and whatever a service answers to each: one document is kept, and everybody decides by it."""
    ends = {scheduled(seed).row.state for seed in range(SCHEDULES)}

    assert ends == {State.PUBLISHED, State.QUARANTINED, State.FAILED}
