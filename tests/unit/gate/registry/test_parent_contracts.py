"""Contracts inherit in the registry: parents are pinned when a version is published, and children get notice."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any
from unittest.mock import Mock

import pytest

from lakegate.base.errors import AccessDenied, InputError
from lakegate.base.timestamps import moment
from lakegate.contract.contract_model import labels_of
from lakegate.features.notifications.notices import noted
from lakegate.gate.datasets.dataset_states import (
    DatasetRowStore,
    DatasetState,
    DatasetStatus,
    ParentNotice,
    StatusChange,
)
from lakegate.gate.datasets.lifecycle import announce_parent, change
from lakegate.gate.datasets.subscriptions import add_subscription
from lakegate.gate.ledger.blocks import document_of
from lakegate.gate.registry import contract_versions
from lakegate.gate.registry.contract_versions import CompiledContract, pinned_parents
from lakegate.gate.registry.parent_contracts import still_weaker, weaker_later
from lakegate.gate.registry.publish_contract import IncompatibleVersion, plan_publication, publish, referred_of
from lakegate.gate.registry.registry_rows import Publication
from lakegate.gate.registry.routes import add_route
from lakegate.inheritance.inherited_documents import resolve
from lakegate.rules.compile_plan import compile_plan
from tests.published_schemas import validate
from tests.simulation.environment import LAKE, Environment
from tests.unit.diff.builder import document
from tests.unit.gate.scenarios import drive, resumed
from tests.unit.inheritance.families import parent_of

LINE = "shop/orders_v1"
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
    resolved = resolve(text, referred_of(env.dependencies, text).parents)
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


DAY, BEFORE = timedelta(days=40), timedelta(days=39)


def later(env: Environment, by: timedelta = DAY) -> str:
    """A time to come."""
    return moment(env.memory.clock.now() + by)


def scheduled(env: Environment, text: bytes, at: str) -> Publication:
    """The version is published, and inherited from a time on."""
    found = replace(compiled(env, text), inherited_from=at)
    return drive(env.dependencies, publish(env.dependencies, found))  # type: ignore[return-value] # drive returns no type


def test_a_scheduled_parent_is_inherited_from_its_day_on() -> None:
    """Until then children are published with the version before; afterwards they have to be as strict."""
    env = family()
    at = later(env)
    publication = scheduled(env, policy(8, "1.1.0"), at)

    assert (publication.inherited_from, env.dependencies.registry.contract("acme").versions[-1]) == (at, publication)
    env.memory.clock.sleep(BEFORE.total_seconds())
    assert published(env, product("1.1.0", least=7)).needs[0][0] == "acme@1.0.0"
    env.memory.clock.sleep(DAY.total_seconds())
    with pytest.raises(InputError, match=r"weaker than in `acme@1\.1\.0`"):
        published(env, product("1.2.0", least=7))
    assert published(env, product("1.2.0", least=8)).needs[0][0] == "acme@1.1.0"


def test_owners_of_weaker_children_get_notice_once() -> None:
    """Each line of a child has the notice, with its owner, a record of the ledger and one message for its subscribers."""
    env = family()
    published(env, product("1.1.0", least=7, team={"name": "sales"}))
    drive(env.dependencies, change(env.dependencies, LINE, "", partial(add_subscription, team="finance")))
    at = later(env)
    for _ in range(2):
        scheduled(env, policy(8, "1.1.0"), at)
    line = env.dependencies.datasets.get(LINE)
    (record,) = env.dependencies.ledger.blocks(LINE)
    env.memory.clock.sleep(60)
    (message,) = env.dependencies.outbox.pending(10)
    body = json.loads(message.body)

    assert line.parents == (ParentNotice("acme@1.1.0", at, "sales"),)
    assert document_of(record)["content"] == {
        "act": "parent",
        "status": "active",
        "since": None,
        "planned": [],
        "reason": "",
        "replacement": "",
        "guide": "",
        "notice": None,
        "parents": [{"version": "acme@1.1.0", "inherited_from": at, "owner": "sales"}],
    }
    validate("line-event", {"id": message.id, "line": message.dataset, "kind": message.kind, "body": body})
    assert (message.kind, body["version"], body["follows"], body["inherited_from"], body["owner"]) == (
        "breaking",
        "acme@1.1.0",
        LINE,
        at,
        "sales",
    )
    assert [each["team"] for each in body["subscribers"]] == ["finance"]
    found = noted(env.dependencies, message)
    assert found is not None
    assert (found.dataset, found.what.title, found.what.reasons) == (
        line,
        f"acme@1.1.0 breaks {LINE}",
        (f"{LINE}, whose owner is sales, is weaker: new versions inherit from it from {at[:10]} on",),
    )


def test_a_child_without_datasets_has_a_line_for_the_notice() -> None:
    """A domain's policy is found by its owner under the dataset `*`."""
    env = Environment()
    published(env, policy(5))
    rule = {**SOME, "mustBeGreaterOrEqualTo": 6}
    parts: dict[str, Any] = {
        "objects": [{"name": "*", "quality": [rule]}],
        "extension": {"inherits": "acme@1"},
        "root": {"id": "sales"},
    }
    published(env, document(parts))
    at = later(env)
    scheduled(env, policy(8, "1.1.0"), at)

    assert env.dependencies.datasets.get("sales/*_v1").parents == (ParentNotice("acme@1.1.0", at),)


def test_the_next_parent_is_not_held_against_what_was_announced() -> None:
    """Before the day of the announced version it is another notice; from this day on it adds nothing."""
    env = family()
    at = later(env)
    scheduled(env, policy(8, "1.1.0"), at)
    now = later(env, timedelta())
    published(env, policy(8, "1.2.0"))
    before = env.dependencies.datasets.get(LINE).parents
    env.memory.clock.sleep(DAY.total_seconds())
    published(env, policy(8, "1.3.0"))

    assert before == (ParentNotice("acme@1.2.0", now), ParentNotice("acme@1.1.0", at))
    assert env.dependencies.datasets.get(LINE).parents == before


def test_notices_of_two_versions_stand_side_by_side_until_their_day() -> None:
    """What has begun is dropped when the next version is announced."""
    env = family()
    days = [later(env, timedelta(days=each)) for each in (60, 30, 90)]
    notices = [ParentNotice(f"acme@1.{each}.0", day) for each, day in enumerate(days)]
    line = DatasetState(LINE)
    for each in notices[:2]:
        line = announce_parent(line, later(env, timedelta()), each)

    assert line.parents == (notices[1], notices[0])
    assert announce_parent(line, days[2], notices[0]) is line
    assert announce_parent(line, days[1], notices[2]).parents == (notices[0], notices[2])


def test_the_day_of_a_version_is_in_the_future_and_is_decided_once() -> None:
    """Publishing again without a day keeps it; another day is refused, and so is a day that has begun."""
    env = family()
    at = later(env)
    first = scheduled(env, policy(8, "1.1.0"), at)

    assert published(env, policy(8, "1.1.0")) == first
    with pytest.raises(InputError, match=f"is inherited from {at[:10]} on: that cannot be moved"):
        scheduled(env, policy(8, "1.1.0"), later(env, BEFORE))
    with pytest.raises(InputError, match="is inherited since then: that cannot be moved"):
        scheduled(env, policy(5), at)
    with pytest.raises(InputError, match="is not in the future"):
        scheduled(env, policy(9, "1.2.0"), later(env, timedelta()))


def test_who_publishes_a_child_after_the_notice_is_warned() -> None:
    """The place that will be weaker is named with version and day. Publishing a child needs no right to write lines."""
    env = Environment()
    published(env, policy(5))
    at = later(env)
    scheduled(env, policy(8, "1.1.0"), at)
    child = compiled(env, product(least=7))
    (warning,) = plan_publication(env.dependencies, child).warnings
    drive(env.dependencies, publish(env.dependencies, child))

    assert (warning.code, warning.path) == ("weaker-than-parent", "$.schema[0].quality[0]")
    assert warning.message.startswith(
        f"From {at[:10]} on, when `acme@1.1.0` is inherited: `orders#some` is weaker than in `acme@1.1.0`"
    )
    assert plan_publication(env.dependencies, child).warnings == (warning,)
    assert env.dependencies.datasets.get(LINE) == DatasetState(LINE)


def test_only_what_a_child_will_break_is_a_warning() -> None:
    """Of a strict child, an older number beside a strict one, a pre-release, and once the day has come, nothing is reported."""
    env = family()
    published(env, product("1.1.0", least=9))
    at = later(env)
    scheduled(env, policy(8, "1.1.0"), at)
    scheduled(env, policy(9, "1.2.0"), at)
    found = [compiled(env, text) for text in (product("1.2.0", least=9), product("1.2.0-rc.1", least=7))]
    old = replace(found[0], version="1.0.1", document=product("1.0.1", least=7))

    seen = env.dependencies.registry.contract("shop")
    assert [weaker_later(env.dependencies, seen, each) for each in (*found, old)] == [(), (), ()]
    env.memory.clock.sleep(DAY.total_seconds())
    late = compiled(env, product("1.3.0", least=9))
    assert plan_publication(env.dependencies, late).warnings == ()


def test_each_version_that_will_be_in_force_is_warned_of_with_its_day() -> None:
    """A version that a higher one overtakes before its day is never in force."""
    env = Environment()
    published(env, policy(5))
    days = [later(env, timedelta(days=each)) for each in (60, 40, 50)]
    for number, day in enumerate(days):
        scheduled(env, policy(8 + number, f"1.{number + 1}.0"), day)
    warnings = plan_publication(env.dependencies, compiled(env, product(least=7))).warnings

    assert [each.message.partition(" is inherited")[0] for each in warnings] == [
        f"From {days[1][:10]} on, when `acme@1.2.0`",
        f"From {days[2][:10]} on, when `acme@1.3.0`",
    ]


def test_publishing_again_gives_notice_to_who_was_published_since() -> None:
    """The version stands first: a child that is published at the same time, or any number of them, cannot keep it back."""
    env = family()
    at = later(env)
    scheduled(env, policy(8, "1.1.0"), at)
    published(env, product(least=6).replace(b"shop", b"late"))
    missing = env.dependencies.datasets.get("late/orders_v1").parents
    published(env, policy(8, "1.1.0"))

    assert (missing, env.dependencies.datasets.get("late/orders_v1").parents) == ((), (ParentNotice("acme@1.1.0", at),))


def test_what_would_be_announced_is_part_of_the_plan() -> None:
    """Nothing is written; of a version that is published there is nothing to announce any more."""
    env = family()
    found = replace(compiled(env, policy(8, "1.1.0")), inherited_from=later(env))
    (child,) = plan_publication(env.dependencies, found).announced

    assert (child.contract, child.version, child.datasets) == ("shop", "1.0.0", (LINE,))
    assert env.dependencies.datasets.get(LINE).revision == 0
    drive(env.dependencies, publish(env.dependencies, found))
    assert plan_publication(env.dependencies, found).announced == ()


def test_a_parent_is_published_whatever_its_children_are() -> None:
    """The plan names the child, its owner and the place in its document; the line gets notice, until the child is as strict."""
    env = family()
    published(env, product("1.1.0", least=7, team={"name": "sales"}))
    (child,) = plan_publication(env.dependencies, compiled(env, policy(8, "1.1.0"))).announced
    now = later(env, timedelta())
    published(env, policy(8, "1.1.0"))
    line = env.dependencies.datasets.get(LINE)
    marked = still_weaker(env.dependencies, line)
    published(env, product("1.2.0", least=8))

    assert (child.contract, child.version, child.owner) == ("shop", "1.1.0", "sales")
    assert [(each.code, each.path) for each in child.errors] == [("weaker-than-parent", "$.schema[0].quality[0]")]
    assert line.parents == marked == (ParentNotice("acme@1.1.0", now, "sales"),)
    assert still_weaker(env.dependencies, line) == ()


def test_a_line_is_marked_by_its_own_parent_alone() -> None:
    """A contract that is not published, or inherits from another one now, is weaker than nothing."""
    env = family()
    line = DatasetState(LINE, parents=(ParentNotice("other@1.1.0", later(env)),))

    assert still_weaker(env.dependencies, line) == ()
    assert still_weaker(env.dependencies, replace(line, name="nobody/orders_v1")) == ()


def test_who_may_not_write_lines_publishes_without_notice(monkeypatch: pytest.MonkeyPatch) -> None:
    """A version for now; one with a day is published, too, and its publisher is told."""
    env = family()
    monkeypatch.setattr(DatasetRowStore, "write", Mock(side_effect=AccessDenied("PutItem")))

    assert published(env, policy(8, "1.1.0")).version == "1.1.0"
    with pytest.raises(AccessDenied):
        scheduled(env, policy(9, "1.2.0"), later(env))
    assert [each.version for each in env.dependencies.registry.contract("acme").versions] == ["1.0.0", "1.1.0", "1.2.0"]


def test_notice_is_given_while_there_is_time() -> None:
    """However many children there are: the version is published, and publishing again goes on."""
    env = family()
    found = compiled(env, policy(8, "1.1.0"))
    drive(env.dependencies, publish(replace(env.dependencies, remaining=lambda: 5.0), found))
    before = env.dependencies.datasets.get(LINE).parents
    drive(env.dependencies, publish(env.dependencies, found))

    assert (before, len(env.dependencies.datasets.get(LINE).parents)) == ((), 1)


def test_a_parent_has_room_for_its_own_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Contracts beyond a number cannot inherit from it; a child that does so already is published again."""
    env = family()
    monkeypatch.setattr(contract_versions, "MAX_CHILDREN", 1)

    assert published(env, product("1.1.0", least=7)).version == "1.1.0"
    with pytest.raises(InputError, match="acme has 1 contracts that inherit from it"):
        published(env, product(id="other", least=7))


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

    assert referred_of(env.dependencies, b"a: [").parents("acme", 1) is not None
    assert referred_of(env.dependencies, b"a: [").parents("acme", 2) is None
    (version,) = env.dependencies.registry.contract("acme").versions
    assert pinned_parents(env.dependencies, version.needs)("acme", 1) is None


def test_a_new_line_waits_for_the_notice_period_that_a_parent_promises() -> None:
    """The product says nothing about it: its subscribers have the 60 days of the policy."""
    env = Environment()
    published(env, parent_of({"common": {}, "extension": {"noticePeriod": 60}}))
    published(env, product())
    subscribe = partial(add_subscription, team="finance")
    drive(env.dependencies, change(env.dependencies, "shop/orders_v1", "", subscribe))
    published(env, product("2.0.0"))
    now = env.dependencies.now
    (change_to_active,) = env.dependencies.datasets.get("shop/orders_v2").planned(moment(now))

    assert change_to_active == StatusChange(DatasetStatus.ACTIVE, moment(now + timedelta(days=60)))
