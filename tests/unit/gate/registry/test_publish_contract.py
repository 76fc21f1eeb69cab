"""A contract becomes valid: plans first, then version and routes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import cycle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.base.errors import ConditionFailed, InputError, LakegateError
from lakegate.contract.delivery_policy import FieldTreatment
from lakegate.gate.datasets.lifecycle import begin_draft, change
from lakegate.gate.datasets.subscriptions import add_subscription
from lakegate.gate.effects import Call, Effect, Steps
from lakegate.gate.ledger.blocks import Record, contract_chain
from lakegate.gate.ledger.commit import append
from lakegate.gate.ports import Address
from lakegate.gate.registry.contract_versions import CompiledContract
from lakegate.gate.registry.publish_contract import (
    IncompatibleVersion,
    compile_document,
    plan_publication,
    publish,
    reactivate_dataset,
    referred_of,
)
from lakegate.gate.registry.registry_rows import Publication, Route
from lakegate.gate.registry.registry_store import Registry
from lakegate.gate.registry.routes import add_route, remove_route
from lakegate.plan.plan import Plan
from tests.fakes import Memory
from tests.fakes.identity import ALICE
from tests.reference.sampling import sampled
from tests.simulation.contract import DIGESTS
from tests.simulation.environment import LAKE, LANDING, PREFIX, Environment
from tests.unit.diff.builder import COLUMN, compared, document
from tests.unit.gate.scenarios import (
    drive,
    resumed,
    swapped,
)

ROUTE = Route(LANDING, "new/", "new", "lines", 1, "1.0.0", "active", DIGESTS["1.0.0"])


PUBLICATION = Publication("new", "1.0.0", "active", "contracts/new", (ROUTE,))


def text(version: str, *properties: dict[str, object]) -> bytes:
    """A contract with two datasets; `properties` are the columns of the first one."""
    return document({"objects": [{"name": "orders", "properties": [COLUMN, *properties]}, {"name": "lines"}]}, version)


COMPILED = CompiledContract(
    "shop",
    "1.0.0",
    "active",
    text("1.0.0"),
    {each: Plan("shop", "1.0.0", each, (), ()).to_bytes() for each in ("orders", "lines")},
)
NOTE = {"name": "note", "logicalType": "string"}


@pytest.mark.parametrize(
    ("of_stack", "of_contract", "pinned"),
    [
        (FieldTreatment.WARN, {}, None),
        (FieldTreatment.FORBID, {}, FieldTreatment.FORBID),
        (FieldTreatment.FORBID, {"missingFields": "warn"}, FieldTreatment.WARN),
    ],
)
def test_the_setting_of_the_stack_is_pinned_where_the_contract_sets_none(
    of_stack: FieldTreatment, of_contract: dict[str, str], pinned: FieldTreatment | None
) -> None:
    """The verdict is a function of plan and result, so the plan has what decides."""
    env = Environment()
    dependencies = replace(env.dependencies, places=replace(env.dependencies.places, missing_fields=of_stack))
    body = document({"extension": of_contract})
    compiled = compile_document(body, referred_of(dependencies, body))

    assert Plan.from_bytes(compiled.plans["orders"]).policy.missing_fields is pinned


def test_a_contract_is_published_after_its_plans_and_twice_is_once() -> None:
    """No route ever names a plan that is not there; the registry, where it is as wanted, is not written again."""
    env = Environment()
    effects = [each for _ in range(2) for each in effects_of(publish(env.dependencies, COMPILED))]

    stored = [Effect.WRITE_DOCUMENT, Effect.WRITE_PLAN, Effect.WRITE_PLAN]
    assert effects == [*stored, Effect.PUBLISH, *stored]


def effects_of(steps: Steps[object]) -> Iterator[Effect]:
    """Performs every effect; what is refused is given back to the use case."""
    proceed: Callable[[], Call] = partial(next, steps)
    with suppress(StopIteration):
        while True:
            call = proceed()
            yield call.effect
            try:
                proceed = partial(steps.send, call.do())
            except LakegateError as refused:
                proceed = partial(steps.throw, refused)


def records(env: Environment) -> list[tuple[str, str, object]]:
    """Kind, actor and content of the records of the contract."""
    blocks = env.dependencies.ledger.blocks(contract_chain("shop"))
    return [(each.kind, each.actor, each.content) for each in blocks if isinstance(each, Record)]


def test_the_publisher_is_recorded_in_the_transaction() -> None:
    """Each version that becomes valid, and each change of a status, is one record with the caller's ARN; twice is once."""
    env = Environment()
    for status in ("active", "active", "deprecated"):
        published(env, status=status)
    digest = partial(hashlib.sha256)
    content = {
        "version": "1.0.0",
        "document": f"contracts/{digest(text('1.0.0')).hexdigest()}",
        "plans": [{"dataset": each, "plan": digest(COMPILED.plans[each]).hexdigest()} for each in ("lines", "orders")],
        "unmeasured_rules": 0,
        "proposed_by": None,
    }

    assert records(env) == [
        ("publication", ALICE, content | {"status": "active"}),
        ("publication", ALICE, content | {"status": "deprecated"}),
    ]


def test_publishing_is_decided_again_when_somebody_else_extended_the_chain() -> None:
    """A record on a head that moved is not written: neither is the version, until both are."""
    env = Environment()
    steps = publish(env.dependencies, COMPILED)
    seen = [next(steps)]
    while seen[-1].effect is not Effect.PUBLISH:
        seen.append(steps.send(seen[-1].do()))
    content = {"workload": "w", "state": "FAILED", "attempt": 1, "replayed_by": "w"}
    drive(env.dependencies, append(env.dependencies, "replay", contract_chain("shop"), content, "e" * 64))
    with pytest.raises(ConditionFailed) as refused:
        seen[-1].do()
    with pytest.raises(StopIteration):
        steps.send(steps.throw(refused.value).do())

    assert [kind for kind, _actor, _content in records(env)] == ["replay", "publication"]


def test_a_prefix_is_taken_away() -> None:
    """A publication may retire prefixes of its line."""
    env = Environment()
    env.memory.registry.publish(PUBLICATION)
    moved = replace(PUBLICATION, routes=(replace(ROUTE, prefix="moved/"),), retired=("new/",))
    env.memory.registry.publish(moved)

    assert [route.prefix for route in env.dependencies.registry.routes(LANDING, ("new/", "moved/"))] == ["moved/"]


def published(env: Environment, version: str = "1.0.0", **changes: object) -> Publication:
    compiled = replace(COMPILED, **{"version": version, "document": text(version), **changes})  # type: ignore[arg-type] # any version
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
    assert lake[first.document] == text("1.0.0")
    assert {lake[f"plans/{plan}.json"] for _dataset, plan in first.plans} == set(COMPILED.plans.values())
    assert first in env.dependencies.registry.snapshot().versions


def test_a_published_number_keeps_its_content() -> None:
    """A changed document needs a new number, and the error explains it."""
    env = Environment()
    published(env)
    with pytest.raises(InputError, match="new number"):
        published(env, document=text("1.0.0", NOTE))


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
    """The route is decided again, because the contract was written meanwhile."""
    env = Environment()
    published(env, "1.0.0")
    steps = add_route(env.dependencies, "a/", "shop", "orders", 1)
    call = next(steps)
    published(env, "1.1.0")

    assert drive(env.dependencies, resumed(steps, call)) == env.dependencies.registry.routes(LANDING, ("a/",))[0]
    assert versions_at(env, "a/") == ["1.1.0"]


def test_publishers_that_overlap_leave_the_highest_version() -> None:
    """The slower publisher reads again, and leaves the route with the higher version."""
    env = Environment()
    published(env, "1.0.0")
    route(env)
    slow = publish(env.dependencies, replace(COMPILED, version="1.1.0", document=text("1.1.0")))
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
    env.memory.registry.publish(replace(PUBLICATION, routes=(replace(ROUTE, prefix="a/"),)))
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


def test_a_line_has_at_most_93_routes() -> None:
    """What does not fit into one transaction is refused before it is tried."""
    env = Environment()
    published(env)
    many = tuple(replace(ROUTE, prefix=f"{number}/", contract="shop", dataset="lines") for number in range(99))
    for some in (many[:50], many[50:]):
        env.memory.registry.publish(Publication("shop", "1.0.0", "active", document_of(env), some))
    with pytest.raises(InputError, match="93"):
        published(env, "1.1.0")


def document_of(env: Environment) -> str:
    return env.memory.registry.contract("shop").versions[0].document


def test_a_number_that_is_too_low_is_refused_with_the_changes_responsible() -> None:
    """Nothing is written; the error has the comparison and names the number that would do."""
    env = Environment()
    published(env, document=text("1.0.0", NOTE))
    before = env.memory.registry.snapshot()
    with pytest.raises(IncompatibleVersion) as refused:
        published(env, "1.1.0")

    assert str(refused.value) == (
        "1.1.0 follows 1.0.0, and its changes need MAJOR: use 2.0.0 or higher."
        " Responsible: `optional-field-removed at orders.note`"
    )
    assert env.memory.registry.snapshot() == before


@pytest.mark.parametrize(
    ("there", "new"),
    [(["1.0.0"], "1.0.1"), (["1.0.0", "1.2.0"], "1.1.0"), (["1.0.0"], "1.1.0-rc.1")],
)
def test_a_version_is_compared_with_the_highest_lower_release_of_its_major_number(there: list[str], new: str) -> None:
    """A field of that release is missing in the new version."""
    env = Environment()
    for version in there:
        published(env, version, document=text(version, NOTE))
    with pytest.raises(IncompatibleVersion):
        published(env, new)


@pytest.mark.parametrize(
    ("there", "new"), [(["1.0.0"], "2.0.0"), (["2.0.0"], "1.9.0"), (["1.0.0-rc.1"], "1.0.0"), ([], "1.0.0")]
)
def test_a_version_that_follows_none_is_not_compared(there: list[str], new: str) -> None:
    """The first version of a major number, and one that only pre-releases precede."""
    env = Environment()
    for version in there:
        published(env, version, document=text(version, NOTE))

    assert published(env, new).version == new


def test_a_pre_release_between_is_passed_over() -> None:
    """1.1.0 is compared with 1.0.0, although 1.1.0-rc.1 is closer: a change between the two is none of a release."""
    env = Environment()
    published(env)
    published(env, "1.1.0-rc.1", document=text("1.1.0-rc.1", NOTE))

    assert published(env, "1.1.0", document=text("1.1.0")).version == "1.1.0"


def test_a_published_document_that_cannot_be_read_is_an_error() -> None:
    """Nothing follows what cannot be compared."""
    env = Environment()
    published(env, document=b"[]")
    with pytest.raises(InputError, match="cannot be read any more"):
        published(env, "1.1.0")


def test_what_was_published_before_the_rule_is_published_again() -> None:
    """A version that is there is not judged again: publishing twice is publishing once."""
    env = Environment()
    published(env, document=text("1.0.0", NOTE))
    plans = tuple((name, hashlib.sha256(plan).hexdigest()) for name, plan in sorted(COMPILED.plans.items()))
    place = f"contracts/{hashlib.sha256(text('1.1.0')).hexdigest()}"
    env.memory.registry.publish(Publication("shop", "1.1.0", "active", place, (), plans=plans))

    assert published(env, "1.1.0").version == "1.1.0"


def test_a_publisher_that_others_overtake_all_the_time_gives_up() -> None:
    """Each attempt is decided by what is there; after twenty of them an error asks to try again."""
    env = Environment()
    published(env)
    steps = publish(env.dependencies, replace(COMPILED, version="1.1.0", document=text("1.1.0")))
    statuses = cycle(("deprecated", "active"))

    def overtaken() -> None:
        call = next(steps)
        while True:
            if call.effect is Effect.PUBLISH:
                published(env, status=next(statuses))
            try:
                answer = call.do()
            except LakegateError as refused:
                call = steps.throw(refused)
            else:
                call = steps.send(answer)

    with pytest.raises(InputError, match="try again"):
        overtaken()


VERSIONS = {
    "1.1.0": text("1.1.0", NOTE),
    "1.2.0": text("1.2.0"),
    "1.3.0": text("1.3.0", NOTE, {"name": "more", "logicalType": "string"}),
    "2.0.0": text("2.0.0", {"name": "other", "logicalType": "string", "required": True}),
}


@sampled(40, 1_000)
@given(st.permutations(list(VERSIONS)), st.lists(st.integers(0, 7), max_size=40))
def test_publishers_at_once_never_break_the_line_and_leave_the_highest_version(
    order: list[str], choices: list[int]
) -> None:
    """Workers act in any order, stop before an effect or repeat it: a version is compatible with the one that it follows."""
    env = Environment()
    published(env)
    route(env)
    workers = [
        publish(env.dependencies, replace(COMPILED, version=version, document=VERSIONS[version])) for version in order
    ]
    workers.append(add_route(env.dependencies, "b/", "shop", "orders", 1))  # type: ignore[arg-type] # any use case
    pending = {number: next(steps) for number, steps in enumerate(workers)}
    history = ["1.0.0"]
    for choice in [*choices, *range(8), *range(8), *range(80)]:
        number = sorted(pending)[choice % len(pending)] if pending else None
        if number is None:
            break
        _act(workers[number], pending, number, stops=choice == 7 and len(pending) > 1, repeats=choice in {5, 6})
        there = [each.version for each in env.memory.registry.contract("shop").versions]
        history += [each for each in there if each not in history]

    documents = {"1.0.0": text("1.0.0"), **VERSIONS}
    for place, version in enumerate(history):
        lower = [each for each in history[:place] if each[0] == version[0] and each < version]
        assert not lower or compared(documents[max(lower)], documents[version]).ok
    highest = max(each for each in history if each.startswith("1."))
    assert {each.version for each in env.memory.registry.contract("shop").routes} == {highest}
    assert set(env.memory.registry.contract("shop").routes) == set(
        env.dependencies.registry.routes(LANDING, ("a/", "b/"))
    )


def _act(steps: Any, pending: dict[int, Call], number: int, *, stops: bool, repeats: bool) -> None:
    """One worker performs its effect: it may stop before the effect, or perform it twice because an answer was lost."""
    call = pending.pop(number)
    if stops:
        return
    try:
        if repeats:
            call.do()
        answer = call.do()
    except LakegateError as refused:
        step = partial(steps.throw, refused)
    else:
        step = partial(steps.send, answer)
    with suppress(StopIteration, InputError):
        pending[number] = step()


def test_the_twins_know_the_limits_of_aws() -> None:
    """Batches, transactions, keys and tokens are bounded as AWS bounds them."""
    memory = Memory.of(LAKE)
    many = tuple(replace(ROUTE, prefix=f"{number}/") for number in range(99))
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


def test_a_route_is_removed_from_its_own_contract(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another contract, whatever its name, is neither written again nor asked."""
    env = Environment()
    for contract in ("zoo", "shop", "art"):
        published(env, contract=contract)
    route(env)
    writes: list[Publication] = []
    write = Registry.publish
    monkeypatch.setattr(Registry, "publish", lambda at, it, *more: (writes.append(it), write(at, it, *more))[1])

    drive(env.dependencies, remove_route(env.dependencies, "a/"))

    assert [(each.contract, each.version, each.retired) for each in writes] == [("shop", "1.0.0", ("a/",))]


def test_what_publishing_would_close_is_known_before() -> None:
    """A retired version closes the prefixes that are open now; an active one closes none."""
    env = Environment()
    published(env)
    route(env)
    active = replace(COMPILED, version="1.1.0", document=text("1.1.0"))
    retired = replace(active, status="retired")

    changes = [plan_publication(env.dependencies, each) for each in (active, retired)]

    assert [(each.is_new, each.closed) for each in changes] == [(True, ()), (True, ("a/",))]


def test_a_draft_without_a_version_is_not_put_in_force() -> None:
    """A publisher that stopped after the line began left nothing that could judge."""
    env = Environment()
    drive(env.dependencies, change(env.dependencies, "shop/orders_v2", "draft", begin_draft))
    with pytest.raises(InputError, match="shop/orders_v2 has no published version"):
        drive(env.dependencies, reactivate_dataset(env.dependencies, "shop/orders_v2"))


def test_a_notice_period_that_cannot_be_read_prevents_the_publication() -> None:
    """Nobody guesses what was promised."""
    env = Environment()
    drive(env.dependencies, publish(env.dependencies, COMPILED))
    drive(env.dependencies, change(env.dependencies, "shop/orders_v1", "", partial(add_subscription, team="finance")))
    where = Address(LAKE, f"contracts/{hashlib.sha256(COMPILED.document).hexdigest()}")
    swapped(env, where.key, b"{")
    with pytest.raises(InputError, match=r"the published version 1\.0\.0 cannot be read any more"):
        drive(env.dependencies, publish(env.dependencies, replace(COMPILED, version="2.0.0", document=text("2.0.0"))))

    assert [each.version for each in env.dependencies.registry.contract("shop").versions] == ["1.0.0"]
