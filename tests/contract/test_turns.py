"""Turns of lines with slices: the decision takes the turn, at the next offset only; the commit lets the next one in."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lakegate.base.errors import ConditionFailed
from lakegate.features.odf.slice_turns import DecidedSlices, NextSlice, with_slices
from lakegate.gate.delivery.delivery_row import Workload
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery_store import Expected
from lakegate.gate.ledger.blocks import GENESIS, Record, digest, event_id
from lakegate.plan.slice_order import StateRun
from tests.contract.conftest import Ports
from tests.contract.test_rows import CHAIN, DECIDED, DECISION, HERE, NEWS, block, committed

JUDGED = Expected(State.VALIDATING, 2)
DIGEST = "d" * 64


MAY, JUNE = "2024-05-01T00:00:00.000000Z", "2024-06-01T00:00:00.000000Z"


def judged(  # noqa: PLR0913, PLR0917 - what a decision requires of the turn, and sets
    ports: Ports,
    name: str,
    first: int,
    end: int,
    marks: tuple[str, str] = ("", ""),
    before: tuple[StateRun, ...] = (),
    runs: tuple[StateRun, ...] = (),
) -> Workload:
    """A judged delivery, as it is to be decided."""
    decision = with_slices(DECISION, DecidedSlices((first, end), marks, before, runs))
    decided = DECIDED._replace(id=name, decision=decision)
    ports.workloads.create(decided._replace(state=State.VALIDATING, decision=None))
    return decided


def refusals(ports: Ports, decided: Workload, content: str | None = None) -> tuple[str, ...]:
    """Why a decision is refused; none: it is written."""
    try:
        ports.workloads.save(decided, JUDGED, content=content)
    except ConditionFailed as refused:
        return refused.reasons
    return ()


def test_a_decision_is_read_with_its_offsets(ports: Ports) -> None:
    """The line begins at 0, and the next offset is the one after the last row that is decided."""
    decided = judged(ports, "w1", 0, 6)

    assert ports.turns.next_slice(CHAIN) == NextSlice(0, "")
    assert refusals(ports, decided) == ()
    assert (ports.workloads.get("w1"), ports.turns.next_slice(CHAIN)) == (decided, NextSlice(6, "", (), "w1"))


@pytest.mark.parametrize("before", ["", MAY])
def test_a_decision_moves_the_watermark_by_which_it_was_judged(ports: Ports, before: str) -> None:
    """The next slice is judged by the new watermark, and by no other; its decision is read with both."""
    first = judged(ports, "w1", 0, 6, ("", before))
    refusals(ports, first)
    ports.ledger.commit(block(0, GENESIS, "w1"), committed(first), HERE, NEWS)
    others = {"", MAY, JUNE} - {before}

    assert [refusals(ports, judged(ports, f"{each}x", 6, 8, (each, JUNE))) for each in others] == [("turn",)] * 2
    second = judged(ports, "w2", 6, 8, (before, JUNE))
    assert refusals(ports, second) == ()
    assert (ports.workloads.get("w2"), ports.turns.next_slice(CHAIN)) == (second, NextSlice(8, JUNE, (), "w2"))


def test_a_turn_is_ended_by_its_delivery_alone(ports: Ports) -> None:
    """Once; of another delivery it is refused with the reason `turn`, and one without slices has none."""
    first = judged(ports, "w1", 0, 6)
    refusals(ports, first)
    with pytest.raises(ConditionFailed) as refused:
        ports.turns.end_turn(first._replace(id="w2"))
    ports.turns.end_turn(first)
    ports.turns.end_turn(first._replace(decision=DECISION))

    assert "turn" in refused.value.reasons
    assert ports.turns.next_slice(CHAIN) == NextSlice(6, "")


def test_two_lines_of_a_contract_have_a_turn_each(ports: Ports) -> None:
    """Neither the turn, nor what the next slice begins with, is shared by the lines of a contract."""
    other = f"{CHAIN.rpartition('/')[0]}/others_v1"
    first, second = judged(ports, "w1", 0, 6), judged(ports, "w2", 0, 9)
    assert second.pin is not None
    second = second._replace(pin=replace(second.pin, dataset=other))

    assert (refusals(ports, first), refusals(ports, second)) == ((), ())
    assert ports.turns.next_slice(CHAIN) == NextSlice(6, "", (), "w1")
    assert ports.turns.next_slice(other) == NextSlice(9, "", (), "w2")


@pytest.mark.parametrize(("first", "end"), [(0, 8), (6, 8), (7, 8)])
def test_nothing_is_decided_before_the_delivery_before_it_is_committed(ports: Ports, first: int, end: int) -> None:
    """Neither from the same offset nor from the next one, and nothing is written."""
    refusals(ports, judged(ports, "w1", 0, 6))
    second = judged(ports, "w2", first, end)

    assert refusals(ports, second) == ("turn",)
    assert ports.workloads.get("w2").state is State.VALIDATING
    assert ports.turns.next_slice(CHAIN) == NextSlice(6, "", (), "w1")


@pytest.mark.parametrize(("first", "reasons"), [(6, ()), *((each, ("turn",)) for each in (0, 3, 7))])
def test_after_a_commit_the_next_offset_is_decided(ports: Ports, first: int, reasons: tuple[str, ...]) -> None:
    """A delivery that was judged from any other offset is refused."""
    decided = judged(ports, "w1", 0, 6)
    refusals(ports, decided)
    ports.ledger.commit(block(0, GENESIS, "w1"), committed(decided), HERE, NEWS)

    assert refusals(ports, judged(ports, "w2", first, 8)) == reasons


def test_a_line_does_not_begin_above_zero(ports: Ports) -> None:
    """The first slice of a line has the offset 0."""
    assert refusals(ports, judged(ports, "w1", 3, 6)) == ("turn",)


def test_a_decision_without_slices_takes_no_turn(ports: Ports) -> None:
    """A rejected delivery is decided while another one is being committed, and committed without ending its turn."""
    refusals(ports, judged(ports, "w1", 0, 6))
    rejected = judged(ports, "w2", 0, 6)._replace(decision=DECISION)

    assert refusals(ports, rejected) == ()
    ports.ledger.commit(block(0, GENESIS, "w2"), committed(rejected), HERE, NEWS)
    assert refusals(ports, judged(ports, "w3", 6, 8)) == ("turn",)


def test_a_commit_needs_the_turn(ports: Ports) -> None:
    """A decided delivery without the turn is not committed; neither state nor head is the reason."""
    decided = DECIDED._replace(id="w1", decision=with_slices(DECISION, DecidedSlices((0, 6))))
    ports.workloads.create(decided)
    first = block(0, GENESIS, "w1")
    with pytest.raises(ConditionFailed) as refused:
        ports.ledger.commit(first, committed(decided), HERE, NEWS)

    assert refused.value.reasons == ("turn",)
    assert ports.ledger.head(CHAIN).digest == GENESIS != digest(first)


def test_a_duplicate_takes_no_turn(ports: Ports) -> None:
    """Content and turn are refused together, each with its reason."""
    other = DECIDED._replace(id="w0", state=State.VALIDATING, decision=None)
    ports.workloads.create(other)
    ports.workloads.save(other._replace(state=State.DECIDED, decision=DECISION), JUDGED, content="c")
    late = judged(ports, "w1", 3, 6)

    assert refusals(ports, late, "c") == ("content", "turn")


def test_a_decision_sets_the_merge_state(ports: Ports) -> None:
    """It is read with its files, and so is the next slice; a decision without new keys leaves them, and takes the turn."""
    runs = (StateRun("accepted/a", 9, DIGEST), StateRun("accepted/b", 2, DIGEST))
    first = judged(ports, "w1", 0, 6, runs=runs)
    refusals(ports, first)
    ports.ledger.commit(block(0, GENESIS, "w1"), committed(first), HERE, NEWS)
    second = judged(ports, "w2", 6, 6, before=runs, runs=runs)

    assert (ports.workloads.get("w1").decision, ports.turns.next_slice(CHAIN)) == (
        first.decision,
        NextSlice(6, "", runs),
    )
    assert refusals(ports, second) == ()
    assert ports.turns.next_slice(CHAIN) == NextSlice(6, "", runs, "w2")
    assert refusals(ports, judged(ports, "w3", 6, 8)) == ("turn",)


@pytest.mark.parametrize("before", [(), (StateRun("accepted/a", 6, DIGEST),)])
def test_a_decision_needs_the_merge_state_by_which_it_was_compared(ports: Ports, before: tuple[StateRun, ...]) -> None:
    """Also where the offset is still the same: a state that was replaced, or that there is none, is another one."""
    first = judged(ports, "w1", 0, 6, runs=before)
    refusals(ports, first)
    ports.ledger.commit(block(0, GENESIS, "w1"), committed(first), HERE, NEWS)
    other, new = (StateRun("accepted/_state/b", 6, DIGEST),), (StateRun("accepted/c", 8, DIGEST),)

    assert refusals(ports, judged(ports, "w2", 6, 8, before=other, runs=new)) == ("turn",)
    assert ports.turns.next_slice(CHAIN) == NextSlice(6, "", before)
    ports.turns.replace_state(CHAIN, NextSlice(6, "", before), other)
    assert refusals(ports, judged(ports, "w3", 6, 8, before=before, runs=new)) == ("turn",)
    assert refusals(ports, judged(ports, "w4", 6, 8, before=other, runs=new)) == ()
    assert ports.turns.next_slice(CHAIN) == NextSlice(8, "", new, "w4")


def test_a_state_is_replaced_between_two_deliveries(ports: Ports) -> None:
    """Not while one is decided, nor after another one was, also one without slices, nor of a line without slices."""
    runs, before = (StateRun("accepted/c", 11, DIGEST),), NextSlice(6)

    def refused(before: NextSlice) -> bool:
        try:
            ports.turns.replace_state(CHAIN, before, runs)
        except ConditionFailed:
            return True
        return False

    assert refused(before)
    first = judged(ports, "w1", 0, 6)
    refusals(ports, first)
    assert refused(before)
    ports.ledger.commit(block(0, GENESIS, "w1"), committed(first), HERE, NEWS)
    assert refused(NextSlice(5))
    assert not refused(before)
    assert ports.turns.next_slice(CHAIN) == NextSlice(6, "", runs)
    assert refused(before)
    assert refused(NextSlice(6, "", (StateRun("accepted/c", 11, DIGEST, JUNE),)))
    ports.turns.replace_state(CHAIN, NextSlice(6, "", runs), ())
    assert ports.turns.next_slice(CHAIN) == NextSlice(6)
    assert refusals(ports, judged(ports, "w2", 6, 8)) == ()


@pytest.mark.parametrize("before", ["", MAY])
def test_a_person_sets_the_watermark_between_two_deliveries(ports: Ports, before: str) -> None:
    """With its record, or not at all: not while one is decided, after another one was, nor from another watermark."""
    record = Record(
        kind="watermark",
        height=1,
        previous="",
        system_time="2026-11-21T11:30:00.000000Z",
        chain=CHAIN,
        actor="arn:aws:iam::123456789012:root",
        event=event_id("watermark", before),
        content={"watermark": JUNE, "before": before},
    )
    first = judged(ports, "w1", 0, 6, ("", before))
    low = block(0, GENESIS, "w1")

    def refused(given: NextSlice, record: Record) -> tuple[str, ...]:
        try:
            ports.turns.mark(record, given)
        except ConditionFailed as found:
            return found.reasons
        return ()

    top, found = replace(record, previous=digest(low)), NextSlice(6, before)
    refusals(ports, first)
    assert refused(found, replace(record, height=0, previous=GENESIS)) == ("turn",)
    ports.ledger.commit(low, committed(first), HERE, NEWS)
    assert [refused(each, top) for each in (NextSlice(5, before), NextSlice(6, JUNE))] == [("turn",)] * 2
    assert refused(found, replace(top, height=2)) == ("head",)
    assert ports.turns.next_slice(CHAIN) == found
    assert refused(found, top) == ()
    assert (ports.ledger.blocks(CHAIN)[-1], ports.turns.next_slice(CHAIN)) == (top, NextSlice(6, JUNE))
