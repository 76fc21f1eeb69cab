"""Snapshots of a gated table: exactly what was accepted becomes main, once, whatever fails, and whatever others do meanwhile."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from lakegate.base.errors import PortError
from lakegate.contract.delivery_policy import ADDED
from lakegate.features.pull.snapshots.name_snapshots import named_snapshots
from lakegate.gate.effects import ConcurrentUpdate, Effect, run
from lakegate.gate.ports import Address
from lakegate.gate.table import TableName
from tests.decisions import recall
from tests.simulation.environment import LANDING, LINE, PREFIX
from tests.simulation.gated import SOURCE, STAGED, GatedWorld, publish_gated
from tests.simulation.invocations import Fault as InvocationFault
from tests.simulation.invocations import Invocation
from tests.simulation.stage import Fault
from tests.simulation.test_recalls import FAULTS, play

SCHEDULES = 3_000 if os.environ.get("LAKEGATE_FULL") else 60
ERRORS = (PortError, ConcurrentUpdate)
MOST_WORKERS = 3
REPEATED = frozenset({Effect.LAND_PART, Effect.END_UPLOAD, Effect.KEEP_CURSOR})


def begun(*contents: str, rows: str = "") -> GatedWorld:
    """A world with an accepted snapshot on main, and others on the branch that were judged."""
    world = GatedWorld(rows=rows)
    for content in contents:
        world.table.commit(content)
        world.look()
        world.gate()
    return world


def reasons(world: GatedWorld) -> dict[int, str]:
    """By snapshot, how its publication ended."""
    rows = named_snapshots(world.env.dependencies)
    keys = [each.key.name.partition("#")[2] for each in world.env.memory.table.scan(TableName.WORKLOADS)]
    found = [rows.get(each) for each in keys if len(each) == 64]
    return {
        int(each.version.partition("/")[2]): each.published.reason or each.published.outcome.value
        for each in found
        if each.published is not None
    }


def test_an_accepted_snapshot_becomes_main_and_a_rejected_one_does_not() -> None:
    """Nothing is visible before; the branch stays as it is."""
    world = begun("good:1", "bad:2", "good:3")
    assert world.table.main is None
    followed = world.publish()

    assert world.table.written == [(None, 1), (1, 3)]
    assert (world.table.head, reasons(world)) == (3, {1: "PUBLISHED", 3: "PUBLISHED"})
    assert [each.outcome.value for each in followed.ends] == ["PUBLISHED", "PUBLISHED"]


def test_a_snapshot_is_one_delivery_however_often_its_branch_is_looked_at() -> None:
    world = begun("good:1")
    for _ in range(3):
        world.look()
        world.gate()
    world.publish()
    world.look()
    world.gate()

    assert (world.deliveries, world.table.written) == ({1: 1}, [(None, 1)])


def test_what_is_on_the_branch_after_the_judged_snapshot_does_not_become_main() -> None:
    world = begun("good:1")
    world.table.commit("bad:2")
    world.publish()

    assert (world.table.main, world.table.head) == (1, 2)


def _moved(world: GatedWorld) -> None:
    world.table.commit("foreign", to_main=True)


def _rolled_back(world: GatedWorld) -> None:
    world.table.move(1)


def _changed(world: GatedWorld) -> None:
    world.table.contents[3] = "good:other"


def _expired(world: GatedWorld) -> None:
    del world.table.parents[3]


def _replaced(world: GatedWorld) -> None:
    world.table.uuid = "0b"


def _dropped(world: GatedWorld) -> None:
    world.table.uuid = None


def _without_branch(world: GatedWorld) -> None:
    world.table.head = None


def _recalled(world: GatedWorld) -> None:
    block = world.env.dependencies.ledger.blocks(LINE)[-1]
    run(recall(world.env.dependencies, block.workload, "wrong"), world.env.dependencies.clock)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        (_moved, "main-moved"),
        (_rolled_back, "main-moved"),
        (_changed, "files-changed"),
        (_expired, "snapshot-expired"),
        (_replaced, "table-replaced"),
        (_dropped, "table-missing"),
        (_recalled, "not-current"),
    ],
)
def test_a_snapshot_that_cannot_become_main_any_more_says_why(act: Callable[[GatedWorld], None], reason: str) -> None:
    """It is listed with the dataset, and told; what is on main stays."""
    world = begun("good:1", "good:2")
    world.publish()
    world.table.commit("good:3")
    world.look()
    world.gate()
    act(world)
    main = world.table.main
    world.publish()
    world.publish()

    assert (world.table.main, reasons(world)[3]) == (main, reason)
    (first, *_) = world.env.memory.pulls.get(LINE).ends
    assert (first.outcome.value, first.reason, first.version) == ("FAILED", reason, "0a/3")
    told = [each for each in world.env.memory.messages.values() if each.kind == "pull"]
    assert len(told) == 1


def test_a_branch_that_others_have_overtaken_is_not_judged_until_it_begins_anew() -> None:
    """Its newest snapshot could not become main."""
    world = begun("good:1")
    world.publish()
    world.table.commit("good:2")
    world.table.commit("foreign", to_main=True)
    world.look()
    world.gate()
    assert (world.deliveries, world.env.memory.pulls.get(LINE).ends[0].reason) == ({1: 1}, "main-moved")
    told = [each for each in world.env.memory.messages.values() if each.kind == "pull"]
    snapshot = world.table.rebase("good:4")
    world.look()
    world.gate()
    world.publish()

    assert world.table.main == snapshot
    assert len(told) == 1
    assert {each.reason for each in world.env.memory.pulls.get(LINE).ends} == {""}


@pytest.mark.parametrize(("act", "reason"), [(_dropped, "table-missing"), (_without_branch, "branch-missing")])
def test_a_branch_that_is_not_there_is_listed_until_it_is(act: Callable[[GatedWorld], None], reason: str) -> None:
    """Once, however often it is looked for. A branch may be dropped when it is done with: that is no failure."""
    world = begun("good:1")
    world.publish()
    act(world)
    world.look()
    listed = [(each.outcome.value, each.reason) for each in world.env.memory.pulls.get(LINE).ends]
    told = [each for each in world.env.memory.messages.values() if each.kind == "pull"]
    world.table.uuid = "0a"
    world.table.commit("good:2")
    world.look()

    outcome = "UNCHANGED" if act is _without_branch else "FAILED"
    assert listed == [(outcome, reason), ("PUBLISHED", "")]
    assert len(told) == (outcome == "FAILED")
    assert {each.reason for each in world.env.memory.pulls.get(LINE).ends} == {""}


def test_main_that_moved_on_along_the_branch_is_no_obstacle() -> None:
    """Both were judged while neither was main."""
    world = begun("good:1", "good:2")
    world.publish()

    assert world.table.written == [(None, 1), (1, 2)]


def test_an_object_that_only_says_it_is_a_snapshot_publishes_nothing() -> None:
    """The producer knows the footer of what was judged, or can guess it: the bytes are others."""
    world = GatedWorld()
    world.table.commit("good:1")
    world.look()
    objects = world.env.memory.objects
    (landed,) = objects.versions(LANDING, PREFIX).versions
    body = objects.read(Address(LANDING, landed.key, landed.version))
    objects.delete(Address(LANDING, landed.key, landed.version))
    world.forge(body, "a")
    world.gate()
    followed = world.publish()

    assert (world.table.main, followed.ends) == (None, [])


def test_files_that_change_while_they_are_read_are_read_again() -> None:
    world = GatedWorld()
    world.table.commit("bad:1")

    def once() -> None:
        world.table.contents[1] = "good:1"
        world.meanwhile = int

    world.meanwhile = once
    for _ in range(4):
        world.look()
    world.gate()
    world.publish()

    assert (world.table.main, world.judged) == (1, {1: "good:1"})


OPEN = ("UNCHANGED", "delivery-open")


def test_of_a_snapshot_that_adds_rows_these_alone_are_judged() -> None:
    """Since what main was when it was copied: of several snapshots those of all, and of a rejected one with the next."""
    world = begun("good:1", rows=ADDED)
    world.publish()
    for content in ("bad:2", "good:3"):
        world.table.commit(content)
    world.look()
    world.gate()
    world.publish()
    world.table.rebase("good:4")
    world.table.commit("good:5")
    world.look()
    world.gate()
    world.publish()

    assert world.judged == {1: "good:1", 3: "bad:2+good:3", 5: "good:4+good:5"}
    assert world.table.written == [(None, 1), (1, 5)]


@pytest.mark.parametrize("act", ["judged", "accepted"])
def test_while_rows_may_still_be_accepted_the_next_snapshot_waits(act: str) -> None:
    """They would be delivered twice: where the first one is judged, or accepted and not yet main. Then nothing is lost."""
    world = begun("good:1", rows=ADDED)
    world.publish()
    world.table.commit("good:2")
    world.look()
    world.gate() if act == "accepted" else None
    world.table.commit("good:3")
    world.look()
    listed = [(each.outcome.value, each.reason) for each in world.env.memory.pulls.get(LINE).ends]
    judged = dict(world.judged)
    world.gate()
    world.publish()
    world.look()
    world.gate()
    world.publish()

    assert OPEN in listed
    assert 3 not in judged
    assert world.judged == {1: "good:1", 2: "good:2", 3: "good:3"}
    assert world.table.written == [(None, 1), (1, 2), (2, 3)]
    assert {each.reason for each in world.env.memory.pulls.get(LINE).ends} == {""}
    assert [each for each in world.env.memory.messages.values() if each.kind == "pull"] == []


@pytest.mark.parametrize("fault", FAULTS)
def test_added_rows_are_accepted_once_whoever_looks_at_the_branch(fault: Fault) -> None:
    """With any fault at any effect, before which the branch goes on, and another worker looks at it."""

    def ready() -> GatedWorld:
        world = begun("good:1", rows=ADDED)
        world.publish()
        world.table.commit("good:2")
        world.env.memory.clock.sleep(360)
        return world

    def meanwhile(world: GatedWorld) -> None:
        world.table.commit("good:3")
        run(world.delivers(), world.env.memory.clock)

    first = ready()
    effects = play(first, first.delivers())
    for at in range(effects):
        world = ready()
        play(world, world.delivers(), at, fault, lambda world=world: meanwhile(world))
        for _ in range(4):
            world.env.memory.clock.sleep(1_500)
            world.look()
            world.gate()
            world.publish()

        assert world.table.main == 3


@pytest.mark.parametrize("rows", ["", ADDED])
def test_of_what_is_staged_on_main_the_first_that_is_accepted_becomes_main(rows: str) -> None:
    """The others, which are not based on it, do not: one that was judged says so, and with added rows none else is judged."""
    world = GatedWorld(rows=rows, source=STAGED)
    world.table.commit("good:1", to_main=True)
    for content in ("bad:2", "good:3", "good:4"):
        world.table.stage(content)
    for _ in range(4):
        world.look()
        world.gate()
        world.publish()

    first, *others = world.accepted()
    assert world.table.written == [(1, first)]
    assert {first, *others} == ({3} if rows else {3, 4})
    assert world.judged == {2: "bad:2", 3: "good:3"} | ({} if rows else {4: "good:4"})
    assert reasons(world) == {first: "PUBLISHED"} | dict.fromkeys(others, "main-moved")
    assert "main-moved" in {each.reason for each in world.env.memory.pulls.get(LINE).ends}
    world.table.stage("good:5")
    for _ in range(2):
        world.look()
        world.gate()
        world.publish()

    assert world.table.written == [(1, first), (first, 5)]
    assert {
        each.reason for each in world.env.memory.pulls.get(LINE).ends if each.object == STAGED and not each.version
    } == set()


def test_nothing_that_is_staged_is_nothing_to_tell() -> None:
    world = GatedWorld(source=STAGED)
    world.table.commit("good:1")
    world.look()

    assert (world.deliveries, world.env.memory.pulls.get(LINE).ends) == ({}, ())


def test_a_snapshot_that_changes_rows_of_main_is_refused_where_added_ones_are_judged() -> None:
    """It is told once, however often the branch is looked at."""
    world = begun("good:1", rows=ADDED)
    world.publish()
    world.table.changed.add(world.table.commit("good:2"))
    for _ in range(4):
        world.look()
        world.gate()
        world.publish()

    assert (world.table.main, world.deliveries) == (1, {1: 1})
    assert {each.reason for each in world.env.memory.pulls.get(LINE).ends} == {"", "rows-changed"}
    assert len([each for each in world.env.memory.messages.values() if each.kind == "pull"]) == 1


@pytest.mark.parametrize("act", [_moved, lambda world: world.table.move(2)])
def test_what_a_snapshot_added_is_not_known_where_main_is_not_below_it(act: Callable[[GatedWorld], None]) -> None:
    """Since it was named main went elsewhere, or to it: it is not delivered."""
    world = begun("good:1", rows=ADDED)
    world.publish()
    world.table.commit("good:2")
    world.tick()
    assert world.deliveries == {1: 1}
    act(world)
    world.look()
    world.gate()

    assert world.deliveries == {1: 1}
    assert "main-moved" in {each.reason for each in world.env.memory.pulls.get(LINE).ends}


def test_rows_that_were_judged_as_added_do_not_become_main_where_all_are_to_be() -> None:
    """The contract says otherwise since: rules of the whole table have not held of all rows."""
    world = begun("good:1", rows=ADDED)
    publish_gated(world.env)
    world.publish()

    assert (world.table.main, reasons(world)) == (None, {1: "source-refused"})


@pytest.mark.parametrize("rows", ["", ADDED])
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("meanwhile", ["nothing", "others", "branch", "main", "back", "files"])
def test_a_publication_is_whole_or_not_at_all_and_happens_once(fault: Fault, meanwhile: str, rows: str) -> None:
    """With any fault at any effect, before which another worker follows, the branch goes on, main moves, or files change."""

    def ready() -> GatedWorld:
        world = begun("good:1", rows=rows)
        world.publish()
        world.table.commit("good:2")
        world.look()
        world.gate()
        return world

    effects = ready().tries()
    for at in range(effects):
        world = ready()
        acts: dict[str, Callable[[], object]] = {
            "nothing": int,
            "others": world.tries,
            "branch": lambda world=world: world.table.commit("bad:3"),
            "main": lambda world=world: world.table.commit("foreign", to_main=True),
            "back": lambda world=world: world.table.move(1),
            "files": lambda world=world: world.table.contents.update({2: "bad:2"}) if world.table.main == 1 else 0,
        }
        world.tries(at, fault, acts[meanwhile])
        for _ in range(2):
            world.tries()
            world.table.move(1) if meanwhile == "back" else None
        world.publish()
        assert 2 in reasons(world)
        if meanwhile in {"nothing", "others", "branch"}:
            assert (world.table.main, world.table.written) == (2, [(None, 1), (1, 2)])


ACTS: dict[str, Callable[[GatedWorld, random.Random], object]] = {
    "commit": lambda world, choose: world.table.commit(f"{choose.choice(['good', 'good', 'bad'])}:{world.table.made}"),
    "stage": lambda world, choose: world.table.stage(f"{choose.choice(['good', 'bad'])}:{world.table.made}"),
    "foreign": lambda world, _: world.table.commit("foreign", to_main=True),
    "rebase": lambda world, _: world.table.rebase(f"good:{world.table.made}"),
    "back": lambda world, choose: world.table.move(choose.choice(world.table.past)) if world.table.past else None,
    "time": lambda world, choose: world.env.memory.clock.sleep(choose.choice([60, 330, 1_500])),
    "gate": lambda world, _: world.gate(),
}
OFTEN = {"commit": 4, "stage": 4, "foreign": 1, "rebase": 1, "back": 1, "time": 4, "gate": 4, "begin": 8, "work": 30}


@pytest.mark.parametrize("seed", range(SCHEDULES))
def test_random_schedules(seed: int) -> None:
    """Ticks and followers interleave with faults, while the producer commits, others move main, and files change.

    Where added rows alone are judged main does not go back: rows that were taken back are accepted data until a recall.
    """
    choose = random.Random(seed)
    world = GatedWorld(rows=choose.choice(["", ADDED]), source=choose.choice([SOURCE, STAGED]))
    often = OFTEN if world.rows != ADDED else OFTEN | {"back": 0}
    workers = list[Invocation]()
    for act in choose.choices(list(often), list(often.values()), k=80):
        if act == "begin" and len(workers) < MOST_WORKERS:
            steps = world.delivers() if choose.random() < 0.5 else world.publishes()
            workers += [each] if (each := Invocation(steps, REPEATED, ERRORS)).call else []
        elif act == "work" and workers:
            worker = choose.choice(workers)
            if not worker.advance(choose.choice(list(InvocationFault)) if choose.random() < 0.1 else None):
                workers.remove(worker)
        elif act in ACTS:
            ACTS[act](world, choose)
        world.holds()
    for worker in workers:
        worker.steps.close()
    for _ in range(2):
        world.env.memory.clock.sleep(1_500)
        world.look()
        world.gate()
        world.publish()
    ends = reasons(world)
    assert all(each in ends for each in world.accepted()), "an accepted snapshot has no end"
    published = {each for each, end in ends.items() if end == "PUBLISHED"}
    assert {each for _, each in world.table.written} <= published
    assert published <= {each for snapshot in world.table.past for each in world.line(snapshot)}


def _owned_by_another(world: GatedWorld) -> None:
    """Another dataset has the table: it was published before, at the same time."""
    own = world.env.memory.registry.contract("orders").versions[-1]
    world.env.memory.registry.publish(replace(own, contract="a"))


def test_a_snapshot_of_a_table_that_another_dataset_has_does_not_become_main() -> None:
    """It was accepted by rules that are not those of the table's dataset."""
    world = begun("good:1")
    _owned_by_another(world)
    world.publish()

    assert (world.table.main, reasons(world)) == (None, {1: "source-refused"})


def test_a_table_that_another_dataset_has_is_not_delivered() -> None:
    """Its rows are not those of this dataset."""
    world = GatedWorld()
    _owned_by_another(world)
    world.table.commit("good:1")
    world.look()
    world.gate()

    assert (world.deliveries, world.env.memory.pulls.get(LINE).ends[0].reason) == ({}, "source-refused")
