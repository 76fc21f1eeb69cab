"""People who publish and route at once, in every order and with a crash at each step, leave a registry that is consistent."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from inspect import signature
from typing import TYPE_CHECKING, Any

import pytest

from lakegate.contracts.compare.compare import compare
from lakegate.contracts.compare.version import read_version
from lakegate.contracts.errors import InputError
from lakegate.functions.ports.objects import Address
from lakegate.functions.usecases import publish_contract, succession
from lakegate.functions.usecases.publish_contract import publish
from lakegate.functions.usecases.routing import add_route
from tests.fakes.registry import MemoryRegistry
from tests.simulation.environment import LAKE, Environment
from tests.simulation.promises import Violation
from tests.simulation.publishers import explore
from tests.unit.compare.builder import COLUMN, document
from tests.unit.usecases.scenarios import drive
from tests.unit.usecases.test_parents import compiled, policy, product, published

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakegate.functions.usecases.steps import Steps
    from tests.simulation.publishers import Command

NOTE = {"name": "note", "logicalType": "string"}


@cache
def compiled_alone(text: bytes) -> Any:
    """A document without parents, compiled once for all schedules."""
    return compiled(Environment(), text)


@cache
def comparison(before: bytes, after: bytes) -> Any:
    """Two documents without parents, compared once for all schedules."""
    return compare(read_version(before), read_version(after))


@pytest.fixture(autouse=True)
def compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same two documents are compared in every schedule; comparing takes most of its time."""
    original = succession.compared_with_followed

    def remembered(dependencies: Any, seen: Any, version: str, document: bytes, parents: Any) -> Any:
        before = succession.followed(seen, version)
        if before is None or before.needs or b"inherits" in document:
            return original(dependencies, seen, version, document, parents)
        return comparison(dependencies.objects.read(Address(LAKE, before.document)), document)

    monkeypatch.setattr(succession, "compared_with_followed", remembered)


def publishing(text: bytes) -> Command:
    """A person who compiles and publishes a document."""

    def command(env: Environment) -> Steps[Any]:
        try:
            found = compiled(env, text) if b"inherits" in text else compiled_alone(text)
        except InputError:
            return nothing()
        return publish(env.dependencies, found)

    return command


def nothing() -> Steps[Any]:
    """A command that refuses before its first effect."""
    yield from ()


def one_version() -> Environment:
    env = Environment()
    drive(env.dependencies, publish(env.dependencies, compiled_alone(document({}, "1.0.0"))))
    drive(env.dependencies, add_route(env.dependencies, "shop/", "shop", "orders", 1))
    return env


def family() -> Environment:
    env = Environment()
    published(env, policy(5))
    published(env, product(least=7))
    return env


WITH, WITHOUT = document({"properties": [COLUMN, NOTE]}, "1.1.0"), document({}, "1.2.0")
SCENES: dict[str, tuple[Callable[[], Environment], dict[str, Command]]] = {
    "two publishers of one contract": (one_version, {"with": publishing(WITH), "without": publishing(WITHOUT)}),
    "a publisher and a route": (
        one_version,
        {
            "publisher": publishing(WITH),
            "router": lambda env: add_route(env.dependencies, "more/", "shop", "orders", 1),
        },
    ),
    "a parent and its child": (
        family,
        {"parent": publishing(policy(7, "1.1.0")), "child": publishing(product("2.0.0", least=6))},
    ),
}


@pytest.mark.parametrize("name", SCENES)
def test_no_order_of_publishers_breaks_the_registry(name: str) -> None:
    """P21: every interleaving; of two without a parent also with a crash after any step of one."""
    prepare, commands = SCENES[name]
    crashes = 0 if name == "a parent and its child" else 1

    assert explore(prepare, commands, crashes=crashes) > len(commands)


def blind(original: Callable[..., None], *forgotten: str) -> Callable[..., None]:
    """The transaction of the registry without some of its conditions."""

    def write(self: MemoryRegistry, publication: Any, *given: Any, **named: Any) -> None:
        values = signature(original).bind(self, publication, *given, **named).arguments
        if "contract" in forgotten:
            values["seen"] = None
        if "parent" in forgotten and values.get("parent") is not None:
            values["parent"] = replace(values["parent"], seen=self.contract(values["parent"].contract))
        if "record" in forgotten:
            values["record"] = None
        original(**values)

    return write


PLANTED = {
    "the contract is written without its revision": ("two publishers of one contract", ("contract", "record")),
    "a route is written without the revision of its contract": ("a publisher and a route", ("contract", "record")),
    "the parent is written without its revision": ("a parent and its child", ("parent",)),
}


@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_of_a_condition_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the condition some order breaks a promise."""
    name, forgotten = PLANTED[bug]
    monkeypatch.setattr(MemoryRegistry, "publish", blind(MemoryRegistry.publish, *forgotten))
    with pytest.raises(Violation):
        explore(*SCENES[name], crashes=0)


@pytest.mark.parametrize("function", ["refuse_breaking", "refuse_other_parent", "refuse_incompatible"])
def test_a_planted_bug_of_a_decision_is_found(function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the refusal some order breaks a promise."""
    monkeypatch.setattr(publish_contract, function, lambda *_: None)
    name = "two publishers of one contract" if function == "refuse_incompatible" else "a parent and its child"
    with pytest.raises(Violation):
        explore(*SCENES[name], crashes=0)


def test_a_document_that_is_written_after_the_version_is_found() -> None:
    """A crash between the two leaves a version without a document."""

    def reversed_publish(env: Environment) -> Steps[Any]:
        found = compiled(env, WITH)
        steps = list(publish_calls(env, found))
        yield from reversed(steps)

    def publish_calls(env: Environment, found: Any) -> Any:
        steps = publish(env.dependencies, found)
        call = next(steps)
        while True:
            yield call
            try:
                call = steps.send(None)
            except StopIteration:
                return

    with pytest.raises(Violation, match="not in the lake"):
        explore(one_version, {"reversed": reversed_publish, "other": publishing(WITHOUT)})
