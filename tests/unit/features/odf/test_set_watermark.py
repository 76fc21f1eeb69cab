"""`lakegate dataset watermark`: a person sets the watermark of a line; it is recorded, and judges what is delivered later."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from lakegate.base.errors import ConditionFailed, InputError, TransactionConflict
from lakegate.contract.delivery_policy import Treatment
from lakegate.features.odf.odf_publisher import set_watermark
from lakegate.features.odf.slice_turns import Turns
from lakegate.gate.ledger.blocks import Block, Record
from tests.simulation.environment import LINE, PREFIX
from tests.simulation.sliced import PLAN, SlicedDataset, judged, settled, with_watermark
from tests.unit.gate.ledger.ledger_chain import verify
from tests.unit.gate.scenarios import drive

MAY = "2024-05-20T00:00:00.000000Z"


def marked(line: SlicedDataset, at: str = MAY) -> object:
    return drive(line.env.dependencies, set_watermark(line.env.dependencies, LINE, datetime.fromisoformat(at)))


@pytest.fixture
def line() -> SlicedDataset:
    found = judged(b"good:1@07", plan=with_watermark(Treatment.WARN))
    settled(found)
    return found


def blocks(line: SlicedDataset) -> list[Any]:
    return list(line.env.dependencies.ledger.blocks(LINE))


def test_a_watermark_is_recorded_and_judges_what_follows(line: SlicedDataset) -> None:
    """Who set which one, after which; later deliveries have it, and the chain is intact. A repeated command changes nothing."""
    before = "2024-05-06T00:00:00.000000Z"
    assert [marked(line), marked(line)] == [before, MAY]
    line.env.upload(f"{PREFIX}late.csv", b"good:333@19")
    settled(line)
    low, record, high = blocks(line)

    assert isinstance(record, Record)
    assert (record.kind, record.actor, record.content) == (
        "watermark",
        line.env.dependencies.identity.caller(),
        {"watermark": MAY, "before": before},
    )
    assert [low.watermark, high.watermark, high.verdict] == [before, MAY, "accepted_with_warnings"]
    assert verify(blocks(line)) == ()


def test_a_delivery_that_was_judged_before_is_judged_again(line: SlicedDataset) -> None:
    """Its rows are late by the new watermark, which it was not counted by."""
    line.env.upload(f"{PREFIX}late.csv", b"good:333@19")
    line.take_in()
    marked(line)
    settled(line)
    row = line.rows()[1]

    assert (row.attempt, row.decision.verdict) == (2, "accepted_with_warnings")


@pytest.mark.parametrize(
    ("at", "why"),
    [("2024-05-05T00:00:00Z", "it never moves back"), ("2099-01-01T00:00:00Z", "is to come")],
)
def test_a_watermark_that_cannot_be_right_is_refused(line: SlicedDataset, at: str, why: str) -> None:
    """Nothing is recorded."""
    with pytest.raises(InputError, match=why):
        marked(line, at)
    assert len(blocks(line)) == 1


def test_a_line_without_slices_has_no_watermark() -> None:
    """There is nothing that it could be about."""
    with pytest.raises(InputError, match="has no slices yet"):
        marked(judged(plan=PLAN))


def test_no_watermark_is_set_between_a_decision_and_its_commit(line: SlicedDataset) -> None:
    """The block would have an earlier one than the record below it."""
    line.env.memory.put_turn(LINE, 9, "another delivery")
    with pytest.raises(InputError, match="decided and not committed"):
        marked(line)


def test_a_busy_line_is_tried_again(line: SlicedDataset, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others may extend the chain first, a bounded number of times."""

    def refuse(*_: object) -> None:
        raise ConditionFailed("head")

    monkeypatch.setattr(Turns, "mark", refuse)
    with pytest.raises(TransactionConflict):
        marked(line)


def test_a_record_that_moves_a_watermark_back_is_a_fault(line: SlicedDataset) -> None:
    """Whoever writes the table: `verify` reports the record, and a block below what a record sets."""
    marked(line)
    line.env.upload(f"{PREFIX}late.csv", b"good:333@19")
    settled(line)
    low, record, high = blocks(line)
    lower = Record(**{**vars_of(record), "content": {**record.content, "watermark": "2024-05-01T00:00:00.000000Z"}})

    assert isinstance(high, Block)
    assert [each.what for each in verify([low, lower])] == ["watermark"]
    assert "watermark" in [each.what for each in verify([low, record, low])]


def vars_of(record: Record) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__slots__}
