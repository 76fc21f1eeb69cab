"""Every attempt whose cost is known is part of the cost of its delivery, of the event about it, and of the sums."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from datetime import UTC, datetime

from lakegate.features.cost.costs_by_group import NOBODY, Spent, spent_by
from lakegate.gate.delivery.delivery_row import Workload
from lakegate.gate.delivery.find_deliveries import Delivery, delivery_of
from lakegate.gate.ports import Address
from lakegate.plan.billed_cost import PRICES, BilledCost, cost_of_job
from lakegate.plan.result import Result
from tests.fakes.jobs import Ending
from tests.simulation.environment import LAKE, PREFIX, Environment
from tests.simulation.stage import Fault, Stage, settle
from tests.unit.gate.scenarios import KEY

RUN = cost_of_job(PRICES, 0.5, 1.75)
"""What a run of the in-memory EMR Serverless is billed."""


def settled(*endings: Ending, body: bytes = b"good:1", judge: bool = False) -> tuple[Environment, Workload]:
    env = Environment(list(endings), judge=judge)
    upload = env.upload(KEY, body)
    settle(Stage(env, lambda _: Fault.NONE))
    return env, env.dependencies.workloads.get(upload.workload)


def event(env: Environment) -> dict[str, object]:
    (message,) = {each.id: each for each in env.memory.notifier.sent}.values()
    body: dict[str, object] = json.loads(message.body)
    return body


def test_a_run_costs_what_was_billed() -> None:
    """The row and the event have it."""
    env, row = settled()

    assert row.cost == RUN
    assert event(env)["cost"] == asdict(RUN)


def test_failed_attempts_are_part_of_the_cost() -> None:
    """A delivery that needed two runs costs both; one that FAILED costs all three."""
    _, corrected = settled(Ending.FAILED)
    _, failed = settled(*(Ending.FAILED,) * 3)

    assert corrected.cost == RUN.plus(RUN)
    assert failed.cost == RUN.plus(RUN).plus(RUN)


def test_a_delivery_without_a_run_has_no_cost() -> None:
    """It was refused at the door."""
    env, row = settled(body=b"%PDF:1")

    assert row.cost is None
    assert event(env)["cost"] is None


def test_an_invocation_costs_what_its_result_says() -> None:
    """Lambda describes no invocation: the function writes its own cost; of a broken result nothing is believed."""
    known = BilledCost(1.0, 2.0, 0.1, "USD", "2026-11-22")
    costs = []
    for ending in (Ending.ANSWERED, Ending.CONFUSED):
        env = Environment([ending], judge=True)
        upload = env.upload(KEY, b"good:1")
        stage = Stage(env, lambda _: Fault.NONE)
        where = Address(LAKE, f"runs/{upload.workload}/attempt=1/result.json")
        stage.deliver(0)
        while stage.workers:
            stage.step(stage.workers[0])
        result = Result.from_bytes(env.memory.objects.read(where))
        env.memory.objects.put(where, replace(result, cost=known).to_bytes())
        settle(stage)
        costs.append(env.dependencies.workloads.get(upload.workload).cost)

    assert costs == [known, RUN]


def test_sums_are_by_line_producer_and_day() -> None:
    """Each delivery is in one group of each kind; one of unknown cost is counted."""
    env, row = settled()
    at = datetime(2026, 11, 22, 23, 59, tzinfo=UTC)
    known = replace(delivery_of(row), at=at)
    nobody = Delivery("w", "", 0, None)
    other = Delivery("x", "elsewhere/a.csv", 1, at)
    groups = {name: spent_by(name, [known, known, other, nobody]) for name in ("line", "producer", "day")}
    twice, unknown = Spent(2, 0, RUN.plus(RUN)), Spent(1, 1, None)

    assert groups == {
        "line": {NOBODY: Spent(2, 2, None), "orders/lines_v1": twice},
        "producer": {NOBODY: unknown, "elsewhere/": unknown, PREFIX: twice},
        "day": {NOBODY: unknown, "2026-11-22": Spent(3, 1, RUN.plus(RUN))},
    }
    assert list(groups["producer"]) == sorted(groups["producer"])
    assert spent_by("line", [delivery_of(row, env.memory.chains["orders/lines_v1"][0])]) == {
        "orders/lines_v1": Spent(1, 0, RUN)
    }
