"""People who publish and route at once, in every order and with a crash at each step, leave a registry that is consistent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import cache, partial
from inspect import signature
from typing import Any, cast

import pytest

from lakegate.base.errors import InputError
from lakegate.base.timestamps import moment
from lakegate.diff.compared_versions import read_version
from lakegate.diff.diff_contracts import compare
from lakegate.gate.datasets import lifecycle, readers_manifest
from lakegate.gate.datasets.dataset_states import DatasetRowStore, DatasetState, Ending
from lakegate.gate.datasets.lifecycle import TASK, acknowledge, change, deprecate
from lakegate.gate.datasets.subscriptions import add_subscription
from lakegate.gate.effects import Steps
from lakegate.gate.ports import Address
from lakegate.gate.registry import publish_contract
from lakegate.gate.registry.publish_contract import publish
from lakegate.gate.registry.registry_store import Registry
from lakegate.gate.registry.routes import add_route
from lakegate.gate.scheduled_tasks import run_row
from lakegate.gate.table import Row
from tests.fakes.table import MemoryTable
from tests.simulation.environment import LAKE, Environment
from tests.simulation.promises import Violation
from tests.simulation.publishers import Command, explore
from tests.unit.diff.builder import COLUMN, document
from tests.unit.gate.registry.test_parent_contracts import compiled, policy, product, published
from tests.unit.gate.scenarios import drive

OLD, NEW = "shop/orders_v1", "shop/orders_v2"
NOTE = {"name": "note", "logicalType": "string"}


@cache
def compiled_alone(text: bytes) -> Any:
    """A document without parents, compiled once for all schedules."""
    return compiled(Environment(), text)


@cache
def comparison(before: bytes, after: bytes) -> Any:
    """Two documents without parents, compared once for all schedules."""
    return compare(read_version(before), read_version(after))


@cache
def read_alone(text: bytes) -> Any:
    """A published document without parents, read once for all schedules."""
    return read_version(text, published=True)


@pytest.fixture(autouse=True)
def compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same two documents are compared in every schedule; comparing takes most of its time."""
    original = publish_contract.compare_with_followed

    def remembered(dependencies: Any, seen: Any, version: str, document: bytes, parents: Any) -> Any:
        before = publish_contract.find_followed(seen, version)
        if before is None or before.needs or b"inherits" in document:
            return original(dependencies, seen, version, document, parents)
        return comparison(dependencies.objects.read(Address(LAKE, before.document)), document)

    monkeypatch.setattr(publish_contract, "compare_with_followed", remembered)
    monkeypatch.setattr(
        publish_contract,
        "read_published",
        lambda gate, version: read_alone(gate.objects.read(Address(LAKE, version.document))),
    )


def publishing(text: bytes) -> Command:
    """A person who compiles and publishes a document."""

    def command(env: Environment) -> Steps[Any]:
        try:
            found = compiled(env, text) if b"inherits" in text else compiled_alone(text)
        except InputError:
            return nothing()
        return publish(env.dependencies, found)

    return command


def scheduling(text: bytes) -> Command:
    """A person who publishes a parent that is inherited later."""

    def command(env: Environment) -> Steps[Any]:
        at = moment(env.memory.clock.now() + timedelta(days=40))
        return publish(env.dependencies, replace(compiled_alone(text), inherited_from=at))

    return command


def nothing(*_: object) -> Steps[Any]:
    """A command that refuses before its first effect."""
    yield from ()


def read_dataset(dependencies: Any, name: str) -> Steps[DatasetState]:
    """A line as it is stored."""
    yield from ()
    return dependencies.datasets.get(name)


def one_version() -> Environment:
    env = Environment()
    drive(env.dependencies, publish(env.dependencies, compiled_alone(document({}, "1.0.0"))))
    drive(env.dependencies, add_route(env.dependencies, "shop/", "shop", "orders", 1))
    return env


def alone() -> Environment:
    """A policy that no contract inherits from."""
    env = Environment()
    published(env, policy(5))
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
    "a scheduled parent and its first child": (
        alone,
        {"parent": scheduling(policy(7, "1.1.0")), "child": publishing(product(least=6))},
    ),
    "a scheduled parent and its child": (
        family,
        {"parent": scheduling(policy(8, "1.1.0")), "child": publishing(product("1.1.0", least=8))},
    ),
}


def with_consumer() -> Environment:
    """A line that a team reads."""
    env = one_version()
    drive(env.dependencies, change(env.dependencies, OLD, "", partial(add_subscription, team="finance")))
    return env


def waiting() -> Environment:
    """The notice of a breaking version is over since a second, and nothing recorded it yet."""
    env = with_consumer()
    drive(env.dependencies, publish(env.dependencies, compiled_alone(document({}, "2.0.0"))))
    env.memory.clock.sleep(timedelta(days=30, seconds=1).total_seconds())
    return env


def drafting() -> Environment:
    """A line that begins with a draft."""
    env = Environment()
    drive(env.dependencies, publish(env.dependencies, compiled_alone(document({"status": "draft"}, "1.0.0"))))
    return env


def ending() -> Environment:
    """A line whose deprecation begins by its date while others publish."""
    env = with_consumer()
    now = env.memory.clock.now()
    announced = partial(deprecate, ending=Ending("replaced"), on=moment(now + timedelta(seconds=1)))
    drive(env.dependencies, change(env.dependencies, OLD, "deprecate", announced))
    env.memory.clock.sleep(2)
    return env


def sweeping(line: str) -> Command:
    """What the sweep does about a line that is due."""
    return lambda env: run_row(env.dependencies, TASK, line)


LINES: dict[str, tuple[Callable[[], Environment], dict[str, Command]]] = {
    "two publishers of a breaking version": (
        with_consumer,
        {"first": publishing(document({}, "2.0.0")), "second": publishing(document({}, "2.1.0"))},
    ),
    "a publisher, and a notice that is over": (
        waiting,
        {"publisher": publishing(document({}, "2.1.0")), "sweep": sweeping(NEW)},
    ),
    "a consumer who acknowledges, and a notice that is over": (
        waiting,
        {
            "consumer": lambda env: acknowledge(env.dependencies, NEW, "2.0.0", "finance"),
            "sweep": sweeping(NEW),
        },
    ),
    "two publishers who end a draft": (
        drafting,
        {"first": publishing(document({}, "1.1.0")), "second": publishing(document({}, "1.2.0"))},
    ),
    "a publisher of a breaking version, and a deprecation by date": (
        ending,
        {"publisher": publishing(document({}, "2.0.0")), "sweep": sweeping(OLD)},
    ),
}


@pytest.mark.parametrize("name", LINES)
def test_no_order_of_publishers_and_dates_breaks_a_line(name: str) -> None:
    """P21: every interleaving of people and sweeps who change a line, with a crash after any step of one."""
    prepare, commands = LINES[name]

    assert explore(prepare, commands) > len(commands)


def unfenced(original: Callable[..., DatasetState]) -> Callable[..., DatasetState]:
    """The write of a line without the condition of its revision."""

    def write(self: DatasetRowStore[DatasetState], line: DatasetState, *given: Any) -> DatasetState:
        stored = cast("MemoryTable", self.table).rows["workloads", "line"]
        if row := stored.pop(line.name, None):
            stored[line.name] = Row(row.key, {**row.values, "revision": line.revision})
        if not line.revision:
            stored.pop(line.name, None)
        return original(self, line, *given)

    return write


def test_a_line_that_is_written_over_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the revision of the line is no condition of its write."""
    monkeypatch.setattr(DatasetRowStore, "write", unfenced(DatasetRowStore.write))
    with pytest.raises(Violation):
        explore(*LINES["two publishers of a breaking version"])


@pytest.mark.parametrize(
    ("module", "function", "planted", "name"),
    [
        (publish_contract, "begin_datasets", nothing, "two publishers of a breaking version"),
        (
            lifecycle,
            "record_due",
            read_dataset,
            "a publisher, and a notice that is over",
        ),
        (readers_manifest, "update", nothing, "a publisher, and a notice that is over"),
    ],
    ids=[
        "lines begin without notice",
        "what began by its date is not recorded",
        "the manifest is not brought up to date",
    ],
)
def test_a_planted_bug_of_a_step_is_found(
    module: Any, function: str, planted: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the step some order breaks a promise."""
    monkeypatch.setattr(module, function, planted)
    with pytest.raises(Violation):
        explore(*LINES[name], crashes=0)


@pytest.mark.parametrize("name", SCENES)
def test_no_order_of_publishers_breaks_the_registry(name: str) -> None:
    """P21: every interleaving; of two without a parent also with a crash after any step of one."""
    prepare, commands = SCENES[name]
    crashes = 0 if "child" in name else 1

    assert explore(prepare, commands, crashes=crashes) > len(commands)


def blind(original: Callable[..., None], *forgotten: str) -> Callable[..., None]:
    """The transaction of the registry without some of its conditions."""

    def write(self: Registry, publication: Any, *given: Any, **named: Any) -> None:
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
    monkeypatch.setattr(Registry, "publish", blind(Registry.publish, *forgotten))
    with pytest.raises(Violation):
        explore(*SCENES[name], crashes=0)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        ("refuse_other_parent", "a parent and its child"),
        ("refuse_incompatible", "two publishers of one contract"),
    ],
)
def test_a_planted_bug_of_a_decision_is_found(function: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the refusal some order breaks a promise."""
    monkeypatch.setattr(publish_contract, function, lambda *_: None)
    with pytest.raises(Violation):
        explore(*SCENES[name], crashes=0)


@pytest.mark.parametrize("name", ["a parent and its child", "a scheduled parent and its first child"])
def test_a_parent_that_is_not_announced_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: no notice is given."""
    monkeypatch.setattr(publish_contract, "announce", nothing)
    with pytest.raises(Violation, match="has no notice"):
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
