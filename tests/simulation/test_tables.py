"""The table of a dataset follows its ledger: with every fault at every effect, beside others, after programs that compact."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from lakegate.base.errors import InputError
from lakegate.contract.delivery_policy import PublishAs
from lakegate.features.tables import keep_table as kept_tables
from lakegate.features.tables.all_tables import has_table, keep_all_tables
from lakegate.features.tables.compact_table import CompactedTable, compact_table
from lakegate.features.tables.keep_table import KeptTable, TableKind, keep_table
from lakegate.gate.effects import ConcurrentUpdate, Steps, run
from lakegate.gate.ledger.blocks import AnyBlock, Block, TableFile, deliveries, digest
from lakegate.gate.registry.registry_rows import Publication
from lakegate.gate.scheduled_tasks import Turn
from lakegate.plan.plan import Plan
from tests.decisions import recall, restore
from tests.fakes.tables import MemoryTables
from tests.simulation.choices import Choices
from tests.simulation.environment import LAKE, LINE, PREFIX, Environment
from tests.simulation.stage import Fault, Stage
from tests.simulation.stage import settle as settled
from tests.simulation.test_recalls import FAULTS, REPLACING, Town, play, reference
from tests.simulation.typed import with_typed_files

TYPED = replace(REPLACING, policy=replace(REPLACING.policy, publish_as=PublishAs.ICEBERG, compact_table=True))


class Tabled(Town):
    """A town whose dataset has a table; of rejected rows, each delivery has one."""

    def __init__(self, kind: TableKind = TableKind.ACCEPTED, plan: Plan = TYPED) -> None:
        super().__init__(plan, b"good" if kind is TableKind.ACCEPTED else b"split")
        self.tables = MemoryTables(self.env.memory.objects, LAKE, kind)
        self.parts: dict[str, tuple[str, ...]] = {}
        """By file of another program, the files whose rows it has."""

    def keeps(self, most: int = 100) -> Steps[KeptTable]:
        return keep_table(self.env.dependencies, self.tables, LINE, most)

    def merges(self) -> Steps[CompactedTable]:
        return compact_table(self.env.dependencies, self.tables, LINE)

    def merge(self) -> None:
        """A compaction of ours, without faults."""
        play(self, self.merges())

    def kept(self) -> None:
        """A turn without faults, by which the table shows everything."""
        run(self.keeps(), self.env.dependencies.clock)
        self.holds()
        assert self.shown_heights() == self.changes()

    def tries(self, at: int = -1, fault: Fault = Fault.NONE, meanwhile: Callable[[], object] = int) -> int:
        """A turn, which may find that another worker goes on. Returns its effects."""
        try:
            return play(self, self.keeps(), at, fault, meanwhile)
        except ConcurrentUpdate:
            self.holds()
            return at + 1

    def compact(self) -> None:
        """Another program puts all rows into one file."""
        if files := self.tables.rows(LINE):
            name = f"compacted-{len(self.parts)}"
            self.parts[name] = self.rows_of(files)
            self.tables.write_foreign(LINE, (name,), replaces=True)

    def rows_of(self, files: tuple[str, ...]) -> tuple[str, ...]:
        inside = self.tables.parts(files)
        return tuple(sorted(each for file in inside for each in self.parts.get(file, (file,))))

    def files_at(self, height: int) -> tuple[str, ...]:
        """The typed files of the deliveries that are current with a block: written out for the deliveries of the town."""
        blocks: Any = self.env.dependencies.ledger.blocks(LINE)[: height + 1]
        return tuple(sorted(file.key for at in reference(blocks) for file in self.files_of(blocks[at], blocks)))

    def files_of(self, block: Block, _blocks: tuple[AnyBlock, ...]) -> tuple[TableFile, ...]:
        """The typed files that a delivery first had, by the blocks up to a height."""
        return (block.table if self.tables.kind is TableKind.ACCEPTED else block.rejected_table) or ()

    def changes(self) -> list[int]:
        """The heights whose blocks change what is current."""
        heights = range(len(self.env.dependencies.ledger.blocks(LINE)))
        return [each for each in heights if self.files_at(each) != self.files_at(each - 1)]

    def shown_heights(self) -> list[int]:
        found = self.tables.tables.get(LINE, [])
        return [each.state.height for each in found if each.state is not None]

    def holds(self) -> None:
        """Each snapshot has the rows of the ledger at its height, each once; no height is left out, none comes twice."""
        super().holds()
        blocks = self.env.dependencies.ledger.blocks(LINE)
        shown = self.shown_heights()
        assert shown == self.changes()[: len(shown)]
        height = -1
        for each in self.tables.tables.get(LINE, []):
            height = each.state.height if each.state is not None else height
            assert self.rows_of(each.files) == self.files_at(height)
            assert each.state is None or each.state.digest == digest(blocks[height])

    def recall_last(self) -> None:
        self.rows.append(self.env.dependencies.workloads.get(self.last))
        self.decide(recall, 3)

    def decide(self, act: Callable[..., Steps[str]], height: int) -> None:
        play(self, self.decides(act, height))

    def act(self) -> None:
        """What has an effect on the current state: the second is replaced, the first recalled and restored."""
        self.publish()
        self.decide(recall, 0)
        self.decide(restore, 0)
        self.rows.append(self.env.dependencies.workloads.get(self.last))
        self.decide(recall, 3)


@pytest.mark.parametrize("first", [0, 2])
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("meanwhile", ["nothing", "act", "others", "compact"])
@pytest.mark.parametrize("kind", TableKind)
def test_a_table_shows_the_ledger_whatever_happens_to_who_keeps_it(
    kind: TableKind, fault: Fault, meanwhile: str, first: int
) -> None:
    """With any fault at any effect, before which the state changes, another worker keeps it, or a program compacts it."""

    def begun() -> Tabled:
        town = Tabled(kind)
        play(town, town.keeps(first))  # some snapshots are there, or not even the table
        return town

    effects = begun().tries()
    assert effects >= len(("the third delivery",))
    for at in range(effects):
        town = begun()
        happens = {"nothing": int, "act": town.act, "others": town.tries, "compact": town.compact}[meanwhile]
        town.tries(at, fault, happens)
        town.kept()
        town.compact()
        if meanwhile != "act":
            town.act()
        town.kept()


def test_a_turn_adds_a_few_snapshots_and_the_next_one_goes_on() -> None:
    town = Tabled()
    turns = []
    for _ in range(3):
        kept = run(town.keeps(2), town.env.dependencies.clock)
        turns.append((kept.snapshots, kept.height, kept.is_complete))

    assert turns == [(2, 1, False), (1, 2, True), (0, 2, True)]


def test_files_are_listed_again_where_a_program_has_compacted_those_that_leave() -> None:
    town = Tabled()
    town.kept()
    town.compact()
    town.publish()
    kept = run(town.keeps(), town.env.dependencies.clock)
    town.holds()

    assert (kept.snapshots, kept.rebuilt) == (1, [3])
    assert town.tables.rows(LINE) != ("compacted-0",)


def test_a_table_that_another_program_changed_stays_as_it_is() -> None:
    """Nothing of it is overwritten; dropped, it is made again from the ledger."""
    town = Tabled()
    town.kept()
    town.tables.write_foreign(LINE, ("foreign",), replaces=False)
    town.publish()
    with pytest.raises(InputError, match="another program has changed rows"):
        run(town.keeps(), town.env.dependencies.clock)
    assert town.tables.rows(LINE) == ("foreign",)
    del town.tables.tables[LINE]
    town.kept()


def test_the_table_of_another_ledger_stays_as_it_is() -> None:
    """A ledger that was restored to an earlier time has other blocks at its heights, or none."""
    town = Tabled()
    town.publish()
    town.kept()
    newest = town.tables.tables[LINE][-1]
    assert newest.state is not None
    other = newest.state._replace(digest="0" * 64)
    for state in (other, other._replace(height=2), newest.state._replace(height=9, digest="1" * 64)):
        town.tables.tables[LINE][-1] = newest._replace(state=state)
        with pytest.raises(InputError, match="the ledger has another block there"):
            run(town.keeps(), town.env.dependencies.clock)


def test_twenty_deliveries_at_once_are_a_snapshot_each() -> None:
    """Twenty workers take them on, whose commits come in any order, while the table is kept between any two steps."""
    with with_typed_files():
        env = Environment()
        for number in range(20):
            env.upload(f"{PREFIX}{number}.csv", b"good:%d" % number)
        tables = MemoryTables(env.memory.objects, LAKE)
        stage, choices = Stage(env, lambda _: Fault.NONE), Choices(7)
        while env.inbox or stage.workers:
            if env.inbox and len(stage.workers) < 20:
                stage.deliver(choices.pick(len(env.inbox)))
            else:
                stage.step(stage.workers[choices.pick(len(stage.workers))])
            if not choices.pick(10):
                run(keep_table(env.dependencies, tables, LINE), env.dependencies.clock)
        settled(stage)
        run(keep_table(env.dependencies, tables, LINE), env.dependencies.clock)

    found = deliveries(env.dependencies.ledger.blocks(LINE))
    files = [each.key for block in found for each in block.table or ()]
    assert (len(found), [each.state.height for each in tables.tables[LINE] if each.state]) == (20, list(range(20)))
    assert sorted(tables.rows(LINE)) == sorted(set(files)) == sorted(files)


def test_a_dataset_without_typed_files_gets_no_table() -> None:
    town = Town()
    tables = MemoryTables(town.env.memory.objects, LAKE)
    kept = run(keep_table(town.env.dependencies, tables, LINE), town.env.dependencies.clock)

    assert (kept.snapshots, tables.tables) == (0, {})


def test_who_loses_a_race_leaves_the_rest_to_who_won() -> None:
    town = Tabled()
    steps = town.keeps()
    next(steps).do()
    town.kept()

    with pytest.raises(ConcurrentUpdate):
        steps.send(None)


def test_all_tables_are_kept_and_one_that_fails_stops_no_other() -> None:
    """Of the registry, the datasets that any version publishes as tables; a turn that has no time begins none."""
    town = Tabled()
    plans = (("lines", "a" * 64), ("others", "b" * 64))
    labels = (("table", "lines"), ("table", "absent"), ("tag", "others"), ("rejected-table", "lines"))
    town.env.memory.registry.publish(Publication("orders", "1.1.0", "active", "c", (), plans=plans, labels=labels))

    rejected = MemoryTables(town.env.memory.objects, LAKE, TableKind.REJECTED)

    def turn(seconds: float = 900) -> Turn:
        gate = replace(town.env.dependencies, remaining=lambda: seconds)
        return run(keep_all_tables(gate, (town.tables, rejected)), gate.clock)

    assert (turn(10).looked_at, town.tables.tables) == (0, {})
    found = turn()
    town.holds()
    assert (found.looked_at, list(dict.fromkeys(name for name, _ in found.ends)), found.failures) == (
        2,
        ["orders/absent_v1", LINE],
        [],
    )
    assert rejected.tables == {LINE: []}
    assert has_table(town.env.dependencies, LINE)
    assert has_table(town.env.dependencies, LINE, TableKind.REJECTED)
    assert not has_table(town.env.dependencies, "orders/absent_v1", TableKind.REJECTED)
    assert not has_table(town.env.dependencies, "orders/others_v1")
    town.tables.write_foreign(LINE, ("foreign",), replaces=False)
    found = turn()
    assert (list(dict.fromkeys(name for name, _ in found.ends)), [type(each) for each in found.failures]) == (
        ["orders/absent_v1", LINE],
        [InputError],
    )


# ---- Tables that seldom change, and rows that are kept for a time ----


def test_a_table_without_changes_gets_a_snapshot_of_its_rows_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """No turn reads many blocks again: not of a table of rejected rows either, which is there with the first delivery."""
    town = Tabled()
    monkeypatch.setattr(kept_tables, "PASSED", 2)
    tables = MemoryTables(town.env.memory.objects, LAKE, TableKind.REJECTED)
    kept = [run(keep_table(town.env.dependencies, tables, LINE), town.env.dependencies.clock) for _ in range(2)]

    assert [(each.height, each.snapshots) for each in kept] == [(1, 1), (1, 0)]
    assert [(each.state and each.state.height, each.files) for each in tables.tables[LINE]] == [(1, ())]


FOR_A_TIME = replace(TYPED, policy=replace(TYPED.policy, quarantine_days=7))


class Dated(Tabled):
    """A town whose rejected rows are kept for a week; each delivery is of another day."""

    def __init__(self) -> None:
        super().__init__(TableKind.REJECTED, FOR_A_TIME)

    def days(self, count: float) -> None:
        self.env.memory.clock.sleep(count * 24 * 3600)

    def stands(self, key: str) -> bool:
        """Whether a file may be listed: until the day on which S3 deletes it begins."""
        named = (each for each in self.env.dependencies.ledger.blocks(LINE) if isinstance(each, Block))
        (block,) = [each for each in named if key in each.typed_keys]
        last = datetime.fromisoformat(block.system_time) + timedelta(days=7)
        return self.env.dependencies.now < last.replace(hour=0, minute=0, second=0, microsecond=0)

    def kept(self) -> None:
        """The table has the current rows that are kept, and nobody can travel to others."""
        run(self.keeps(), self.env.dependencies.clock)
        current = self.files_at(len(self.env.dependencies.ledger.blocks(LINE)) - 1)
        assert self.rows_of(self.tables.rows(LINE)) == tuple(filter(self.stands, current))
        for each in self.tables.tables[LINE]:
            assert all(map(self.stands, self.rows_of(each.files)))
        assert self.tables.expired == {}
        named = {key for each in self.tables.metadata[LINE].values() for key in each.named}
        assert all(map(self.stands, self.rows_of(tuple(named))))

    def holds(self) -> None:
        """Nothing of the state alone: a table shows less than the ledger has."""


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("meanwhile", ["nothing", "act", "others", "compact"])
def test_rejected_rows_leave_the_table_before_they_expire(fault: Fault, meanwhile: str) -> None:
    """With any fault at any effect of the turn that takes them out."""

    def begun() -> Dated:
        town = Dated()
        town.kept()
        town.days(1.0)
        town.publish()
        town.kept()
        town.days(5.5)
        return town

    effects = begun().tries()
    assert effects >= len(("commit", "discard", "clear"))
    for at in range(effects):
        town = begun()
        happens = {"nothing": int, "act": town.recall_last, "others": town.tries, "compact": town.compact}[meanwhile]
        town.tries(at, fault, happens)
        town.kept()
        assert len(town.tables.rows(LINE)) == (meanwhile != "act")
        del town.tables.tables[LINE]
        town.kept()
        town.days(1.0)
        town.kept()
        assert town.tables.rows(LINE) == ()
