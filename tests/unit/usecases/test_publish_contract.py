"""A contract becomes valid: plans first, then version and routes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lakegate.contracts.errors import InputError, LakegateError
from lakegate.contracts.lake.routes import Route
from lakegate.functions.ports.objects import Address
from lakegate.functions.ports.registry import Publication
from lakegate.functions.usecases.publish_contract import CompiledContract, publish, publish_contract
from lakegate.functions.usecases.routing import add_route, remove_route
from lakegate.functions.usecases.steps import Effect
from tests.fakes import Memory
from tests.simulation.contract import DIGESTS
from tests.simulation.environment import LAKE, LANDING, PREFIX, Environment
from tests.unit.usecases.scenarios import (
    drive,
    resumed,
)

ROUTE = Route(LANDING, "new/", "new", "lines", 1, "1.0.0", "active", DIGESTS["1.0.0"])


PUBLICATION = Publication("new", "1.0.0", "active", "contracts/new", (ROUTE,))


def test_a_contract_is_published_after_its_plans_and_twice_is_once() -> None:
    """No route ever names a plan that is not there."""
    env = Environment()
    effects = []
    for _ in range(2):
        steps = publish_contract(env.dependencies, PUBLICATION, (b'{"plan": 1}',))
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
    assert env.dependencies.registry.routes(LANDING, ("new/",)) == (ROUTE,)


def test_a_prefix_is_taken_away() -> None:
    """A publication may retire prefixes of its line."""
    env = Environment()
    drive(env.dependencies, publish_contract(env.dependencies, PUBLICATION, ()))
    moved = replace(PUBLICATION, routes=(replace(ROUTE, prefix="moved/"),), retired=("new/",))
    drive(env.dependencies, publish_contract(env.dependencies, moved, ()))

    assert [route.prefix for route in env.dependencies.registry.routes(LANDING, ("new/", "moved/"))] == ["moved/"]


COMPILED = CompiledContract("shop", "1.0.0", "active", b"shop 1", {"orders": b'{"plan": 1}', "lines": b'{"plan": 2}'})


def published(env: Environment, version: str = "1.0.0", **changes: object) -> Publication:
    body = f"shop {version}".encode()
    compiled = replace(COMPILED, **{"version": version, "document": body, **changes})  # type: ignore[arg-type] # any edition
    return drive(env.dependencies, publish(env.dependencies, compiled))  # type: ignore[return-value] # drive returns no type


def route(env: Environment, prefix: str = "a/", dataset: str = "orders", line: int = 1) -> Route:
    return drive(env.dependencies, add_route(env.dependencies, prefix, "shop", dataset, line))  # type: ignore[return-value] # likewise


def versions_at(env: Environment, *prefixes: str) -> list[str]:
    return [each.version for each in env.dependencies.registry.routes(LANDING, prefixes)]


def test_an_edition_is_published_with_its_document_and_its_plans() -> None:
    """Both are stored at the digest of their bytes before the registry names them; a retry changes nothing."""
    env = Environment()
    first, second = published(env), published(env)
    lake = env.memory.objects.current(LAKE)

    assert first == second
    assert lake[first.document] == b"shop 1.0.0"
    assert {lake[f"plans/{plan}.json"] for _dataset, plan in first.plans} == set(COMPILED.plans.values())
    assert first in env.dependencies.registry.snapshot().versions


def test_a_published_number_keeps_its_content() -> None:
    """A changed document needs a new number, and the error explains it."""
    env = Environment()
    published(env)
    with pytest.raises(InputError, match="new number"):
        published(env, document=b"changed")


def test_a_new_version_takes_over_the_routes_of_its_line() -> None:
    """Routes of another line stay with it."""
    env = Environment()
    published(env, "1.0.0")
    published(env, "2.0.0")
    route(env, "one/", line=1)
    route(env, "two/", line=2)
    published(env, "1.1.0")

    assert versions_at(env, "one/", "two/") == ["1.1.0", "2.0.0"]


def test_an_older_version_takes_nothing_over() -> None:
    """A late publication of what came before does not send routes back."""
    env = Environment()
    published(env, "1.1.0")
    route(env)
    published(env, "1.0.9")

    assert versions_at(env, "a/") == ["1.1.0"]


def test_a_route_added_while_a_version_is_published_carries_that_version() -> None:
    """Publishing and adding a route both read again after writing: the later read sees both."""
    env = Environment()
    published(env, "1.0.0")
    steps = add_route(env.dependencies, "a/", "shop", "orders", 1)
    call = next(steps)
    published(env, "1.1.0")

    assert drive(env.dependencies, resumed(steps, call)) == env.dependencies.registry.routes(LANDING, ("a/",))[0]
    assert versions_at(env, "a/") == ["1.1.0"]


def test_publishers_that_overlap_leave_the_highest_version() -> None:
    """The last writer reads again, and corrects the route."""
    env = Environment()
    published(env, "1.0.0")
    route(env)
    slow = publish(env.dependencies, replace(COMPILED, version="1.1.0", document=b"shop 1.1.0"))
    call = next(slow)
    published(env, "1.2.0")
    drive(env.dependencies, resumed(slow, call))

    assert versions_at(env, "a/") == ["1.2.0"]


def test_a_version_without_a_dataset_that_is_delivered_to_is_refused() -> None:
    """Nothing is written: a route never points at what is not there."""
    env = Environment()
    published(env)
    route(env, dataset="lines")
    with pytest.raises(InputError, match="no dataset lines"):
        published(env, "1.1.0", plans={"orders": b"{}"})

    assert versions_at(env, "a/") == ["1.0.0"]
    assert "1.1.0" not in {
        each.version for each in env.dependencies.registry.snapshot().versions if each.contract == "shop"
    }


@pytest.mark.parametrize("name", ["", "a/b", "../a", ".a", "_unrouted", " a", "a\n", "\u202ea", "ä" * 65])
def test_a_name_that_can_be_no_folder_is_refused(name: str) -> None:
    """Contract and dataset name folders of the lake; ours begin with an underscore."""
    for changes in ({"contract": name}, {"plans": {name: b"{}"}}):
        with pytest.raises(InputError, match="folder"):
            published(Environment(), **changes)


def test_a_route_needs_a_version_and_a_dataset() -> None:
    """What is not published cannot be delivered to."""
    env = Environment()
    published(env)
    for wrong in ({"line": 2}, {"dataset": "none"}):
        with pytest.raises(InputError):
            route(env, **wrong)  # type: ignore[arg-type] # one or the other

    assert versions_at(env, "a/") == []


def test_a_prefix_changes_hands_only_by_being_given_up() -> None:
    """Neither another line, nor another contract, takes a prefix that is taken; once removed it is free."""
    env = Environment()
    published(env)
    published(env, "2.0.0")
    first = route(env)
    for taken in (("a/", "orders", 2), (PREFIX, "orders", 1)):
        with pytest.raises(InputError, match="remove that route first"):
            route(env, *taken)

    assert drive(env.dependencies, remove_route(env.dependencies, "a/")) == first
    assert route(env, line=2).version == "2.0.0"


def test_a_prefix_taken_meanwhile_is_refused_by_the_transaction() -> None:
    """Between reading and writing another contract was faster: its route stays."""
    env = Environment()
    published(env)
    steps = add_route(env.dependencies, "a/", "shop", "orders", 1)
    call = next(steps)
    drive(
        env.dependencies,
        publish_contract(env.dependencies, replace(PUBLICATION, routes=(replace(ROUTE, prefix="a/"),)), ()),
    )
    with pytest.raises(InputError, match="another contract"):
        drive(env.dependencies, resumed(steps, call))


def test_what_is_not_routed_cannot_be_removed() -> None:
    """Absence is an InputError."""
    env = Environment()
    with pytest.raises(InputError, match="no route"):
        drive(env.dependencies, remove_route(env.dependencies, "nowhere/"))


@pytest.mark.parametrize("prefix", ["", "a", "/a/", "a/" * 33, "ä" * 501 + "/"])
def test_what_can_be_no_prefix_is_refused(prefix: str) -> None:
    """A prefix ends in a slash, begins with a name, and leaves room for one."""
    with pytest.raises(InputError):
        route(Environment(), prefix)


def test_a_line_has_at_most_99_routes() -> None:
    """What does not fit into one transaction is refused before it is tried."""
    env = Environment()
    many = tuple(replace(ROUTE, prefix=f"{number}/") for number in range(100))
    with pytest.raises(InputError, match="99"):
        drive(env.dependencies, publish_contract(env.dependencies, replace(PUBLICATION, routes=many), ()))


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
    """The in-memory double adds no delete marker where nothing was."""
    memory = Memory.of(LAKE)
    memory.objects.delete(Address(LAKE, "x"))
    memory.objects.delete(Address(LAKE, "x", "v1"))

    assert memory.objects.buckets[LAKE] == {}
