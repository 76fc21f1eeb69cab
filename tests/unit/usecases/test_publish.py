"""A contract becomes valid: plans first, then version and routes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from contracts.errors import InputError, LakegateError
from contracts.routes import Route
from functions.memory import Memory
from functions.ports import (
    Address,
    Publication,
)
from functions.usecases.publish import publish_contract
from functions.usecases.steps import Effect
from tests.simulation.meaning import DIGESTS
from tests.simulation.world import LAKE, LANDING, World
from tests.unit.usecases.worlds import (
    drive,
)

ROUTE = Route(LANDING, "new/", "new", "lines", 1, "1.0.0", "active", DIGESTS["1.0.0"])


PUBLICATION = Publication("new", "1.0.0", "active", "contracts/new", (ROUTE,))


def test_a_contract_is_published_after_its_plans_and_twice_is_once() -> None:
    """No route ever names a plan that is not there."""
    world = World()
    effects = []
    for _ in range(2):
        steps = publish_contract(world.gate, PUBLICATION, (b'{"plan": 1}',))
        call = next(steps)
        while True:
            effects.append(call.effect)
            try:
                answer = call.do()
            except LakegateError as refused:
                call = steps.throw(refused)
                continue
            try:
                call = steps.send(answer)
            except StopIteration:
                break

    assert effects == [Effect.WRITE_PLAN, Effect.PUBLISH] * 2
    assert world.gate.registry.routes(LANDING, ("new/",)) == (ROUTE,)


def test_a_prefix_is_taken_away() -> None:
    """A publication may retire prefixes of its line."""
    world = World()
    drive(world.gate, publish_contract(world.gate, PUBLICATION, ()))
    moved = replace(PUBLICATION, routes=(replace(ROUTE, prefix="moved/"),), retired=("new/",))
    drive(world.gate, publish_contract(world.gate, moved, ()))

    assert [route.prefix for route in world.gate.registry.routes(LANDING, ("new/", "moved/"))] == ["moved/"]


def test_the_twins_know_the_limits_of_aws() -> None:
    """Batches, transactions, keys and tokens are bounded as AWS bounds them."""
    memory = Memory.of(LAKE)
    many = tuple(replace(ROUTE, prefix=f"{number}/") for number in range(100))
    for beyond in (
        lambda: memory.registry.routes(LAKE, tuple("x" * 101)),
        lambda: memory.registry.publish(replace(PUBLICATION, routes=many)),
        lambda: memory.objects.put(Address(LAKE, "x" * 1_025), b""),
        lambda: memory.objects.put(Address(LAKE, ""), b""),
        lambda: memory.jobs.start({"clientToken": "a b", "name": "w"}),
        lambda: memory.jobs.start({"clientToken": "a", "name": "w" * 65}),
    ):
        with pytest.raises(InputError):
            beyond()


def test_a_delete_of_what_never_was_leaves_no_marker() -> None:
    """The twin stays lean: nothing is hidden where nothing was."""
    memory = Memory.of(LAKE)
    memory.objects.delete(Address(LAKE, "x"))
    memory.objects.delete(Address(LAKE, "x", "v1"))

    assert memory.objects.buckets[LAKE] == {}
