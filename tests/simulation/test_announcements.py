"""An announced delivery in every order: the announcement, the data, S3's event and `notify`, each with every kind of fault."""

from __future__ import annotations

from functools import partial
from itertools import permutations

import pytest

from lakegate.features.announcements.announced_delivery import Announcement
from lakegate.gate.delivery.protocol import State
from lakegate.gate.effects import Effect
from tests.simulation.environment import Environment
from tests.simulation.planted import Planted, planted
from tests.simulation.promises import Violation
from tests.simulation.stage import KINDS, Fault, Stage, settle

UPLOAD, EVENT, NOTIFY, SWEEP = "upload", "event", "notify", "sweep"
ORDERS = sorted(
    {
        order
        for happened in ((UPLOAD,), (UPLOAD, EVENT), (UPLOAD, NOTIFY), (UPLOAD, EVENT, EVENT, NOTIFY, NOTIFY, SWEEP))
        for order in permutations(happened)
        if EVENT not in order[: order.index(UPLOAD)]
    }
)
"""The event is lost, late or doubled, but S3 sends none before the data is there."""
PLAYED = [(effect, kind) for effect in (Effect.ANNOUNCE, Effect.HINT, Effect.LINK, Effect.CLAIM) for kind in KINDS]
BUGS = (
    Planted(
        "claimed before it is linked",
        "lakegate.gate.delivery.intake.admit",
        "yield from before_claim(dependencies, workload)",
        "pass",
    ),
    Planted(
        "linked by the looks of the key",
        "lakegate.features.announcements.announced_delivery.link",
        "not announced.takes(key)",
        "not key.startswith(announced.key.rpartition('/')[0])",
    ),
)


def play(order: tuple[str, ...], planned: tuple[Effect, Fault] | None = None, beside: str = "") -> Environment:
    """One announced delivery to its end, with a fault at the first occurrence of an effect; raises Violation.

    The producer announces again until an announcement is kept. `beside`: something else lands in the folder of the key first.
    """
    left = [planned] if planned else []

    def fault_at(effect: Effect) -> Fault:
        return left.pop()[1] if left and left[0][0] is effect else Fault.NONE

    env = Environment()
    stage = Stage(env, fault_at)
    announced = _announced(stage)
    if beside:
        env.upload(announced.key.replace("data.csv", beside), b"good:2")
    for happens in order:
        if happens == UPLOAD:
            env.upload(announced.key, b"good:1")
            env.inbox.clear()
        elif happens == EVENT:
            env.inbox.append(("landed", announced.key))
            stage.deliver(0)
        elif happens == NOTIFY:
            stage.say_available(announced)
        else:
            stage.sweep(20)
        _finish(stage)
    settle(stage)
    return env


def _announced(stage: Stage) -> Announcement:
    """What is kept in the end."""
    kept = stage.env.memory.announcements
    while not kept:
        stage.announce()
        _finish(stage)
        while stage.asleep:
            stage.wake()
            _finish(stage)
    return next(iter(kept.values()))


def _finish(stage: Stage) -> None:
    while stage.workers:
        stage.step(stage.workers[0])


def test_each_order_ends_with_one_workload_to_which_the_announcement_leads() -> None:
    """However often events come, or none at all: the data is accepted once."""
    for order in ORDERS:
        env = play(order)
        (announced,) = env.memory.announcements
        rows = env.memory.workloads
        link = rows[announced]
        states = sorted(row.state for row in rows.values())
        assert states == [State.JOINED, State.PUBLISHED], order
        assert rows[link.joined].state is State.PUBLISHED


@pytest.mark.parametrize("planned", PLAYED, ids=lambda each: f"{each[0].name}-{each[1].name}")
def test_each_order_survives_each_fault(planned: tuple[Effect, Fault]) -> None:
    """A crash, a lost answer, a repetition or a delay at each effect of announcements, in a sample of the orders."""
    for order in ORDERS[:: max(1, len(ORDERS) // 12)]:
        env = play(order, planned)
        workloads = [row for row in env.memory.workloads.values() if row.state is not State.JOINED]
        assert [row.state for row in workloads] == [State.PUBLISHED], order


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_bug_in_announcements_is_found(bug: Planted) -> None:
    """With the bug planted, a promise breaks."""
    with planted(bug), pytest.raises(Violation, match="P3"):
        list(map(partial(play, beside="other.csv"), ORDERS))
