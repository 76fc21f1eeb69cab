"""Items of the registry that are lost: no command reports what is not there, and what others have is written again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain, combinations

import pytest

from lakegate.aws.dynamodb_table import DynamoTable
from lakegate.base.errors import AccessDenied, InputError
from lakegate.gate.datasets.dataset_names import published_datasets
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import run
from lakegate.gate.registry.contract_versions import CompiledContract
from lakegate.gate.registry.publish_contract import IncompatibleVersion, plan_publication, publish
from lakegate.gate.registry.registry_rows import Publication, Route
from lakegate.gate.registry.registry_store import Registry
from lakegate.gate.registry.routes import add_route, remove_route
from lakegate.gate.table import Row, RowKey, TableName
from tests.fakes.moto_state import MotoState
from tests.simulation.environment import LANDING, Environment
from tests.unit.aws.conftest import Cloud
from tests.unit.diff.builder import document

ITEMS = (
    "contract#shop",
    "version#shop#1.0.0",
    "version#shop#1.1.0",
    f"route#{LANDING}/a/",
    f"route#{LANDING}/b/",
)
_FILLED: list[MotoState] = []
SUBSETS = tuple(chain.from_iterable(combinations(ITEMS, count) for count in range(len(ITEMS) + 1)))


def compiled(version: str, contract: str = "shop", **extra: object) -> CompiledContract:
    return CompiledContract(contract, version, "active", document(extra, version), {"orders": version.encode()})


def stack(cloud: Cloud) -> Dependencies:
    """The registry and the ledger are tables; everything else is in memory."""
    env = Environment()
    return replace(env.dependencies, table=cloud.table())


def built(cloud: Cloud) -> Dependencies:
    """Two versions of a contract, and two routes that carry the newer one."""
    there = stack(cloud)
    for version in ("1.0.0", "1.1.0"):
        run(publish(there, compiled(version)), there.clock)
    for prefix in ("a/", "b/"):
        run(add_route(there, prefix, "shop", "orders", 1), there.clock)
    return there


def filled(cloud: Cloud) -> Dependencies:
    """The same tables, written by the first test that wants them; the documents are not stored."""
    if not _FILLED:
        built(cloud)
        _FILLED.append(MotoState.save())
    _FILLED[0].restore()
    return stack(cloud)


def lose(cloud: Cloud, items: Iterable[str]) -> None:
    for name in items:
        cloud.dynamodb.delete_item(TableName="registry", Key={"id": {"S": name}})


def items(cloud: Cloud) -> dict[str, object]:
    found = cloud.dynamodb.scan(TableName="registry", ConsistentRead=True)["Items"]
    return {each["id"]["S"]: each for each in found if not each["id"]["S"].startswith("contract#")}


@pytest.mark.parametrize("lost", SUBSETS, ids=lambda lost: "+".join(each.partition("#")[2] for each in lost) or "none")
def test_publishing_again_writes_every_item_that_others_have(cloud: Cloud, lost: tuple[str, ...]) -> None:
    """Both documents are published again, the lower one first: all but routes that nothing names is as before."""
    there = filled(cloud)
    before = items(cloud), there.registry.contract("shop")
    lose(cloud, lost)
    unknown = {each for each in lost if each.startswith("route#")} if ITEMS[0] in lost else set()
    for version in ("1.0.0", "1.1.0"):
        assert run(publish(there, compiled(version)), there.clock).version == version

    assert items(cloud) == {name: item for name, item in before[0].items() if name not in unknown}
    found = there.registry.contract("shop")
    kept = {each for each in before[1].routes if f"route#{LANDING}/{each.prefix}" not in unknown}
    assert (set(found.versions), set(found.routes)) == (set(before[1].versions), kept)
    assert there.registry.damaged() == {}


@pytest.mark.parametrize("lost", SUBSETS, ids=lambda lost: "+".join(each.partition("#")[2] for each in lost) or "none")
def test_a_route_is_added_and_removed_or_the_command_says_what_is_wrong(cloud: Cloud, lost: tuple[str, ...]) -> None:
    """After `add` the route stands in its item and in the list, after `remove` in neither; what is refused names the version."""
    there = filled(cloud)
    lose(cloud, lost)
    add = add_route(there, "a/", "shop", "orders", 1)
    if {ITEMS[0], ITEMS[2]} <= set(lost) and (ITEMS[1] in lost or not {*ITEMS[3:]} <= set(lost)):
        with pytest.raises(InputError, match="shop"):
            run(add, there.clock)
        return
    route = run(add, there.clock)
    assert route in there.registry.routes(LANDING, ("a/",))
    assert route in there.registry.contract("shop").routes

    assert run(remove_route(there, "a/"), there.clock) == route
    assert there.registry.routes(LANDING, ("a/",)) == ()
    assert route not in there.registry.contract("shop").routes
    assert there.registry.damaged() == {}


@pytest.mark.parametrize("lost", SUBSETS[1:], ids=lambda lost: "+".join(each.partition("#")[2] for each in lost))
def test_lost_items_are_seen_while_others_name_them(cloud: Cloud, lost: tuple[str, ...]) -> None:
    """The versions of the contract are listed, its line keeps its name, and what is lost is named."""
    there = filled(cloud)
    lose(cloud, lost)
    known = {f"version#shop#{each.version}" for each in there.registry.snapshot().versions}
    unlisted = ITEMS[0] in lost

    assert known == {each for each in ITEMS[1:3] if not (unlisted and each in lost)}
    assert published_datasets(there) == (() if set(lost) == set(ITEMS) else ("shop/orders_v1",))
    named = set(there.registry.damaged().get("shop", ()))
    assert named == ({ITEMS[0]} if unlisted and set(lost) != set(ITEMS) else set() if unlisted else set(lost))


def test_a_route_whose_item_is_lost_is_removed_from_the_list(cloud: Cloud) -> None:
    """It is found in the list of its contract, which may be on a later page."""
    there = filled(cloud)
    lose(cloud, [ITEMS[3]])

    assert run(remove_route(there, "a/"), there.clock).version == "1.1.0"
    assert [each.prefix for each in there.registry.contract("shop").routes] == ["b/"]


def test_a_route_of_a_version_that_is_lost_is_not_removed(cloud: Cloud) -> None:
    """The error names the version whose document is to be published again."""
    there = filled(cloud)
    lose(cloud, [ITEMS[0], ITEMS[2]])
    with pytest.raises(InputError, match=r"the registry has lost shop 1\.1\.0, which routes have"):
        run(remove_route(there, "a/"), there.clock)

    assert len(there.registry.routes(LANDING, ("a/", "b/"))) == 2


def test_a_prefix_that_another_contract_took_meanwhile_is_its_own(cloud: Cloud) -> None:
    """The first contract can be published: it has its other route."""
    there = built(cloud)
    run(publish(there, compiled("1.0.0", "bills")), there.clock)
    lose(cloud, [ITEMS[3]])
    taken = run(add_route(there, "a/", "bills", "orders", 1), there.clock)
    run(publish(there, compiled("1.2.0")), there.clock)

    assert there.registry.routes(LANDING, ("a/",)) == (taken,)
    assert [each.prefix for each in there.registry.contract("shop").routes] == ["b/"]


def test_a_new_version_is_never_compared_with_less_than_was_published(cloud: Cloud) -> None:
    """A lower version that is lost is published again first; records of another line do not matter."""
    there = stack(cloud)
    column = {"name": "note", "logicalType": "string"}
    orders = {"objects": [{"name": "orders", "properties": [column]}]}
    for version, extra in (("1.0.0", orders), ("2.0.0", {})):
        run(publish(there, compiled(version, **extra)), there.clock)
    lose(cloud, ["contract#shop", "version#shop#1.0.0"])
    with pytest.raises(InputError, match=r"the registry has lost shop 1\.0\.0, which was published before 1\.1\.0"):
        plan_publication(there, compiled("1.1.0"))
    run(publish(there, compiled("1.0.0", **orders)), there.clock)
    with pytest.raises(IncompatibleVersion):
        run(publish(there, compiled("1.1.0")), there.clock)


def test_parents_keep_their_children_when_their_list_is_lost(cloud: Cloud) -> None:
    """They are those whose versions inherit from it."""
    there = stack(cloud)
    run(publish(there, compiled("1.0.0", "acme")), there.clock)
    child = Publication("shop", "1.0.0", "active", "e", (), needs=(("acme@1.0.0", "d"),))
    there.registry.publish(child)
    lose(cloud, ["contract#acme"])

    assert there.registry.contract("acme").children == ("shop",)


def test_more_routes_than_a_transaction_holds_are_written_again(cloud: Cloud) -> None:
    """In several transactions."""
    there = filled(cloud)
    many = [Route(LANDING, f"{number}/", "shop", "orders", 1, "1.1.0", "active", "d" * 64) for number in range(97)]
    version = there.registry.contract("shop").versions[-1]
    for some in (many[:50], many[50:]):
        there.registry.publish(replace(version, routes=tuple(some)))
    lose(cloud, [f"route#{LANDING}/{each.prefix}" for each in many])
    run(add_route(there, "a/", "shop", "orders", 1), there.clock)

    assert len(there.registry.snapshot().routes) == 99


class Refused(DynamoTable):
    """The table of the ledger may not be read."""

    def get(self, key: RowKey) -> Row | None:
        if key.table is TableName.LEDGER:
            raise AccessDenied("GetItem")
        return super().get(key)


def test_who_may_not_read_the_ledger_finds_what_is_listed(cloud: Cloud) -> None:
    """A contract without a list is none for them; they publish nothing."""
    there = built(cloud)
    registry = Registry(Refused(there.table.client, there.table.names), LANDING)  # type: ignore[attr-defined] # of DynamoDB
    found = registry.contract("shop"), registry.contract("nobody")
    lose(cloud, [ITEMS[0]])

    assert [len(each.versions) for each in (*found, registry.contract("shop"))] == [2, 0, 0]
