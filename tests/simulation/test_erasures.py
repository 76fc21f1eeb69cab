"""Erasing rows: every effect with every fault, beside another erasure and beside a delivery that is published meanwhile."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lakegate.base.errors import InputError, LakegateError, NotFound, Throttled, Unanswered
from lakegate.features.erasure.erasure import Erasing, Why, erase, resume, settle
from lakegate.gate import lake_layout
from lakegate.gate.delivery.advance import advance
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.effects import Call, Effect, Steps, run
from lakegate.gate.lake_layout import manifest_key
from lakegate.gate.ledger.blocks import BlockKind, deliveries
from lakegate.gate.ledger.compare_objects import Damage, damages
from lakegate.gate.ledger.stored_objects import erasures_of
from lakegate.gate.ports import Address
from lakegate.transfer.staged_files import Staged
from tests.reference.sampling import FULL
from tests.simulation.environment import LAKE, LANDING, LINE, PREFIX, Environment
from tests.simulation.promises import manifest_deliveries, read_json
from tests.simulation.stage import Fault, Stage
from tests.simulation.stage import settle as settled

FAULTS = (Fault.NONE, Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.UNANSWERED, Fault.TWICE, Fault.THROTTLED)
WHY = Why("a ticket", ("id",))
BODIES = (b"good:ab", b"good:b", b"bad:bc", b"good:a", b"good:c")
"""Of finished deliveries: the letters after the colon are whose rows they have."""


class Town:
    """A line with finished deliveries and one that is decided, and the people who erase."""

    def __init__(self) -> None:
        self.env = Environment()
        stage = Stage(self.env, lambda _: Fault.NONE)
        for number, body in enumerate(BODIES):
            self.env.upload(f"{PREFIX}{number}.csv", body)
            settled(stage)
        self.last = self._decided()
        block = deliveries(self.dependencies.ledger.blocks(LINE))[0]
        self.copies = [
            Address(LAKE, f"runs/{block.workload}/attempt=1/rows/accepted/part-0.csv"),
            Address(LAKE, f"runs/batch/{block.workload}/attempt=2/rows/rejected/part-0.csv"),
            Address(LAKE, f"runs/{block.workload}/attempt=2/table/part-00000.parquet"),
            Address(LAKE, lake_layout.staging_key(block.workload, ".csv", 0, "group")),
        ]
        for each in self.copies:
            self.env.memory.objects.put(each, b"good:ab")

    @property
    def dependencies(self):  # type: ignore[no-untyped-def] # noqa: ANN201 - of the environment
        return self.env.dependencies

    def _decided(self) -> str:
        upload = self.env.upload(f"{PREFIX}last.csv", b"good:d")
        run(intake(self.dependencies, LANDING, upload.version.key), self.dependencies.clock)
        for _, job in self.env.new_jobs():
            run(job, self.dependencies.clock)
        return upload.workload

    def publish(self) -> None:
        """The last delivery is decided and published."""
        row = self.dependencies.workloads.get(self.last)
        if row.state is State.VALIDATING:
            run(advance(DeliveryTurn(self.dependencies, row)), self.dependencies.clock)

    def erases(self, letter: str) -> Steps[None]:
        """The command: continue, search, erase delivery by delivery, settle."""
        yield from resume(self.dependencies, LINE)
        blocks = self.dependencies.ledger.blocks(LINE)
        erasures = erasures_of(blocks)
        for block in deliveries(blocks):
            objects = [
                self._without(block.workload, each.key, each.version, letter) for each in erasures.objects_of(block)
            ]
            found = tuple(each for each in objects if each is not None)
            if found:
                yield from erase(self.dependencies, LINE, block.workload, found, WHY, searched=len(blocks) - 1)
        yield from settle(self.dependencies, LINE)

    def _without(self, workload: str, key: str, version: str, letter: str) -> Erasing | None:
        kind, _, rows = self.dependencies.objects.read(Address(LAKE, key, version)).partition(b":")
        if letter.encode() not in rows:
            return None
        rest = rows.replace(letter.encode(), b"")
        if not rest:
            return Erasing(key, version, 1, None)
        where = Address(LAKE, f"{lake_layout.erasure_prefix(workload)}{letter}{len(self.env.lake)}")
        staged = self.dependencies.objects.put(where, kind + b":" + rest)
        return Erasing(key, version, 1, Staged(where.key, staged.version, staged.size, staged.checksum))

    def holds(self) -> None:
        """At every moment: what the manifest lists can be read, and nothing is tampered with."""
        for each in self.listed():
            self.dependencies.objects.head(each)
        found = list(damages(self.dependencies, LINE, self.dependencies.ledger.head(LINE).height, lambda _: None))
        assert {each.damage for each in found} <= {Damage.UNERASED}

    def listed(self) -> list[Address]:
        """The objects that a reader finds."""
        entries = manifest_deliveries(self.env.lake, manifest_key(LINE)) or []
        return [Address(LAKE, each["key"], each["version"]) for entry in entries for each in entry["objects"]]

    def rows(self, *folders: str) -> str:
        """The rows in every version of all data below some folders."""
        stored = [each for key, some in self.env.lake.items() if key.startswith(folders) for each in some]
        data = [each.body.partition(b":")[2] for each in stored if not each.body.startswith(b"{")]
        return "".join(sorted(b"".join(data).decode()))

    def tags(self, folder: str) -> set[str]:
        """Of every version of data below a folder."""
        stored = [each for key, some in self.env.lake.items() if key.startswith(folder) for each in some]
        versions = {each.version for each in stored if not each.body.startswith(b"{")}
        return {self.env.memory.objects.tags.get(each, "") for each in versions}

    def ended(self, *letters: str) -> None:
        """Once all is repeated: nothing of the letters is left, the others are complete, everything is recorded once."""
        blocks = self.dependencies.ledger.blocks(LINE)
        erasures = erasures_of(blocks)
        kept = [body for body in (*BODIES, b"good:d") if body.partition(b":")[2].strip("".join(letters).encode())]
        expected = "".join(sorted(c for body in kept for c in body.partition(b":")[2].decode() if c not in letters))
        begun = [each.event for each in blocks if each.kind == "erasure"]  # type: ignore[union-attr]
        published = [block for block in deliveries(blocks) if block.kind is BlockKind.PUBLISHED]
        current = [Address(LAKE, each.key, each.version) for block in published for each in erasures.objects_of(block)]

        assert self.rows("accepted/", "quarantine/") == expected
        assert not set(self.rows("runs/", "staging/", "erasures/")) & set(letters)
        assert self.listed() == current
        assert self.tags("accepted/") == {""}
        assert self.tags("quarantine/") <= {"quarantine-30"}
        assert erasures.unfinished == ()
        assert [each.content["erasure"] for each in blocks if each.kind == "erased"] == begun  # type: ignore[union-attr]
        assert not any(key.startswith("erasures/") for key in self.env.lake)
        assert list(damages(self.dependencies, LINE, len(blocks) - 1, lambda _: None)) == []


def play(
    town: Town, steps: Steps[None], at: int = -1, fault: Fault = Fault.NONE, meanwhile: Callable[[], object] = int
) -> int:
    """Drive a command with one fault at its effect of a number, before which something else happens. Returns its effects."""
    count = 0
    try:
        call = next(steps)
        while True:
            if count == at:
                meanwhile()
            faulty = fault if count == at else Fault.NONE
            count += 1
            if faulty is Fault.CRASH_BEFORE:
                return count
            call = _answered(steps, call, faulty)
            if at in {-1, count - 1}:  # the states before are those of a run without the fault
                town.holds()
            if faulty is Fault.CRASH_AFTER:
                return count
    except (StopIteration, InputError, Unanswered, Throttled, NotFound):
        return count


def _answered(steps: Steps[None], call: Call, fault: Fault) -> Call:
    try:
        if fault is Fault.THROTTLED:
            raise Throttled
        answer = call.do()
        if fault is Fault.TWICE:
            answer = call.do()
        if fault is Fault.UNANSWERED:
            raise Unanswered
    except LakegateError as refused:
        return steps.throw(refused)
    return steps.send(answer)


def again(town: Town, *letters: str) -> None:
    """Repeat commands without a fault."""
    for letter in letters:
        run(town.erases(letter), town.dependencies.clock)


def effects() -> int:
    """Of an erasure that nothing disturbs; the promises hold after each of them."""
    town = Town()
    return play(town, town.erases("b"))


def places(fault: Fault) -> range:
    """Effects at which a fault is tried: every fifth, from another one for each fault; all of them in the nightly run."""
    return range(effects()) if FULL else range(FAULTS.index(fault), effects(), 5)


@pytest.mark.parametrize("fault", FAULTS)
def test_an_erasure_is_completed_by_repeating_it(fault: Fault) -> None:
    """With any fault at any effect: readers can read what is listed at every moment, and a repetition leaves no row behind."""
    for at in places(fault):
        town = Town()
        play(town, town.erases("b"), at, fault)
        again(town, "b")
        town.publish()
        town.ended("b")


@pytest.mark.parametrize("fault", [Fault.NONE, Fault.CRASH_BEFORE, Fault.CRASH_AFTER])
def test_two_erasures_of_one_delivery_do_not_undo_each_other(fault: Fault) -> None:
    """The other command runs before any effect of the first one, which may stop there: both repeat, and both rows are gone."""
    for at in places(fault):
        town = Town()
        play(town, town.erases("b"), at, fault, lambda town=town: play(town, town.erases("a")))  # type: ignore[misc]
        again(town, "a", "b")
        town.publish()
        town.ended("a", "b")


def test_a_delivery_is_published_before_any_effect_of_an_erasure() -> None:
    """The manifest lists it, whichever of the two writes its head first."""
    for at, fault in ((at, each) for each in FAULTS[:2] for at in places(each)):
        town = Town()
        play(town, town.erases("b"), at, fault, town.publish)
        again(town, "b")
        town.ended("b")


def test_what_expired_before_it_replaced_its_object_is_erased_again() -> None:
    """A staged copy that somebody deleted: the unfinished erasure ends without rows, the repetition finds them."""
    town = Town()
    play(town, town.erases("b"), 1, Fault.CRASH_BEFORE)
    for key in [each for each in town.env.lake if each.startswith("erasures/")]:
        del town.env.lake[key]
    again(town, "b")

    town.publish()
    town.ended("b")
    rows = [each.content["rows"] for each in town.dependencies.ledger.blocks(LINE) if each.kind == "erased"]  # type: ignore[union-attr]
    assert rows == [0, 1, 1, 1]


def test_the_order_of_effects() -> None:
    """Nothing is changed before it is recorded, and nothing is deleted before readers are told of what replaces it."""
    town, seen = Town(), []
    steps = town.erases("b")
    call = next(steps)
    try:
        while True:
            seen.append(call.effect)
            call = steps.send(call.do())
    except StopIteration:
        pass
    first = [Effect.RECORD, Effect.REPLACE, Effect.RECORD, Effect.ERASE]

    assert seen[:4] == first
    last = seen.index(Effect.WRITE_MANIFEST)
    assert set(seen[:last]) - set(first) == {Effect.WRITE_SEGMENT}
    assert set(seen[last + 1 :]) == {Effect.ERASE}
    assert read_json(town.env.lake[manifest_key(LINE)][-1].body)["segments"]["folder"].startswith("_manifest/erased-")
