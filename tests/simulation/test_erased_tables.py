"""Rows of a dataset with a table are erased: every effect of who erases, and of who keeps the table, with every fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pytest

from lakegate.features.erasure.erasure import (
    Erasing,
    ErasingTyped,
    Settled,
    TypedLeft,
    Why,
    erase,
    resume,
    settle,
)
from lakegate.features.tables.keep_table import TableKind
from lakegate.gate import lake_layout
from lakegate.gate.datasets.accepted_deliveries import newest_accepted
from lakegate.gate.datasets.compare_manifest import UNTRUE, manifest_faults
from lakegate.gate.effects import Steps, run
from lakegate.gate.ledger.blocks import Record, deliveries
from lakegate.gate.ledger.compare_objects import Damage, damages
from lakegate.gate.ledger.stored_objects import DONE, erasures_of
from lakegate.gate.ports import Address, ObjectVersion
from lakegate.plan.plan import Plan
from lakegate.transfer.staged_files import Staged
from tests.decisions import recall, restore
from tests.reference.sampling import FULL
from tests.simulation.environment import LAKE, LINE
from tests.simulation.stage import Fault
from tests.simulation.test_recalls import FAULTS, play, reference
from tests.simulation.test_tables import TYPED, Tabled
from tests.simulation.typed import FIRST

WHY = Why("a ticket", ("id",))
KINDS = (b"good", b"split")
"""The beginnings of deliveries, whose bytes are no rows to erase: they say how one is judged."""


class OfCatalog:
    """What the command knows of the table: TableOfErasure. A table that is behind is not waited for."""

    def __init__(self, town: Cleared) -> None:
        self.town = town

    def follows(self, erased: Mapping[str, int]) -> bool:
        shown, kind = self.town.tables.shown(LINE), self.town.tables.kind
        heights = [height for key, height in erased.items() if kind.has(key)]
        return shown is None or not heights or (shown.height >= max(heights) and not shown.expired)

    def unused(self) -> Iterator[ObjectVersion]:
        return iter(())


class Cleared(Tabled):
    """A town with a table whose rows are erased; each byte of a delivery is a row."""

    def __init__(self, kind: TableKind = TableKind.ACCEPTED, plan: Plan = TYPED) -> None:
        super().__init__(kind, plan)
        self.bodies: dict[str, bytes] = {}
        """Of each typed file that ever was, by its key."""
        self.letters: set[str] = set()
        """That somebody began to erase."""
        self.passing = {Damage.UNERASED}
        """What `verify` may report until all is repeated."""

    def erases(self, letter: str) -> Steps[Settled]:
        """The command: continue, search, erase delivery by delivery, settle."""
        self.letters.add(letter)
        gate = self.env.dependencies
        yield from resume(gate, LINE)
        blocks = gate.ledger.blocks(LINE)
        erasures = erasures_of(blocks)
        for block in deliveries(blocks):
            arrived = [each for each in erasures.objects_of(block) if each.key not in block.typed_keys]
            objects = [self._without(block.workload, each.key, each.version, letter) for each in arrived]
            found = tuple(each for each in objects if each is not None)
            stored = {each.key: each.version for each in (*erasures.objects_of(block), *erasures.added_to(block))}
            typed = (*erasures.table_of(block), *erasures.rejected_table_of(block))
            files = [self._typed(block.workload, each.key, stored[each.key], letter) for each in typed]
            table = tuple(each for each in files if each is not None)
            assert bool(found) == bool(table) or not typed
            if found:
                yield from erase(gate, LINE, block.workload, found, WHY, table, searched=len(blocks) - 1)
        return (yield from settle(gate, LINE, OfCatalog(self)))

    def _without(self, workload: str, key: str, version: str, letter: str) -> Erasing | None:
        body = self.env.dependencies.objects.read(Address(LAKE, key, version))
        begin = beginning(body)
        rest = begin + body[len(begin) :].replace(letter.encode(), b"")
        return None if rest == body else Erasing(key, version, 1, self._staged(workload, rest) if rest else None)

    def _typed(self, workload: str, key: str, version: str, letter: str) -> ErasingTyped | None:
        rows = self.env.dependencies.objects.read(Address(LAKE, key, version)).removeprefix(FIRST)
        rest = rows.replace(letter.encode(), b"")
        if rest == rows:
            return None
        other = key.replace(".parquet", f"-{len(self.env.lake)}.parquet")
        left = TypedLeft(other, len(rest), self._staged(workload, FIRST + rest)) if rest else None
        return ErasingTyped(key, version, 1, left)

    def _staged(self, workload: str, body: bytes) -> Staged:
        where = Address(LAKE, f"{lake_layout.erasure_prefix(workload)}{len(self.env.lake)}")
        staged = self.env.dependencies.objects.put(where, body)
        return Staged(where.key, staged.version, staged.size, staged.checksum)

    def holds(self) -> None:
        """Each snapshot has the rows of its height, each once; nobody can read what is not there, or is erased by its height."""
        gate, lake = self.env.dependencies, self.env.lake
        blocks = gate.ledger.blocks(LINE)
        assert UNTRUE not in {each.what for each in manifest_faults(gate, LINE, len(blocks) - 1)}
        assert [each.height for each in newest_accepted(gate, LINE, 99)] == reference(blocks)
        found = list(damages(gate, LINE, len(blocks) - 1, lambda _: None))
        assert {each.damage for each in found} <= self.passing
        self.bodies |= {
            key: some[-1].body.removeprefix(FIRST) for key, some in lake.items() if "/_table/" in key and some
        }
        assert self.shown_heights() == sorted({each for each in self.shown_heights() if each in self.changes()})
        shown, height = max(self.shown_heights(), default=-1), -1
        for each in self.tables.tables.get(LINE, []):
            height = each.state.height if each.state is not None else height
            self.has_rows(self.rows_of(each.files), height)
            assert not set(self.tables.parts(each.named)) & self.erased(shown)
        for key in self.rows_of(self.tables.rows(LINE)):
            assert lake.get(key)

    def has_rows(self, files: tuple[str, ...], height: int) -> None:
        """Whether files have the rows of the ledger at a height, but for some of those that are being erased."""
        blocks = self.env.dependencies.ledger.blocks(LINE)[: height + 1]
        named = {each.height: each for each in deliveries(blocks)}
        first = [file.key for at in reference(blocks) for file in self.files_of(named[at], blocks)]
        wanted, rows = (b"".join(self.bodies[key] for key in keys).decode() for keys in (first, files))
        for letter in set(wanted) | set(rows):
            count = rows.count(letter)
            assert count == wanted.count(letter) or (letter in self.letters and count < wanted.count(letter))

    def erased(self, height: int) -> set[str]:
        """The typed files that are erased by the records up to a height."""
        blocks = self.env.dependencies.ledger.blocks(LINE)[: height + 1]
        done = [each for each in blocks if isinstance(each, Record) and each.kind == DONE]
        typed = (each["key"] for record in done for each in record.content.get("table", ()))
        return set(filter(self.tables.kind.has, typed))

    def changes(self) -> list[int]:
        blocks = self.env.dependencies.ledger.blocks(LINE)
        done = [each for each in blocks if isinstance(each, Record) and each.kind == DONE]
        erased = [
            each.height
            for each in done
            if any(self.tables.kind.has(file["key"]) for file in each.content.get("table", ()))
        ]
        return sorted({*super().changes(), *erased})

    def kept(self) -> None:
        run(self.keeps(), self.env.dependencies.clock)
        self.holds()

    def settled_without(self, *letters: str) -> None:
        """Once commands and table are repeated, no row of the letters is left, and no metadata of files that had them."""
        for _ in range(2):  # the first time a command may end before the table follows
            for letter in letters:
                run(self.erases(letter), self.env.dependencies.clock)
            self.kept()
        gate = self.env.dependencies
        blocks = gate.ledger.blocks(LINE)
        erasures = erasures_of(blocks)
        of = {each.height: each for each in deliveries(blocks)}
        first = [file.key for at in reference(blocks) for file in self.files_of(of[at], blocks)]
        wanted = "".join(c for key in first for c in self.bodies[key].decode() if c not in letters)
        rows = b"".join(self.bodies[each] for each in self.rows_of(self.tables.rows(LINE))).decode()
        data = [
            each.body.removeprefix(FIRST).removeprefix(beginning(each.body))
            for key, some in self.env.lake.items()
            if key.startswith(("accepted/", "quarantine/", "runs/", "staging/", "erasures/"))
            for each in some
            if each.body.startswith((*KINDS, FIRST)) or "rejected-" in key
        ]
        assert sorted(rows) == sorted(wanted)
        assert not set(b"".join(data).decode()) & set(letters)
        named = {key for each in self.tables.metadata[LINE].values() for key in each.named}
        assert not {*self.tables.parts((*named, *self.tables.merged))} & self.erased(99)
        assert self.tables.expired == {}
        assert erasures.unfinished == ()
        assert self.is_complete()
        assert list(damages(gate, LINE, len(blocks) - 1, lambda _: None)) == []

    def is_complete(self) -> bool:
        """Whether the table shows all that the ledger has."""
        return self.shown_heights()[-1] == self.changes()[-1]

    def disturb(self, by: str) -> Callable[[], object]:
        """Something else that happens."""
        found: dict[str, Callable[[], object]] = {"nothing": int, "keep": self.tries, "act": self.act}
        return (found | {"compact": self.compact, "both": self._both, "merge": self.merge})[by]

    def _both(self) -> None:
        self.tries()
        self.compact()


def beginning(body: bytes) -> bytes:
    """The bytes of an object that are no rows; of one with rejected rows alone none."""
    return next(filter(body.startswith, KINDS), b"")


def begun(snapshots: int = 9, kind: TableKind = TableKind.ACCEPTED) -> Cleared:
    """A town whose table shows some deliveries."""
    town = Cleared(kind)
    play(town, town.keeps(snapshots))
    return town


def places(effects: int, *of: object) -> range:
    """Effects at which a fault is tried: every fifth, from another one for each case; all of them in the nightly run."""
    return range(effects) if FULL else range(sum(map(len, map(str, of))) % 5, effects, 5)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("meanwhile", ["nothing", "keep", "act", "compact", "both"])
@pytest.mark.parametrize("kind", TableKind)
def test_an_erasure_is_completed_by_repeating_it(kind: TableKind, fault: Fault, meanwhile: str) -> None:
    """With any fault at any effect of the command, before which the table is kept, compacted, or the state changes."""
    effects = play(town := begun(kind=kind), town.erases("1"))
    for at in places(effects, kind, fault, meanwhile):
        town = begun(kind=kind)
        play(town, town.erases("1"), at, fault, town.disturb(meanwhile))
        town.tries()
        if meanwhile != "act":
            town.act()
        town.settled_without("1")


@pytest.mark.parametrize("first", [0, 2, 9])
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("meanwhile", ["nothing", "keep", "act", "compact"])
@pytest.mark.parametrize("kind", TableKind)
def test_a_table_follows_an_erasure_whatever_happens_to_who_keeps_it(
    kind: TableKind, fault: Fault, meanwhile: str, first: int
) -> None:
    """With any fault at any effect, wherever the table was when the rows were erased."""

    def erased() -> Cleared:
        town = begun(first, kind)
        play(town, town.erases("1"))
        return town

    effects = erased().tries()
    for at in places(effects, kind, fault, meanwhile, first):
        town = erased()
        town.tries(at, fault, town.disturb(meanwhile))
        if meanwhile != "act":
            town.act()
        town.settled_without("1")


@pytest.mark.parametrize("fault", [Fault.NONE, Fault.CRASH_BEFORE, Fault.CRASH_AFTER])
def test_two_erasures_of_one_typed_file_do_not_undo_each_other(fault: Fault) -> None:
    """The second one leaves nothing of a file that the first one left; it may run before any effect of the first."""
    effects = play(town := begun(), town.erases("1"))
    for at in places(effects, fault):
        town = begun()
        play(town, town.erases("1"), at, fault, lambda town=town: play(town, town.erases(":")))  # type: ignore[misc]
        town.tries()
        town.act()
        town.settled_without("1", ":")


def test_a_recalled_delivery_that_was_erased_comes_back_without_the_rows() -> None:
    town = begun()
    town.publish()
    town.rows.append(town.env.dependencies.workloads.get(town.last))
    town.decide(recall, 3)
    town.decide(recall, 1)
    town.kept()
    play(town, town.erases("1"))
    town.kept()
    town.decide(restore, 1)
    town.settled_without("1")
    assert 1 in reference(town.env.dependencies.ledger.blocks(LINE))
    town.decide(recall, 1)
    town.settled_without("1")


def test_a_table_that_is_made_again_lists_no_erased_file() -> None:
    """Also where the files are deleted already, and the records of the erasure are far above the deliveries."""
    town = begun()
    town.publish()
    play(town, town.erases("1"))
    town.settled_without("1")
    del town.tables.tables[LINE]
    play(town, town.keeps(1))
    town.settled_without("1")


def test_earlier_snapshots_that_name_no_erased_file_stay() -> None:
    """Time travel to before the delivery works; from it on to the erasure it does not."""
    town = begun()
    play(town, town.erases("1"))
    town.kept()

    assert town.shown_heights() == [0, max(town.changes())]


def test_typed_files_stay_until_the_table_shows_them_no_more() -> None:
    """The command ends before, and says so; repeated, it deletes them."""
    town = begun()
    settled = run(town.erases("1"), town.env.dependencies.clock)
    before = [key for key in town.erased(99) if town.env.lake.get(key)]
    town.kept()
    again = run(town.erases("1"), town.env.dependencies.clock)

    assert (settled.is_followed, again.is_followed, len(before)) == (False, True, 1)
    assert not [key for key in town.erased(99) if town.env.lake.get(key)]


@pytest.mark.parametrize("of", ["what arrived", "typed file", "both"])
def test_a_rest_that_expired_before_it_was_published_is_found_again(of: str) -> None:
    """Nothing of the delivery is changed then: what arrived and its typed files have the same rows at every moment."""
    town = begun()
    play(town, town.erases("1"), 1, Fault.CRASH_BEFORE)
    for key in [each for each in town.env.lake if each.startswith("erasures/")]:
        is_typed = town.env.lake[key][-1].body.startswith(FIRST)
        if of == "both" or is_typed is (of == "typed file"):
            del town.env.lake[key]
    town.publish()
    town.settled_without("1")
