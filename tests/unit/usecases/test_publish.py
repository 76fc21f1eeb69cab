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
from functions.usecases.publish import Edition, publish, publish_contract
from functions.usecases.routing import add_route, remove_route
from functions.usecases.steps import Effect
from tests.simulation.meaning import DIGESTS
from tests.simulation.world import LAKE, LANDING, PREFIX, World
from tests.unit.usecases.worlds import (
    drive,
    resumed,
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


EDITION = Edition("shop", "1.0.0", "active", b"shop 1", {"orders": b'{"plan": 1}', "lines": b'{"plan": 2}'})


def published(world: World, version: str = "1.0.0", **changes: object) -> Publication:
    body = f"shop {version}".encode()
    edition = replace(EDITION, **{"version": version, "document": body, **changes})  # type: ignore[arg-type] # any edition
    return drive(world.gate, publish(world.gate, edition))  # type: ignore[return-value] # drive tells no type


def route(world: World, prefix: str = "a/", dataset: str = "orders", line: int = 1) -> Route:
    return drive(world.gate, add_route(world.gate, prefix, "shop", dataset, line))  # type: ignore[return-value] # likewise


def versions_at(world: World, *prefixes: str) -> list[str]:
    return [each.version for each in world.gate.registry.routes(LANDING, prefixes)]


def test_an_edition_is_published_with_its_document_and_its_plans() -> None:
    """Both lie at the digest of their bytes before the registry names them; said twice, nothing changes."""
    world = World()
    first, second = published(world), published(world)
    lake = world.memory.objects.current(LAKE)

    assert first == second
    assert lake[first.document] == b"shop 1.0.0"
    assert {lake[f"plans/{plan}.json"] for _dataset, plan in first.plans} == set(EDITION.plans.values())
    assert first in world.gate.registry.shelf().versions


def test_a_published_number_keeps_its_content() -> None:
    """A changed document needs a new number, and the person is told so."""
    world = World()
    published(world)
    with pytest.raises(InputError, match="new number"):
        published(world, document=b"changed")


def test_a_new_version_takes_over_the_routes_of_its_line() -> None:
    """Routes of another line stay with it."""
    world = World()
    published(world, "1.0.0")
    published(world, "2.0.0")
    route(world, "one/", line=1)
    route(world, "two/", line=2)
    published(world, "1.1.0")

    assert versions_at(world, "one/", "two/") == ["1.1.0", "2.0.0"]


def test_an_older_version_takes_nothing_over() -> None:
    """A late publication of what came before does not send routes back."""
    world = World()
    published(world, "1.1.0")
    route(world)
    published(world, "1.0.9")

    assert versions_at(world, "a/") == ["1.1.0"]


def test_a_route_added_while_a_version_is_published_carries_that_version() -> None:
    """The publisher looks again after writing, and so does whoever adds the route: the later look sees both."""
    world = World()
    published(world, "1.0.0")
    steps = add_route(world.gate, "a/", "shop", "orders", 1)
    call = next(steps)
    published(world, "1.1.0")

    assert drive(world.gate, resumed(steps, call)) == world.gate.registry.routes(LANDING, ("a/",))[0]
    assert versions_at(world, "a/") == ["1.1.0"]


def test_publishers_that_overlap_leave_the_highest_version() -> None:
    """Whoever writes last looks again, and mends."""
    world = World()
    published(world, "1.0.0")
    route(world)
    slow = publish(world.gate, replace(EDITION, version="1.1.0", document=b"shop 1.1.0"))
    call = next(slow)
    published(world, "1.2.0")
    drive(world.gate, resumed(slow, call))

    assert versions_at(world, "a/") == ["1.2.0"]


def test_a_version_without_a_dataset_that_is_delivered_to_is_refused() -> None:
    """Nothing is written: a route never points at what is not there."""
    world = World()
    published(world)
    route(world, dataset="lines")
    with pytest.raises(InputError, match="no dataset lines"):
        published(world, "1.1.0", plans={"orders": b"{}"})

    assert versions_at(world, "a/") == ["1.0.0"]
    assert "1.1.0" not in {each.version for each in world.gate.registry.shelf().versions if each.contract == "shop"}


@pytest.mark.parametrize("name", ["", "a/b", "../a", ".a", "_unrouted", " a", "a\n", "\u202ea", "ä" * 65])
def test_a_name_that_can_be_no_folder_is_refused(name: str) -> None:
    """Contract and dataset name folders of the lake; ours begin with an underscore."""
    for changes in ({"contract": name}, {"plans": {name: b"{}"}}):
        with pytest.raises(InputError, match="folder"):
            published(World(), **changes)


def test_a_route_needs_a_version_and_a_dataset() -> None:
    """What is not published cannot be delivered to."""
    world = World()
    published(world)
    for wrong in ({"line": 2}, {"dataset": "none"}):
        with pytest.raises(InputError):
            route(world, **wrong)  # type: ignore[arg-type] # one or the other

    assert versions_at(world, "a/") == []


def test_a_prefix_changes_hands_only_by_being_given_up() -> None:
    """Neither another line, nor another contract, takes a prefix that is taken; once removed it is free."""
    world = World()
    published(world)
    published(world, "2.0.0")
    first = route(world)
    for taken in (("a/", "orders", 2), (PREFIX, "orders", 1)):
        with pytest.raises(InputError, match="remove that route first"):
            route(world, *taken)

    assert drive(world.gate, remove_route(world.gate, "a/")) == first
    assert route(world, line=2).version == "2.0.0"


def test_a_prefix_taken_meanwhile_is_refused_by_the_transaction() -> None:
    """Between reading and writing another contract was faster: its route stays."""
    world = World()
    published(world)
    steps = add_route(world.gate, "a/", "shop", "orders", 1)
    call = next(steps)
    drive(world.gate, publish_contract(world.gate, replace(PUBLICATION, routes=(replace(ROUTE, prefix="a/"),)), ()))
    with pytest.raises(InputError, match="another contract"):
        drive(world.gate, resumed(steps, call))


def test_what_is_not_routed_cannot_be_removed() -> None:
    """Absence is said."""
    world = World()
    with pytest.raises(InputError, match="no route"):
        drive(world.gate, remove_route(world.gate, "nowhere/"))


@pytest.mark.parametrize("prefix", ["", "a", "/a/", "a/" * 33, "ä" * 501 + "/"])
def test_what_can_be_no_prefix_is_refused(prefix: str) -> None:
    """A prefix ends in a slash, begins with a name, and leaves room for one."""
    with pytest.raises(InputError):
        route(World(), prefix)


def test_a_line_has_at_most_99_routes() -> None:
    """What does not fit into one transaction is refused before it is tried."""
    world = World()
    many = tuple(replace(ROUTE, prefix=f"{number}/") for number in range(100))
    with pytest.raises(InputError, match="99"):
        drive(world.gate, publish_contract(world.gate, replace(PUBLICATION, routes=many), ()))


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
