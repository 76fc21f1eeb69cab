"""Ticks that end in the middle, or are overtaken: what is left is finished once, by the next one."""

from __future__ import annotations

import pytest

from lakegate.base.errors import PortError
from lakegate.features.pull.pull_task import LEASE
from lakegate.gate.datasets.dataset_states import DatasetRowStore
from lakegate.gate.effects import Call, Effect, Steps
from lakegate.gate.scheduled_tasks import Turn
from tests.simulation.environment import LANDING
from tests.unit.features.pull.pull_stage import LINE, PullStage, scheduled

SMALL, LARGE = b"id", b"id\n1\n2\n3\n4"


def until(steps: Steps[Turn], effect: Effect, number: int = 1) -> Call:
    """Perform a tick up to the first effect of a kind, or a later one, which is not performed."""
    call = next(steps)
    while call.effect is not effect or number > 1:
        number -= call.effect is effect
        call = steps.send(call.do())
    return call


def after_the_lease(stage: PullStage) -> None:
    """A tick once the one before has lost its line."""
    stage.tick(LEASE.total_seconds() / 3_600)


@pytest.mark.parametrize("body", [SMALL, LARGE])
def test_an_object_that_is_there_is_not_fetched_again(body: bytes) -> None:
    """The tick ended between landing it and writing so."""
    stage = scheduled(body)
    steps = stage.steps()
    until(steps, Effect.LAND).do()
    steps.close()
    after_the_lease(stage)

    assert (stage.bodies, stage.ends, len(stage.source.opened)) == ([body], [("FETCHED", "")], 1)


def test_parts_that_are_all_there_need_no_source() -> None:
    """The tick ended between the last part and the object."""
    stage = scheduled(LARGE)
    steps = stage.steps()
    until(steps, Effect.LAND)
    steps.close()
    stage.source.failure = PortError("http-404")
    after_the_lease(stage)

    assert (stage.bodies, stage.ends) == ([LARGE], [("FETCHED", "")])


@pytest.mark.parametrize("effect", [Effect.LAND_PART, Effect.LAND])
def test_what_was_begun_below_another_route_begins_again(effect: Effect) -> None:
    """An object at the old key would be a delivery to nobody, or to another line."""
    stage = scheduled(LARGE)
    steps = stage.steps()
    until(steps, effect)
    steps.close()
    stage.publish(prefix="partner/moved/")
    after_the_lease(stage)
    (key,) = [each.key for each in stage.env.memory.objects.versions(LANDING, "").versions]

    assert (key.startswith("partner/moved/"), stage.ends) == (True, [("FETCHED", "")])
    assert stage.landing.uploads == {}


@pytest.mark.parametrize("body", [SMALL, LARGE])
def test_an_object_that_is_there_after_an_error_is_fetched(body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """An effect that happened and was answered by an error has happened."""
    stage = scheduled(body)
    for target, name in ((stage.landing, "complete"), (stage.env.memory.objects, "put")):
        monkeypatch.setattr(target, name, _happens_and_fails(getattr(target, name)))
    stage.tick()

    assert (stage.bodies, stage.ends) == ([body], [("FETCHED", "")])


def _happens_and_fails(do: object) -> object:
    def act(*given: object, **named: object) -> None:
        do(*given, **named)  # type: ignore[operator] # any method
        raise PortError("InternalError")

    return act


@pytest.mark.parametrize("breaks_at", [None, 8])
@pytest.mark.parametrize(
    ("effect", "number"),
    [
        (Effect.LAND_PART, 1),
        (Effect.LAND_PART, 2),
        (Effect.LAND, 1),
        *((Effect.WRITE_ROW, each) for each in (1, 2, 3, 4)),
    ],
)
def test_a_tick_that_lost_its_lease_writes_nothing_more(effect: Effect, number: int, breaks_at: int | None) -> None:
    """Another one has finished the pull meanwhile: there is one object, and one end."""
    stage = scheduled(LARGE)
    slow = stage.steps()
    call = until(slow, effect, number)
    after_the_lease(stage)
    stage.source.breaks_at = breaks_at
    with pytest.raises(StopIteration):
        _finish(slow, call)

    assert (stage.bodies, stage.ends) == ([LARGE], [("FETCHED", "")])


def _finish(steps: Steps[Turn], call: Call) -> None:
    while True:
        try:
            answer = call.do()
        except PortError as refused:
            call = steps.throw(refused)
        else:
            call = steps.send(answer)


def test_an_index_that_lags_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The row says when it is due."""
    stage = scheduled(SMALL)
    stage.tick()
    monkeypatch.setattr(DatasetRowStore, "due", lambda *_: (LINE,))
    stage.tick()

    assert (len(stage.source.opened), stage.row.leased) == (1, "")
