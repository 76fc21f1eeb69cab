"""Deliveries of lines with slices: what is published, listed and recorded, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lakegate.base.errors import InputError
from lakegate.contract.delivery_policy import Treatment
from lakegate.features.erasure.erasure import Why, erase
from lakegate.features.odf.slice_turns import NextSlice, decided_slices
from lakegate.features.validator_api.validation_run import data_at
from lakegate.gate.delivery.advance import advance
from lakegate.gate.delivery.delivery_row import FailureCause, Waiting, WaitsFor, Workload
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.lake_layout import destination_key, manifest_key
from lakegate.gate.ledger.blocks import Block, LedgerSlice, digest, from_json, to_json
from lakegate.gate.ports import Address
from lakegate.gate.waiting import waiting_of
from lakegate.plan.plan import Plan
from tests.decisions import waive
from tests.published_schemas import validate
from tests.simulation.contract import block_digest
from tests.simulation.environment import LAKE, LINE, PREFIX
from tests.simulation.promises import manifest_deliveries
from tests.simulation.sliced import PLAN, SlicedDataset, judged, settled, with_watermark
from tests.unit.gate.scenarios import alarm_of, drive, swapped


def published(*bodies: bytes, plan: Plan = PLAN) -> SlicedDataset:
    line = judged(*bodies, plan=plan)
    settled(line)
    return line


def only(line: SlicedDataset) -> tuple[Workload, Block]:
    (row,) = line.rows()
    (block,) = line.env.dependencies.ledger.blocks(LINE)
    assert isinstance(block, Block)
    return row, block


def changed(line: SlicedDataset, **change: Any) -> Workload:
    """The delivery, with another slice in the result of its first attempt."""
    (row,) = line.rows()
    where = f"runs/{row.id}/attempt=1/result.json"
    document = json.loads(line.env.dependencies.objects.read(Address(LAKE, where)))
    document["slices"][0] |= change
    swapped(line.env, where, json.dumps(document).encode())
    return row


def test_slices_are_published_beside_what_arrived() -> None:
    """The block and the manifest list the slice with offset, rows, times and hashes; the original is below `_original/`."""
    row, block = only(line := published(b"good:1"))
    assert row.pin is not None
    key, original = (
        destination_key("accepted", row.pin, row.id, name)
        for name in ("part-00000.parquet", "_original/part-00000.csv")
    )
    times = ("2024-05-01T00:00:00.000000Z",) * 2
    decided = decided_slices(row)
    assert decided is not None
    hashes = f"f9680c00120{6:064x}", f"f1620{6:064x}"
    found = LedgerSlice(key, 0, 6, times, *hashes, system_time=decided.system_time)
    (listed,) = manifest_deliveries(line.env.lake, manifest_key(LINE)) or []

    assert block.slices == (found,)
    assert [each.key for each in block.objects] == [original, key]
    assert [each["key"] for each in listed["objects"]] == [key]
    assert (listed["format"], listed["csv"], listed["published_rows"]) == ("parquet", None, 6)
    assert listed["slices"] == [json.loads(to_json(block))["slices"][0]]
    validate("manifest", json.loads(line.env.memory.objects.read(Address(LAKE, manifest_key(LINE)))))
    assert line.env.memory.objects.read(Address(LAKE, key)) == b"0:good:1"
    assert line.env.memory.objects.read(Address(LAKE, original)) == b"good:1"
    assert (from_json(to_json(block)), digest(block)) == (block, block_digest(block))
    assert [each for each in line.env.memory.objects.current(LAKE, "runs/") if "/slices/" in each] == []


def test_a_block_and_the_manifest_have_the_watermark() -> None:
    """It is the latest event time minus the delay, and stays where later deliveries have earlier events."""
    line = published(b"good:1@20", plan=with_watermark())
    line.env.upload(f"{PREFIX}late.csv", b"good:333@07")
    settled(line)
    blocks = [each for each in line.env.dependencies.ledger.blocks(LINE) if isinstance(each, Block)]
    mark = "2024-05-19T00:00:00.000000Z"

    assert [each.watermark for each in blocks] == [mark] * 2
    assert [(from_json(to_json(each)), digest(each)) for each in blocks] == [
        (each, block_digest(each)) for each in blocks
    ]
    listed = manifest_deliveries(line.env.lake, manifest_key(LINE)) or []
    assert [each["watermark"] for each in listed] == [mark] * 2
    validate("manifest", json.loads(line.env.memory.objects.read(Address(LAKE, manifest_key(LINE)))))
    (*_, last) = (each.system_time or "" for block in blocks for each in block.slices or ())
    assert line.env.dependencies.rows("turns").next_slice(LINE) == NextSlice(20, mark, system_time=last)


@pytest.mark.parametrize(
    ("late", "verdict", "end"),
    [
        (Treatment.ACCEPT, "accepted", State.PUBLISHED),
        (Treatment.WARN, "accepted_with_warnings", State.PUBLISHED),
        (Treatment.REJECT, "rejected", State.QUARANTINED),
    ],
)
def test_late_events_have_the_outcome_that_the_contract_names(late: Treatment, verdict: str, end: State) -> None:
    """The rows before the watermark are counted; a rejected delivery has no offset, and its slices are deleted."""
    line = published(b"good:1@20", plan=with_watermark(late))
    line.env.upload(f"{PREFIX}late.csv", b"good:333@07")
    settled(line)
    row = line.rows()[1]

    assert (row.state, row.decision.verdict) == (end, verdict)
    message = (
        "file/late-events: 11 rows are late: of events before the watermark of the line, 2024-05-19T00:00:00.000000Z"
    )
    whole = (
        "file/whole: the whole file is rejected, although `onReject` is `rows`, because file/late-events rejects the file, "
        "and no single rows"
    )
    assert (
        row.decision.reasons
        == {
            Treatment.ACCEPT: (),
            Treatment.WARN: (message,),
            Treatment.REJECT: (whole, message),
        }[late]
    )
    assert (decided_slices(row) is None) is (end is State.QUARANTINED)
    assert [each for each in line.env.memory.objects.current(LAKE, "runs/") if "/slices/" in each] == []


def test_a_delivery_that_is_overtaken_is_judged_again_by_the_same_means() -> None:
    """The second of two is judged from the offset after the first; both attempts are in its row."""
    line = published(b"good:1", b"good:333")
    later = max(line.rows(), key=lambda row: decided_slices(row).offsets)

    assert sorted(decided_slices(row).offsets[0] > 0 for row in line.rows()) == [False, True]
    assert [each.cause for each in later.failed] == [FailureCause.OVERTAKEN]
    time = decided_slices(later).system_time
    assert line.env.dependencies.rows("turns").next_slice(LINE) == NextSlice(14, "", system_time=time)


def test_a_delivery_waits_for_the_commit_of_the_one_before_it() -> None:
    """It stays VALIDATING, without another attempt, while its offset is the next one."""
    line = judged(b"good:1")
    (row,) = line.rows()
    line.env.memory.put_turn(LINE, 0, "another delivery")

    assert drive(line.env.dependencies, advance(DeliveryTurn(line.env.dependencies, row))) == row
    assert waiting_of(DeliveryTurn(line.env.dependencies, row)) == Waiting(WaitsFor.COMMIT, "another delivery")


@pytest.mark.parametrize(
    ("change", "code"),
    [({"uri": f"s3://{LAKE}/staging/x"}, "rows-elsewhere"), ({"size": 999}, "rows-differ")],
)
def test_a_slice_that_is_not_as_listed_raises_an_alarm(change: dict[str, object], code: str) -> None:
    """A job can only have written what is below its own attempt."""
    line = judged(b"good:1")

    assert alarm_of(line.env, changed(line, **change)) == code


def test_a_lost_turn_raises_an_alarm() -> None:
    """A decided delivery whose turn somebody took away is not committed."""
    line = judged(b"good:1")
    (row,) = line.rows()
    steps = advance(DeliveryTurn(line.env.dependencies, row))
    next(steps).do()
    steps.close()
    line.env.memory.put_turn(LINE, 6)

    assert alarm_of(line.env, line.rows()[0]) == "turn-lost"


@pytest.mark.parametrize("slices", [[], None])
def test_a_result_without_its_slices_is_the_jobs_failure(slices: list[Any] | None) -> None:
    """So is one whose slices are not contiguous: the attempt is lost."""
    line = judged(b"good:1")
    (row,) = line.rows()
    where = f"runs/{row.id}/attempt=1/result.json"
    document = json.loads(line.env.dependencies.objects.read(Address(LAKE, where)))
    document["slices"] = document["slices"] * 2 if slices is None else slices
    swapped(line.env, where, json.dumps(document).encode())
    drive(line.env.dependencies, advance(DeliveryTurn(line.env.dependencies, row)))

    assert [each.cause for each in line.rows()[0].failed] == [FailureCause.WRONG_RESULT]


def test_slices_are_not_erased() -> None:
    """Their offsets have no gaps."""
    row, _ = only(line := published(b"good:1"))
    steps = erase(line.env.dependencies, LINE, row.id, (), Why("a ticket", ("id",)), searched=0)
    with pytest.raises(InputError, match="no row can be erased"):
        drive(line.env.dependencies, steps)


def test_a_rejected_delivery_of_a_line_with_slices_is_not_waived() -> None:
    """No slice was written of it."""
    row, _ = only(line := published(b"bad:1"))
    with pytest.raises(InputError, match="publishes slices"):
        drive(line.env.dependencies, waive(line.env.dependencies, row.id, "why", "2026-01-06T12:00:00Z"))


def test_a_validation_reads_what_arrived() -> None:
    """Slices have other columns than the contract."""
    row, _ = only(line := published(b"good:1"))
    found = data_at(line.env.dependencies, row.id, lambda _: True)

    assert row.state is State.PUBLISHED
    assert [each.uri.rpartition("/workload=")[2] for each in found.parts] == [f"{row.id}/_original/part-00000.csv"]
