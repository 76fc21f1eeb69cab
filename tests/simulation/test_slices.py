"""Slices of one dataset: two deliveries at once, in every order of their decisions and commits, with a fault at each write."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partialmethod
from itertools import permutations, product
from typing import Any, TypeAlias

import pytest

from lakegate.base.errors import LakegateError, Unanswered
from lakegate.contract.delivery_policy import MergeStrategy, Treatment
from lakegate.features.odf.slice_turns import decided_slices
from lakegate.gate.delivery.advance import advance
from lakegate.gate.delivery.delivery_row import FailureCause
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.effects import Call, Effect, Steps
from lakegate.gate.lake_layout import manifest_key
from lakegate.gate.ledger.blocks import Block
from lakegate.gate.ports import Address
from lakegate.plan.slice_order import StateRun
from tests.reference.sampling import FULL
from tests.simulation.choices import Choices
from tests.simulation.environment import LAKE, LINE, PREFIX
from tests.simulation.promises import manifest_deliveries
from tests.simulation.schedules import SLICED, STRATEGIES, broken
from tests.simulation.slice_promises import SlicePromises
from tests.simulation.sliced import LEDGER, SNAPSHOTS, UPSERTS, SlicedDataset, judged, settled, with_watermark
from tests.simulation.sliced_job import NO_DIGEST
from tests.simulation.stage import Fault

FAULTS = (Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.UNANSWERED, Fault.TWICE)
EFFECTS = (Effect.SUBMIT, Effect.DECIDE, Effect.COPY, Effect.COMMIT)
"""Where a worker of a schedule pauses, and may fail."""


class Worker:
    """One worker that advances one delivery, stopped before each of the effects."""

    def __init__(self, dataset: SlicedDataset, at: int, fault: tuple[Effect, Fault] | None) -> None:
        self.dataset, self.fault = dataset, fault
        row = dataset.env.memory.workloads[dataset.env.uploads[at].workload]
        self.steps: Steps[Any] = advance(DeliveryTurn(dataset.env.dependencies, row))
        self.call: Call | None = None
        self._go(lambda: next(self.steps))

    def turn(self) -> bool:
        """The effect before which it stopped, with its fault; False if it has ended before."""
        call = self.call
        if call is None:
            return False
        fault = self.fault[1] if self.fault and self.fault[0] is call.effect else Fault.NONE
        if fault is not Fault.NONE:
            self.fault = None
        if fault is Fault.CRASH_BEFORE:
            self.call = None
        else:
            self._do(call, fault)
        return True

    def _do(self, call: Call, fault: Fault) -> None:
        try:
            answer = call.do()
            if fault is Fault.TWICE:
                answer = call.do()
        except LakegateError as refused:
            error = refused
            if fault is Fault.CRASH_AFTER:
                self.call = None
            else:
                self._go(lambda: self.steps.throw(error))
            return
        if fault is Fault.CRASH_AFTER:
            self.call = None
        elif fault is Fault.UNANSWERED:
            self._go(lambda: self.steps.throw(Unanswered()))
        else:
            self._go(lambda: self.steps.send(answer))

    def _go(self, proceed: Any) -> None:
        try:
            self.call = proceed()
            while self.call.effect not in EFFECTS:
                call = self.call
                try:
                    answer = call.do()
                except LakegateError as refused:
                    self.call = self.steps.throw(refused)
                else:
                    self.call = self.steps.send(answer)
        except (StopIteration, LakegateError):
            self.call = None


Schedule: TypeAlias = "tuple[tuple[int, ...], tuple[tuple[Effect, Fault] | None, ...]]"
"""Whose turn is next, and the fault of each of two workers."""


def schedules() -> Iterator[Schedule]:
    """Every order of the first effects of two workers, without a fault and with one of a worker: per commit each third."""
    orders = sorted(set(permutations((0, 0, 0, 1, 1, 1))))
    yield from ((order, (None, None)) for order in orders)
    faults = [fault for each in product(EFFECTS, FAULTS) for fault in ((each, None), (None, each))]
    yield from list(product(orders, faults))[:: 1 if FULL else 3]


def play(dataset: SlicedDataset, schedule: Schedule, first: int = 0) -> None:
    """Two workers advance the deliveries from `first` on, sweeps finish them; all that must hold does, after each effect."""
    order, faults = schedule
    workers = [Worker(dataset, first + at, fault) for at, fault in enumerate(faults)]
    dataset.hold()
    for each in (*order, *(0, 1) * 6):
        if workers[each].turn():
            dataset.hold()
            dataset.results()
    settled(dataset)


@pytest.mark.simulation
def test_slices_follow_one_another_whatever_happens() -> None:
    """Two deliveries are judged from one offset: both are published, one after the other, without a gap or a row twice."""
    ends = set()
    for schedule in schedules():
        dataset = judged(b"good:1", b"good:333")
        play(dataset, schedule)

        assert [each.state for each in dataset.rows()] == [State.PUBLISHED, State.PUBLISHED]
        offsets = sorted(decided_slices(each).offsets for each in dataset.rows())
        ends.add(tuple(offsets))
        assert [each.cause for row in dataset.rows() for each in row.failed] in ([], [FailureCause.OVERTAKEN])

    assert ends == {((0, 6), (6, 14)), ((0, 8), (8, 14))}


@pytest.mark.simulation
def test_late_events_are_judged_by_the_watermark_of_the_deliveries_before() -> None:
    """Two deliveries are judged by one watermark: the later one in the chain is judged again by that of the earlier one."""
    ends = set()
    for schedule in schedules():
        dataset = judged(b"good:1@20", b"good:333@07", plan=with_watermark(Treatment.WARN))
        play(dataset, schedule)

        blocks = [each for each in dataset.env.dependencies.ledger.blocks(LINE) if isinstance(each, Block)]
        ends.add(tuple((each.rows, each.verdict, each.watermark) for each in blocks))

    low, high = "2024-05-06T00:00:00.000000Z", "2024-05-19T00:00:00.000000Z"
    assert ends == {
        ((9, "accepted", high), (11, "accepted_with_warnings", high)),
        ((11, "accepted", low), (9, "accepted", high)),
    }


@pytest.mark.simulation
def test_a_ledger_has_each_key_once_whatever_happens() -> None:
    """Two deliveries with common keys are judged by one state: the dataset is what their order in the chain makes of it."""
    ends = set()
    for schedule in schedules():
        dataset = judged(b"good:1", b"good:3321", plan=LEDGER)
        play(dataset, schedule)

        assert [each.state for each in dataset.rows()] == [State.PUBLISHED] * 2
        assert dataset.published() == bytes(dict.fromkeys(b"".join(dataset.delivered())))
        ends.add(dataset.published())

    assert ends == {b"god:132", b"god:321"}


@pytest.mark.simulation
def test_a_delivery_that_was_compared_with_a_state_that_is_replaced_is_compared_again() -> None:
    """A state that a person replaces beside it is not undone by it; between its decision and its commit none is replaced."""
    dataset = judged(b"good:1", plan=LEDGER)
    settled(dataset)
    turns, rebuilt = dataset.env.memory.turns, Address(LAKE, f"accepted/{LINE}/_state/rebuilt.bin")
    for body in (b"good:12", b"good:21"):  # with a new key, and without
        dataset.env.upload(f"{PREFIX}{body.decode()}.csv", body)
        dataset.take_in()
        dataset.env.memory.objects.put(rebuilt, dataset.published())
        now = turns.next_slice(LINE)
        turns.replace_state(LINE, now, (StateRun(rebuilt.key, now.offset, NO_DIGEST),))
        dataset.env.replaced.append((StateRun(rebuilt.key, now.offset, NO_DIGEST),))
        worker = Worker(dataset, -1, None)
        worker.turn()  # is refused
        worker.turn()
        assert [each.cause for each in dataset.rows()[-1].failed] == [FailureCause.OVERTAKEN]
        settled(dataset)
        assert dataset.published() == b"god:12"
        assert turns.next_slice(LINE).runs[0] == StateRun(rebuilt.key, now.offset, NO_DIGEST)


@pytest.mark.simulation
def test_a_delivery_without_new_keys_is_published_without_a_slice() -> None:
    """It takes a turn as every other one, and a later one goes on with the same state."""
    dataset = judged(b"good:1", plan=LEDGER)
    settled(dataset)
    for body in (b"good:", b"good:12", b"good:123"):
        dataset.env.upload(f"{PREFIX}{len(body)}.csv", body)
        settled(dataset)

    assert dataset.published() == b"god:123"
    blocks = [each for each in dataset.env.dependencies.ledger.blocks(LINE) if isinstance(each, Block)]
    assert [(each.rows, [one.rows for one in each.slices or ()]) for each in blocks] == [
        (6, [5]),
        (5, []),
        (7, [1]),
        (8, [1]),
    ]
    assert [decided_slices(row).offsets for row in dataset.rows()] == [(0, 5), (5, 5), (5, 6), (6, 7)]
    listed = manifest_deliveries(dataset.env.lake, manifest_key(LINE)) or []
    assert [each["published_rows"] for each in listed] == [5, 0, 1, 1]
    assert [row.decision.counts.published_rows for row in dataset.rows()] == [5, 0, 1, 1]


def two_snapshots(first: bytes, second: bytes) -> SlicedDataset:
    """A dataset with the row 1, and two later snapshots that were both judged by it."""
    dataset = judged(b"good:1", plan=SNAPSHOTS)
    settled(dataset)
    for number, body in enumerate((first, second), start=1):
        dataset.env.memory.clock.sleep(60)
        dataset.env.upload(f"{PREFIX}{number}.csv", body)
    dataset.take_in()
    return dataset


@pytest.mark.simulation
@pytest.mark.parametrize("first", [b"good:2", b"good:1"])
@pytest.mark.parametrize("second", [b"good:3", pytest.param(b"good:1", marks=pytest.mark.full)])
def test_the_newest_snapshot_is_the_line_whatever_happens(first: bytes, second: bytes) -> None:
    """Two snapshots are judged by one state: the older one changes nothing where it comes second, also after an equal one."""
    ends = set()
    for schedule in schedules():
        dataset = two_snapshots(first, second)
        play(dataset, schedule, first=1)

        assert [each.state for each in dataset.rows()] == [State.PUBLISHED] * 3
        assert dataset.current() == set(second)
        blocks = [each for each in dataset.env.dependencies.ledger.blocks(LINE) if isinstance(each, Block)]
        ends.add(tuple(each.verdict for each in blocks[1:]))

    assert ends == {("accepted", "accepted"), ("accepted", "accepted_with_warnings")}


@pytest.mark.simulation
def test_the_last_upsert_has_its_values_whatever_happens() -> None:
    """Two upserts of one key are judged by one state: the rows are those of a dictionary that each updates in their order."""
    ends = set()
    for schedule in schedules():
        dataset = judged(b"good:xy", plan=UPSERTS)
        settled(dataset)
        for number, body in enumerate((b"good:Xz", b"good:xZ"), start=1):
            dataset.env.upload(f"{PREFIX}{number}.csv", body)
        dataset.take_in()
        play(dataset, schedule, first=1)

        assert [each.state for each in dataset.rows()] == [State.PUBLISHED] * 3
        known: dict[bytes, int] = {}
        for body in dataset.delivered():
            known |= {bytes([each]).lower(): each for each in body}
        assert dataset.current() == set(known.values())
        ends.add(bytes(sorted(dataset.current())))

    assert len(ends) == 2


@pytest.mark.simulation
def test_a_rejected_delivery_has_no_offset() -> None:
    """A rejected delivery takes no turn; what follows it begins where the slices before it end."""
    dataset = judged(b"good:1", b"bad:22", b"good:333")
    settled(dataset)

    assert [each.state for each in dataset.rows()] == [State.PUBLISHED, State.QUARANTINED, State.PUBLISHED]
    assert decided_slices(dataset.rows()[1]) is None


@pytest.mark.simulation
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_random_schedules_meet_what_may_happen_to_slices(
    strategy: MergeStrategy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deliveries are overtaken, watermarks set and, of a dataset with a merge state, states replaced; every promise holds."""
    seen: set[str] = set()
    for name in ("is_overtaken", "marked", "state_replaced", "committed"):
        found = getattr(SlicePromises, name)
        monkeypatch.setattr(SlicePromises, name, partialmethod(_noting, found, seen, name))
    begin = SLICED, STRATEGIES.index(strategy)
    violations = [broken(Choices(seed, begin=begin)) for seed in range(60)]

    assert violations == [None] * 60
    assert seen == {"is_overtaken", "marked", "committed"} | (
        {"state_replaced"} if strategy is MergeStrategy.LEDGER else set()
    )


def _noting(promises: SlicePromises, found: Callable[..., str], seen: set[str], name: str, *given: object) -> str:
    seen.add(name)
    return found(promises, *given)


@pytest.mark.simulation
def test_overtaken_attempts_cost_none_of_a_round() -> None:
    """Six deliveries judged from one offset are all published, though one of them is judged more often than a round allows."""
    dataset = judged(*(f"good:{number}".encode() * number for number in range(1, 7)))
    settled(dataset)

    assert [each.state for each in dataset.rows()] == [State.PUBLISHED] * 6
    assert {each.cause for row in dataset.rows() for each in row.failed} == {FailureCause.OVERTAKEN}
    assert max(len(row.failed) for row in dataset.rows()) > 3
