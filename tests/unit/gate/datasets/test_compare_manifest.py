"""The readers' manifest in the lake: whatever is changed, set back, deleted or added is named by `verify --objects`."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from lakegate.gate.datasets.dataset_states import Ending
from lakegate.gate.datasets.lifecycle import change, deprecate, settle_dataset
from lakegate.gate.delivery.advance import advance
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.effects import Effect, run
from lakegate.gate.ledger.compare_objects import Damage, damages
from lakegate.gate.ports import Address
from tests.simulation.environment import LAKE, LINE, PREFIX, Environment
from tests.simulation.stage import Fault, Stage, settle
from tests.unit.gate.scenarios import decided

FOLDER = f"accepted/{LINE}/"
HEAD = f"{FOLDER}_manifest.json"
SEGMENT = f"{FOLDER}_manifest/{0:012}.json"
Steps = tuple[str | int, ...]


@pytest.fixture
def env() -> Environment:
    """Five accepted deliveries: segments, and a head above them."""
    found = Environment()
    stage = Stage(found, lambda _: Fault.NONE)
    for number in range(5):
        found.upload(f"{PREFIX}{number}.csv", b"good:%d" % number)
        settle(stage)
    return found


def found(env: Environment) -> list[tuple[Damage, str]]:
    top = env.dependencies.ledger.head(LINE).height
    return [(each.damage, each.key) for each in damages(env.dependencies, LINE, top, lambda _: None)]


def leaves(document: Any, place: Steps = ()) -> Iterator[Steps]:
    inner = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for name, value in inner:
        yield from leaves(value, (*place, name))
    if not inner:
        yield place


def other(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case str():
            return f"{value}1"
    return 1 if value is None else [1]


@pytest.mark.parametrize("key", [HEAD, SEGMENT])
def test_every_changed_value_is_named(env: Environment, key: str) -> None:
    """Each leaf with another value, `gapless` among them; each list shorter, longer and in another order."""
    good = json.loads(env.dependencies.objects.read(Address(LAKE, key)))
    before = found(env)
    bad: dict[str, Any] = {}
    for place in leaves(good):
        document = bad[f"{place}"] = copy.deepcopy(good)
        holder = document
        for step in place[:-1]:
            holder = holder[step]
        holder[place[-1]] = other(holder[place[-1]])
    listed = good["deliveries"]
    for name, changed in {"shorter": listed[1:], "longer": [*listed, listed[0]], "none": []}.items():
        bad[name] = good | {"deliveries": changed}
    unseen = []
    for name, document in bad.items():
        env.memory.objects.put(Address(LAKE, key), json.dumps(document).encode())
        if found(env) != [(Damage.UNTRUE, key)]:
            unseen.append(name)

    assert before == []
    assert len(bad) > 20
    assert unseen == []


def test_a_head_that_was_set_back_is_named(env: Environment) -> None:
    """To any of its earlier versions, each of which was true: readers believe that later deliveries never were."""
    earlier = [each.body for each in env.lake[HEAD]]
    results = []
    for body in earlier:
        env.memory.objects.put(Address(LAKE, HEAD), body)
        results.append(found(env))

    assert len(earlier) == 5
    assert results == [[(Damage.UNLISTED, HEAD)]] * 4 + [[]]


def test_a_head_that_was_deleted_is_named(env: Environment) -> None:
    """No version is there for readers."""
    env.memory.objects.delete(Address(LAKE, HEAD))

    assert found(env) == [(Damage.UNLISTED, HEAD)]


def test_a_head_that_is_late_is_no_damage() -> None:
    """The commit is before the manifest: until the row is closed, somebody is going to write it."""
    env, row = decided()
    steps = advance(DeliveryTurn(env.dependencies, row))
    call = next(steps)
    while call.effect is not Effect.WRITE_MANIFEST:
        call = steps.send(call.do())
    steps.close()

    assert env.dependencies.ledger.head(LINE).height == 0
    assert HEAD not in env.lake
    assert found(env) == []


def test_what_a_person_did_is_in_the_head_after_an_hour(env: Environment) -> None:
    """A record changes the manifest with the next sweep; a head from before it hides the end of the line."""
    plan = partial(deprecate, ending=Ending("a new one", "orders/lines_v2", ""))
    run(change(env.dependencies, LINE, "deprecate", plan), env.dependencies.clock)
    results = [found(env)]
    env.memory.clock.sleep(2 * 60 * 60)
    results.append(found(env))
    run(settle_dataset(env.dependencies, env.dependencies.datasets.get(LINE), ""), env.dependencies.clock)
    results.append(found(env))

    assert results == [[], [(Damage.UNLISTED, HEAD)], []]


@pytest.mark.parametrize(
    "name",
    [
        "_manifest/part-0.csv",
        "_manifest/000000000001.json",
        "_manifest/000000000100.json",
        "_manifest/000000000000.JSON",
        "_manifest/erased-000000000001/000000000000.json",
        "_manifest/x/000000000000.json",
        "_manifest.json/x",
        "_manifest",
        "_state/x",
        "_state/abc.bin",
        "_state/x/" + "0" * 64 + ".bin",
    ],
)
def test_what_is_no_document_of_the_manifest_is_extra(env: Environment, name: str) -> None:
    """The folder of segments has segments, and that of rebuilt merge states these, and nothing else."""
    env.memory.objects.put(Address(LAKE, FOLDER + name), b"x")

    assert found(env) == [(Damage.EXTRA, FOLDER + name)]


@pytest.mark.parametrize(
    "name", ["lines_v1x/part-0.csv", "Lines_v1/part-0.csv", "part-0.csv", "lines_v1", "lines_v2/x/y.csv"]
)
def test_what_is_of_no_dataset_of_the_contract_is_extra(env: Environment, name: str) -> None:
    """A reader of the folder of the contract, or of names that begin like the dataset, reads it."""
    key = f"accepted/{LINE.partition('/')[0]}/{name}"
    env.memory.objects.put(Address(LAKE, key), b"x")

    assert found(env) == [(Damage.EXTRA, key)]


def test_another_dataset_of_the_contract_is_none_of_this_one(env: Environment) -> None:
    """It is compared by its own name, and one whose first delivery is being copied is not there yet."""
    other = f"{LINE[:-1]}2"
    env.memory.put_block(replace(env.dependencies.ledger.blocks(LINE)[0], chain=other))
    env.memory.objects.put(Address(LAKE, f"accepted/{other}/part-0.csv"), b"x")

    assert found(env) == []


def test_a_rebuilt_merge_state_is_no_extra_object(env: Environment) -> None:
    """It is used only where the dataset's turns name it, by its digest."""
    env.memory.objects.put(Address(LAKE, f"{FOLDER}_state/{'0' * 64}.bin"), b"x")

    assert found(env) == []
