"""Deliveries of before come into a table: every effect of who adopts them, erases and keeps, with every fault."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lakegate.base.errors import InputError, LakegateError
from lakegate.features.tables.adoption import CHANGED, AdoptedFile, accepted_objects, adopt, deliveries_to_adopt
from lakegate.gate.delivery.advance import advance
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.effects import Call, Steps, run
from lakegate.gate.lake_layout import STAGING
from lakegate.gate.ledger.blocks import AnyBlock, Block, Record, TableFile, deliveries
from lakegate.gate.ledger.compare_objects import Damage
from lakegate.gate.ledger.stored_objects import ADOPTED, erasures_of
from lakegate.gate.ports import Address
from lakegate.transfer.staged_files import Staged
from tests.decisions import recall, restore
from tests.simulation.environment import LAKE, LANDING, LINE, PREFIX
from tests.simulation.stage import Fault
from tests.simulation.test_erased_tables import Cleared, places
from tests.simulation.test_recalls import FAULTS, REPLACING, play, reference
from tests.simulation.test_tables import TYPED
from tests.simulation.typed import FIRST, MOST


class Grown(Cleared):
    """A town whose deliveries have no typed files; the newest version of its contract is a table, and so is a fifth delivery."""

    def __init__(self) -> None:
        super().__init__(plan=REPLACING)
        self.passing = {Damage.UNERASED, Damage.EXTRA}
        self.env.publish("1.1.0", "active", TYPED)

    def adopts(self) -> Steps[None]:
        """The command: search, read and adopt delivery by delivery, those that have changed meanwhile left to the next one."""
        gate = self.env.dependencies
        blocks = list(gate.ledger.blocks(LINE))
        for block in deliveries_to_adopt(blocks, erasures_of(blocks)):
            blocks += gate.ledger.blocks(LINE, len(blocks) - 1)
            erasures = erasures_of(blocks)
            rows = b"".join(self._rows(each.key, each.version) for each in accepted_objects(block, erasures))
            is_open = any(each.content["workload"] == block.workload for each in erasures.unfinished)
            if is_open or block.workload in erasures.adopted:
                continue
            parts = [rows[begin : begin + MOST] for begin in range(0, len(rows), MOST)]
            files = tuple(self._file(block.workload, part) for part in parts)
            try:
                yield from adopt(gate, block, files, len(blocks) - 1)
            except InputError as error:
                if str(error) != CHANGED:
                    raise

    def adopt(self) -> None:
        """Without faults."""
        run(self.adopts(), self.env.dependencies.clock)
        self.holds()

    def _rows(self, key: str, version: str) -> bytes:
        return self.env.dependencies.objects.read(Address(LAKE, key, version))

    def _file(self, workload: str, rows: bytes) -> AdoptedFile:
        self.env.memory.clock.sleep(1)
        where = Address(LAKE, f"{STAGING}{workload}/{len(self.env.lake)}")
        staged = self.env.dependencies.objects.put(where, FIRST + rows)
        return AdoptedFile(len(rows), Staged(where.key, staged.version, staged.size, staged.checksum))

    def records(self, blocks: tuple[AnyBlock, ...]) -> list[Record]:
        return [each for each in blocks if isinstance(each, Record) and each.kind == ADOPTED]

    def files_of(self, block: Block, blocks: tuple[AnyBlock, ...]) -> tuple[TableFile, ...]:
        own = (each for each in self.records(blocks) if each.content["workload"] == block.workload)
        stated = (file for each in own for file in each.content.get("table", ()))
        return block.table or tuple(TableFile(each["key"], each["rows"]) for each in stated)

    def changes(self) -> list[int]:
        """Adoptions that follow each other may be one snapshot, at the height of any of them that was the last."""
        return sorted({*super().changes(), *(each.height for each in self.records(self.blocks))})

    @property
    def blocks(self) -> tuple[AnyBlock, ...]:
        return self.env.dependencies.ledger.blocks(LINE)

    def is_complete(self) -> bool:
        return self.shown_heights()[-1] >= Cleared.changes(self)[-1]

    def holds(self) -> None:
        """Each delivery is adopted once, with its own files."""
        super().holds()
        found = self.records(self.blocks)
        names = [each.content["workload"] for each in found]
        assert len(set(names)) == len(names)
        for each in found:
            assert all(f"/workload={each.content['workload']}/_table/" in file["key"] for file in each.content["table"])
            assert self.blocks[each.content["height"]].workload == each.content["workload"]  # type: ignore[union-attr]

    def deliver_typed(self) -> None:
        """A delivery of the newest version, whose run writes typed files."""
        number = len(self.blocks)
        upload = self.env.upload(f"{PREFIX}of-{number}.csv", b"good:of-%d" % number)
        run(intake(self.env.dependencies, LANDING, upload.version.key), self.env.dependencies.clock)
        for _, job in self.env.new_jobs():
            run(job, self.env.dependencies.clock)
        row = self.env.dependencies.workloads.get(upload.workload)
        run(advance(DeliveryTurn(self.env.dependencies, row)), self.env.dependencies.clock)
        assert any(each.table for each in deliveries(self.blocks))

    def ended(self, *letters: str) -> None:  # type: ignore[override]
        """Once all is repeated, the table has the rows that are current, as if their runs had written typed files."""
        self.adopt()
        self.env.memory.clock.sleep(3601)
        self.settled_without(*letters)
        self.adopt()
        self.kept()
        gate, of = self.env.dependencies, {each.height: each for each in deliveries(self.blocks)}
        erasures = erasures_of(self.blocks)
        stored = [
            each for at in reference(self.blocks) for each in erasures.objects_of(of[at]) if "_table/" not in each.key
        ]
        arrived = b"".join(self._rows(each.key, each.version) for each in stored)
        shown = b"".join(self.bodies[each] for each in self.rows_of(self.tables.rows(LINE)))
        assert sorted(arrived) == sorted(shown)
        assert all(
            erasures.adopted.get(each.workload) or each.table or not erasures.objects_of(each) for each in of.values()
        )
        assert gate.ledger.head(LINE).height == len(self.blocks) - 1

    def disturb(self, by: str) -> Callable[[], object]:
        others: dict[str, Callable[[], object]] = {
            "adopt": self.adopt,
            "erase": lambda: run(self.erases("1"), self.env.dependencies.clock),
            "deliver": self.deliver_typed,
        }
        return others[by] if by in others else super().disturb(by)


def begun(number: int = 0) -> Grown:
    """A town whose table is there, with a delivery whose run has written typed files, or is not."""
    town = Grown()
    if number % 2:
        town.deliver_typed()
        town.kept()
    return town


MEANWHILE = ("nothing", "keep", "act", "adopt", "erase", "deliver")


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("meanwhile", MEANWHILE)
def test_an_adoption_is_completed_by_repeating_it(fault: Fault, meanwhile: str) -> None:
    """With any fault at any effect of the command, before which something else happens."""
    effects = play(town := begun(), town.adopts())
    for at in places(effects, fault, meanwhile):
        town = begun(at)
        play(town, town.adopts(), at, fault, town.disturb(meanwhile))
        town.tries()
        if meanwhile != "act":
            town.act()
        town.ended("1")


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("meanwhile", MEANWHILE)
def test_an_erasure_reaches_what_is_adopted_meanwhile(fault: Fault, meanwhile: str) -> None:
    """With any fault at any effect of the erasure: none of its rows is left, whichever came first."""
    effects = play(town := begun(), town.erases("1"))
    for at in places(effects, fault, meanwhile):
        town = begun(at)
        try:
            play(town, town.erases("1"), at, fault, town.disturb(meanwhile))
        except InputError as error:
            assert meanwhile == "adopt", error  # noqa: PT017 - of this case alone
        town.tries()
        if meanwhile != "act":
            town.act()
        town.ended("1")


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("meanwhile", ["nothing", "act", "adopt", "erase", "compact"])
def test_a_table_follows_an_adoption_whatever_happens_to_who_keeps_it(fault: Fault, meanwhile: str, first: int) -> None:
    """With any fault at any effect, wherever the table was when deliveries were adopted."""

    def adopted(at: int = 0) -> Grown:
        town = begun(at)
        town.adopt()
        play(town, town.keeps(first))
        town.act()
        town.adopt()
        return town

    effects = adopted().tries()
    for at in places(effects, fault, meanwhile, first):
        town = adopted(at)
        town.tries(at, fault, town.disturb(meanwhile) if meanwhile != "act" else town.recall_last)
        town.ended("1")


def test_two_people_adopt_each_delivery_once() -> None:
    """One after the other, effect by effect: the second one finds what the first has copied, or recorded."""
    town = Grown()
    commands = [town.adopts(), town.adopts()]
    calls = [next(each) for each in commands]
    while commands:
        for number, command in enumerate(list(commands)):
            try:
                calls[number] = answered(command, calls[number])
            except StopIteration:
                del commands[number], calls[number]
                break
            town.holds()
    town.ended()


def answered(steps: Steps[None], call: Call) -> Call:
    """The next effect of a command, whose last one is done."""
    try:
        found = call.do()
    except LakegateError as error:
        return steps.throw(error)
    return steps.send(found)


def test_adoptions_that_follow_each_other_are_one_snapshot() -> None:
    """A table keeps a number of snapshots: those of deliveries before are not pushed out by them."""
    town = begun(1)
    town.adopt()
    town.kept()
    (last,) = [each.height for each in town.records(town.blocks)][-1:]

    assert town.shown_heights() == [3, last]
    assert [len(each.files) for each in town.tables.tables[LINE]] == [3, 3 + 3 * 2]


def test_a_delivery_is_adopted_that_is_not_current_and_comes_back_with_its_files() -> None:
    town = Grown()
    town.decide(recall, 0)
    town.adopt()
    town.kept()
    town.decide(restore, 0)
    town.kept()

    assert [len(each.files) for each in town.tables.tables[LINE]] == [4, 6]
    town.ended()


def test_a_table_that_is_made_again_has_adopted_files_from_the_record_on() -> None:
    """No earlier snapshot has them, whenever the table was made: each has the rows of its height."""
    town = begun(1)
    town.adopt()
    town.kept()
    del town.tables.tables[LINE]
    town.kept()

    assert [len(each.files) for each in town.tables.tables[LINE]] == [3, 9]


def test_other_bytes_under_the_name_of_a_file_are_not_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names follow from bytes: somebody else has written it."""
    town = Grown()
    monkeypatch.setattr("lakegate.features.tables.adoption.sha256_of", lambda _: "0" * 64)
    block = deliveries(town.blocks)[0]
    folder = block.objects[0].key.rpartition("/")[0]
    town.env.dependencies.objects.put(Address(LAKE, f"{folder}/_table/part-00000-{'0' * 16}.parquet"), b"other")
    with pytest.raises(InputError, match="is there, and has other bytes"):
        run(town.adopts(), town.env.dependencies.clock)

    assert town.records(town.blocks) == []
