"""Contracts inherit in the registry: parents are pinned when a version is published, and may not break their children."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from lakegate.contracts.compile.dataset import compile_plan
from lakegate.contracts.errors import InputError
from lakegate.contracts.inherit.resolve import resolve
from lakegate.contracts.lake.lifecycle import LineStatus, StatusChange, moment
from lakegate.contracts.lake.subscriptions import subscribed
from lakegate.contracts.model.labels import labels_of
from lakegate.functions.usecases.lifecycle import change
from lakegate.functions.usecases.parents import BreaksChildren, parents_of, pinned_parents
from lakegate.functions.usecases.publish_contract import CompiledContract, planned, publish
from lakegate.functions.usecases.routing import add_route
from lakegate.functions.usecases.succession import IncompatibleVersion
from tests.simulation.environment import LAKE, Environment
from tests.unit.compare.builder import document
from tests.unit.inherit.families import parent_of
from tests.unit.usecases.scenarios import drive, resumed

if TYPE_CHECKING:
    from lakegate.functions.ports.registry import Publication

SOME = {"id": "some", "metric": "rowCount"}


def policy(least: int, version: str = "1.0.0") -> bytes:
    """Every dataset has at least so many rows."""
    return parent_of({"common": {"quality": [{**SOME, "mustBeGreaterOrEqualTo": least}]}}, version=version)


def product(version: str = "1.0.0", least: int | None = None, inherits: str = "acme@1", **root: object) -> bytes:
    """A contract that inherits from the policy; with a number, it has the rule itself."""
    rules = {} if least is None else {"quality": [{**SOME, "mustBeGreaterOrEqualTo": least}]}
    parts: dict[str, Any] = {"object": rules, "extension": {"inherits": inherits}, "root": root}
    return document(parts, version)


def compiled(env: Environment, text: bytes) -> CompiledContract:
    """The document, as the command compiles it."""
    resolved = resolve(text, parents_of(env.dependencies, text))
    contract = resolved.examined.contract
    assert contract is not None
    if resolved.examined.errors:
        raise InputError(resolved.examined.errors[0].message)
    plans = {each.name: compile_plan(contract, each).to_bytes() for each in contract.datasets}
    labels = labels_of(contract)
    return CompiledContract(contract.id, contract.version, "active", text, plans, labels=labels, needs=resolved.needs)


def published(env: Environment, text: bytes) -> Publication:
    return drive(env.dependencies, publish(env.dependencies, compiled(env, text)))  # type: ignore[return-value] # drive returns no type


def family() -> Environment:
    """A policy of five rows and a product that has seven."""
    env = Environment()
    published(env, policy(5))
    published(env, product(least=7))
    return env


def children(env: Environment, contract: str = "acme") -> tuple[str, ...]:
    return env.dependencies.registry.contract(contract).children


def test_a_version_pins_the_documents_of_all_its_parents() -> None:
    """The nearest first; each is stored at the digest of its bytes, and the parent lists its children."""
    env = Environment()
    published(env, policy(5))
    domain = document({"objects": [{"name": "*"}], "extension": {"inherits": "acme@1"}, "root": {"id": "sales"}})
    published(env, domain)
    publication = published(env, product(inherits="sales@1"))
    lake = env.memory.objects.current(LAKE)

    assert [(name, lake[key]) for name, key in publication.needs] == [
        ("sales@1.0.0", domain),
        ("acme@1.0.0", policy(5)),
    ]
    assert (children(env), children(env, "sales"), children(env, "shop")) == (("sales",), ("shop",), ())
    assert b"some" in lake[f"plans/{dict(publication.plans)['orders']}.json"]


def test_a_policy_has_no_plan_and_can_have_no_route() -> None:
    """The dataset `*` is no dataset of the lake."""
    env = Environment()

    assert published(env, policy(5)).plans == ()
    with pytest.raises(InputError, match=r"no dataset \*"):
        drive(env.dependencies, add_route(env.dependencies, "a/", "acme", "*", 1))


def test_publishing_again_keeps_the_pinned_parents() -> None:
    """A newer parent changes no published version, nor its plans."""
    env = family()
    before = published(env, product(least=7))
    published(env, policy(6, "1.1.0"))

    assert published(env, product(least=7)) == before
    assert before.needs[0][0] == "acme@1.0.0"
    assert published(env, product("1.1.0", least=7)).needs[0][0] == "acme@1.1.0"


def test_a_parent_that_breaks_a_child_is_refused_with_the_child() -> None:
    """The child's version, its owner, and the place in its document are named; nothing is written."""
    env = family()
    published(env, product("1.1.0", least=7, team={"name": "sales"}))
    stricter = compiled(env, policy(8, "1.1.0"))
    with pytest.raises(BreaksChildren, match=r"`shop 1\.1\.0`") as refused:
        published(env, policy(8, "1.1.0"))
    (child,) = refused.value.children

    assert (child.contract, child.version, child.owner) == ("shop", "1.1.0", "sales")
    assert [(each.code, each.path) for each in child.problems] == [("weaker-than-parent", "$.schema[0].quality[0]")]
    assert [each.version for each in env.dependencies.registry.contract("acme").versions] == ["1.0.0"]
    with pytest.raises(BreaksChildren):
        planned(env.dependencies, stricter)


def test_a_parent_that_breaks_nobody_is_published() -> None:
    """A child that is strict enough, or inherits the value, or inherits from another line, is not broken."""
    env = family()
    published(env, product(id="open"))
    published(env, policy(1, "2.0.0"))
    published(env, product(id="other", least=2, inherits="acme@2"))
    published(env, policy(7, "1.2.0"))
    published(env, policy(9, "1.3.0-rc.1"))

    versions = {each.version for each in env.dependencies.registry.contract("acme").versions}
    assert versions == {"1.0.0", "1.2.0", "2.0.0", "1.3.0-rc.1"}
    with pytest.raises(IncompatibleVersion):
        published(env, policy(4, "1.1.0"))


def test_only_the_newest_release_of_each_line_of_a_child_counts() -> None:
    """An older version of the child, a pre-release, and a line that does not inherit any more are not asked."""
    env = family()
    published(env, product("1.1.0", least=9))
    published(env, product("2.0.0-rc.1", least=6))
    published(env, document({}, "3.0.0"))

    assert published(env, policy(8, "1.1.0")).version == "1.1.0"


def test_a_child_may_not_become_weaker() -> None:
    """Neither below its parent, nor, with a number that is too low, below its own version before."""
    env = family()
    with pytest.raises(InputError, match="weaker than in"):
        published(env, product("1.1.0", least=4))
    with pytest.raises(IncompatibleVersion):
        published(env, product("1.1.0", least=6))


def test_a_child_needs_a_minor_number_for_a_stricter_parent() -> None:
    """What is inherited counts as what is written."""
    env = Environment()
    published(env, policy(5))
    published(env, product())
    published(env, policy(6, "1.1.0"))
    with pytest.raises(IncompatibleVersion) as refused:
        published(env, product("1.0.1"))

    assert [each.kind for each in refused.value.comparison.responsible] == ["rule-stricter"]
    assert published(env, product("1.1.0")).version == "1.1.0"


def test_a_child_that_read_an_older_parent_is_refused() -> None:
    """Between reading and writing a newer parent was published: the child is read again with it."""
    env = family()
    slow = compiled(env, product("1.1.0", least=7))
    steps = publish(env.dependencies, slow)
    call = next(steps)
    published(env, policy(7, "1.1.0"))
    with pytest.raises(InputError, match="publish again"):
        drive(env.dependencies, resumed(steps, call))


def test_a_parent_that_is_not_published_is_unknown() -> None:
    """Also one of which only a pre-release is there."""
    env = Environment()
    published(env, policy(5, "1.0.0-rc.1"))
    with pytest.raises(InputError, match="not known"):
        published(env, product())


def test_a_text_that_is_no_document_has_no_pins() -> None:
    """Its parents are those of the registry."""
    env = family()

    assert parents_of(env.dependencies, b"a: [")("acme", 1) is not None
    assert parents_of(env.dependencies, b"a: [")("acme", 2) is None
    (version,) = env.dependencies.registry.contract("acme").versions
    assert pinned_parents(env.dependencies, version)("acme", 1) is None


def test_a_new_line_waits_for_the_notice_period_that_a_parent_promises() -> None:
    """The product says nothing about it: its subscribers have the 60 days of the policy."""
    env = Environment()
    published(env, parent_of({"common": {}, "extension": {"noticePeriod": 60}}))
    published(env, product())
    subscribe = partial(subscribed, team="finance")
    drive(env.dependencies, change(env.dependencies, "shop/orders_v1", "", subscribe))
    published(env, product("2.0.0"))
    now = env.dependencies.clock.now()
    (change_to_active,) = env.dependencies.lines.get("shop/orders_v2").planned(moment(now))

    assert change_to_active == StatusChange(LineStatus.ACTIVE, moment(now + timedelta(days=60)))
