"""Deliveries of lines with slices: what is published, listed and recorded, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.block import Block, BlockKind, digest, from_json, to_json
from lakegate.contracts.lake.block_parts import LedgerObject, LedgerSlice
from lakegate.contracts.lake.ledger import ChainFault, Wrong
from lakegate.contracts.lake.lifecycle import moment
from lakegate.contracts.model.policy import Treatment
from lakegate.contracts.schemas import validate
from lakegate.functions.ports.objects import Address
from lakegate.functions.ports.workloads import NextSlice
from lakegate.functions.usecases.advance import advance
from lakegate.functions.usecases.erasure import Why, erase
from lakegate.functions.usecases.intake import intake
from lakegate.functions.usecases.layout import destination_key, manifest_key, state_key
from lakegate.functions.usecases.replay import replay
from lakegate.functions.usecases.steps import run
from lakegate.functions.usecases.submission import accepted_objects
from lakegate.functions.usecases.validation_source import data_at
from lakegate.functions.usecases.waive import waive
from lakegate.functions.workload import FailureCause, Referred, State, replay_id
from tests.fakes.rows import Turn
from tests.simulation.contract import block_digest
from tests.simulation.environment import LAKE, LANDING, LINE, PREFIX
from tests.simulation.promises import manifest_deliveries
from tests.simulation.sliced import LEDGER, PLAN, SNAPSHOTS, Line, judged, settled, with_watermark
from tests.unit.ledger_chain import a_block, verify, verify_stored
from tests.unit.usecases.scenarios import alarm_of, drive, swapped

if TYPE_CHECKING:
    from lakegate.contracts.plan.plan import Plan
    from lakegate.functions.workload import Workload


def published(*bodies: bytes, plan: Plan = PLAN) -> Line:
    line = judged(*bodies, plan=plan)
    settled(line)
    return line


def only(line: Line) -> tuple[Workload, Block]:
    (row,) = line.rows()
    (block,) = line.env.dependencies.ledger.blocks(LINE)
    assert isinstance(block, Block)
    return row, block


def changed(line: Line, **change: Any) -> Workload:
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
    found = LedgerSlice(key, 0, 6, times, f"f9680c00120{6:064x}", f"f1620{6:064x}")
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
    assert line.env.dependencies.workloads.next_slice(LINE) == NextSlice(20, mark)


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
    assert row.decision.reasons == (() if late is Treatment.ACCEPT else (message,))
    assert (row.decision.offsets is None) is (end is State.QUARANTINED)
    assert [each for each in line.env.memory.objects.current(LAKE, "runs/") if "/slices/" in each] == []


def test_a_delivery_that_is_overtaken_is_judged_again_by_the_same_means() -> None:
    """The second of two is judged from the offset after the first; both attempts are in its row."""
    line = published(b"good:1", b"good:333")
    later = max(line.rows(), key=lambda row: row.decision.offsets)

    assert sorted(row.decision.offsets[0] > 0 for row in line.rows()) == [False, True]
    assert [each.cause for each in later.failed] == [FailureCause.OVERTAKEN]
    assert line.env.dependencies.workloads.next_slice(LINE) == NextSlice(14, "")


def test_a_delivery_waits_for_the_commit_of_the_one_before_it() -> None:
    """It stays VALIDATING, without another attempt, while its offset is the next one."""
    line = judged(b"good:1")
    (row,) = line.rows()
    line.env.memory.rows.turns[LINE] = Turn(0, "another delivery")

    assert drive(line.env.dependencies, advance(line.env.dependencies, row)) == row


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
    steps = advance(line.env.dependencies, row)
    next(steps).do()
    steps.close()
    line.env.memory.rows.turns[LINE] = Turn(6)

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
    drive(line.env.dependencies, advance(line.env.dependencies, row))

    assert [each.cause for each in line.rows()[0].failed] == [FailureCause.WRONG_RESULT]


@pytest.mark.parametrize(
    "change",
    [
        {"merge": None},
        {"slices": []},
        {"merge": {"run": None}},
        {"merge": {"without_key": 5}},
        {"merge": {"without_key": 6, "run": None}},
        {"merge": {"offset": 1}},
        {"merge": {"kept": [{"uri": f"s3://{LAKE}/accepted/orders/other_v1/x", "rows": 1}]}},
    ],
    ids=[
        "not merged",
        "no slice",
        "no state",
        "a state without keys",
        "more rows without a key",
        "another offset",
        "the state of another line",
    ],
)
def test_a_result_that_is_not_merged_as_the_line_is_the_jobs_failure(change: dict[str, Any]) -> None:
    """What it lists would be the state of all later deliveries."""
    line = judged(b"good:1", plan=LEDGER)
    (row,) = line.rows()
    where = f"runs/{row.id}/attempt=1/result.json"
    document = json.loads(line.env.dependencies.objects.read(Address(LAKE, where)))
    if change.get("merge"):
        change = {"merge": document["merge"] | change["merge"]}
    swapped(line.env, where, json.dumps(document | change).encode())
    drive(line.env.dependencies, advance(line.env.dependencies, row))

    assert [each.cause for each in line.rows()[0].failed] == [FailureCause.WRONG_RESULT]


def test_a_merged_delivery_is_published_with_its_state() -> None:
    """Beside slice and original; consumers are not notified of it, and the next request names it."""
    row, block = only(line := published(b"good:1", plan=LEDGER))
    assert row.pin is not None
    state = state_key(row.pin, row.id)
    (listed,) = manifest_deliveries(line.env.lake, manifest_key(LINE)) or []

    assert [each.key.rpartition("/workload=")[2][65:] for each in block.objects] == [
        "_original/part-00000.csv",
        "_state/state.bin",
        "part-00000.parquet",
    ]
    assert [each["key"].rpartition("/")[2] for each in listed["objects"]] == ["part-00000.parquet"]
    assert line.env.memory.objects.read(Address(LAKE, state)) == b"god:1"
    line.env.upload(f"{PREFIX}2.csv", b"good:2")
    run(intake(line.env.dependencies, LANDING, f"{PREFIX}2.csv"), line.env.memory.clock)
    second = line.rows()[1]
    asked = json.loads(line.env.dependencies.objects.read(Address(LAKE, f"runs/{second.id}/attempt=1/request.json")))
    assert asked["slices"]["merge"] == {
        "line": LINE,
        "key": ["name"],
        "runs": [{"uri": f"s3://{LAKE}/{state}", "rows": 5, "digest": "", "as_of": ""}],
        "snapshot": None,
    }


def test_a_request_waits_while_the_state_of_the_line_is_committed() -> None:
    """The file of a decided delivery may not be in its place yet."""
    line = judged(plan=LEDGER)
    line.env.memory.rows.turns[LINE] = Turn(0, "another delivery")
    line.env.upload(f"{PREFIX}1.csv", b"good:1")
    run(intake(line.env.dependencies, LANDING, f"{PREFIX}1.csv"), line.env.memory.clock)

    assert line.rows()[0].attempt == 0
    line.env.memory.rows.turns[LINE] = Turn(0)
    settled(line)
    assert [(row.state, row.attempt) for row in line.rows()] == [(State.PUBLISHED, 1)]


def snapshots(*bodies: bytes, plan: Plan = SNAPSHOTS) -> Line:
    """A line of snapshots, each an hour after the one before."""
    line = judged(plan=plan)
    for number, body in enumerate(bodies):
        line.env.memory.clock.sleep(3600)
        line.env.upload(f"{PREFIX}day-2024050{number + 1}.csv", body)
        line.take_in()
        settled(line)
    return line


def request_of(line: Line, at: int) -> dict[str, Any]:
    """What the first attempt of a delivery was asked for."""
    where = f"runs/{line.rows()[at].id}/attempt=1/request.json"
    found: dict[str, Any] = json.loads(line.env.dependencies.objects.read(Address(LAKE, where)))["slices"]
    return found


def test_a_snapshot_is_compared_with_the_state_and_the_slices_of_its_line() -> None:
    """Its time is that of the object; it is known also of one that changes nothing."""
    line = snapshots(b"good:1", b"good:2", b"good:2")
    blocks = [each for each in line.env.dependencies.ledger.blocks(LINE) if isinstance(each, Block)]
    times = [moment(each.version.modified) for each in line.env.uploads]
    merges = [request_of(line, at)["merge"] for at in range(3)]

    assert [each["snapshot"]["time"] for each in merges] == times
    assert merges[2]["snapshot"]["slices"] == [
        {"uri": f"s3://{LAKE}/{each.key}", "offset": each.offset, "rows": each.rows}
        for block in blocks[:2]
        for each in block.slices or ()
    ]
    assert [[(each["rows"], each["as_of"]) for each in merge["runs"]] for merge in merges] == [
        [],
        [(5, times[0])],
        [(5, times[1])],
    ]
    (run,) = line.env.dependencies.workloads.next_slice(LINE).runs
    assert (run.rows, run.as_of) == (5, times[2])
    assert line.current() == set(b"good:2")


def test_a_name_has_the_time_of_a_snapshot() -> None:
    """As the contract says where; empty where it has none."""
    named = replace(SNAPSHOTS, policy=replace(SNAPSHOTS.policy, snapshot_time="day-%Y%m%d"))
    other = replace(SNAPSHOTS, policy=replace(SNAPSHOTS.policy, snapshot_time="week-%Y%m%d"))
    found = [request_of(snapshots(b"good:1", plan=plan), 0)["merge"]["snapshot"]["time"] for plan in (named, other)]

    assert found == ["2024-05-01T00:00:00.000000Z", ""]


def test_a_snapshot_that_is_judged_again_has_its_first_time() -> None:
    """Its copy in quarantine is newer than a snapshot that was published meanwhile."""
    line = snapshots(b"bad:1", b"good:2")
    env = line.env
    first = line.rows()[0]
    drive(env.dependencies, replay(env.dependencies, first.id))
    again = env.dependencies.workloads.get(replay_id(first.id))

    assert first.pin is not None
    assert again.pin is not None
    assert again.pin.modified == first.pin.modified == moment(env.uploads[0].version.modified)


def test_rules_read_the_newest_snapshot() -> None:
    """As it was delivered, by its plan; up to a height. What changed nothing is not looked at."""
    line = snapshots(b"good:1", b"good:2", b"good:2")
    dependencies = line.env.dependencies
    found = [list(accepted_objects(dependencies, Referred(LINE, height))) for height in (-1, 0, 1, 2)]

    names = [[(block.height, each.key.rpartition("/workload=")[2][65:]) for block, each in one] for one in found]
    assert names == [[], *([(at, "_original/part-00000.csv")] for at in (0, 1, 1))]
    assert SNAPSHOTS.current.storage == SNAPSHOTS.storage != LEDGER.current.storage


@pytest.mark.parametrize(
    "change",
    [
        {"snapshot": None},
        {"run": None},
        {"snapshot": {"appended": 4}},
        {"snapshot": {"retracted": 1}},
        {"snapshot": {"corrected": 1}},
    ],
)
def test_a_result_whose_slices_are_not_the_events_is_the_jobs_failure(change: dict[str, Any]) -> None:
    """Nor one that was merged by another strategy."""
    line = judged(b"good:1", plan=SNAPSHOTS)
    (row,) = line.rows()
    where = f"runs/{row.id}/attempt=1/result.json"
    document = json.loads(line.env.dependencies.objects.read(Address(LAKE, where)))
    merge = document["merge"]
    if change.get("snapshot"):
        change = {"snapshot": merge["snapshot"] | change["snapshot"]}
    swapped(line.env, where, json.dumps(document | {"merge": merge | change}).encode())
    drive(line.env.dependencies, advance(line.env.dependencies, row))

    assert [each.cause for each in line.rows()[0].failed] == [FailureCause.WRONG_RESULT]


def test_slices_are_not_erased() -> None:
    """Their offsets have no gaps."""
    row, _ = only(line := published(b"good:1"))
    with pytest.raises(InputError, match="no row can be erased"):
        drive(line.env.dependencies, erase(line.env.dependencies, LINE, row.id, (), Why("a ticket", ("id",))))


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


def sliced(height: int, previous: str, *offsets: tuple[int, int]) -> Block:
    times = ("2024-05-01T00:00:00.000000Z",) * 2
    slices = tuple(LedgerSlice(f"accepted/{first}", first, rows, times, "f1", "f2") for first, rows in offsets)
    objects = tuple(LedgerObject(each.key, "v1", 1, "") for each in slices)
    return replace(a_block(height, previous), objects=objects, slices=slices)


@pytest.mark.parametrize(("first", "faults"), [(5, ()), (4, (1,)), (6, (1,)), (0, (1,))])
def test_offsets_follow_one_another_over_the_chain(first: int, faults: tuple[int, ...]) -> None:
    """`verify` reports the block whose slices do not begin where those before it end; empty ones are passed over."""
    low = sliced(0, "0" * 64, (0, 2), (2, 3))
    high = sliced(1, digest(low), (first, 1))
    top = sliced(2, digest(high))

    wrong = [each for each in verify([low, high, top]) if each.what is Wrong.OFFSETS]
    assert wrong == [ChainFault(height, Wrong.OFFSETS, "not from 5 on") for height in faults]


def marked(*watermarks: str | None) -> list[Block]:
    """A chain of slices with these watermarks, each of events of the first day."""
    found: list[Block] = []
    for height, mark in enumerate(watermarks):
        block = sliced(height, digest(found[-1]) if found else "0" * 64, (height, 1))
        found.append(replace(block, watermark=mark and f"2024-{mark}T00:00:00.000000Z"))
    return found


@pytest.mark.parametrize(
    ("marks", "faults"),
    [
        ((None, None), []),
        ((None, "04-30", "04-30", "05-01"), []),
        (("04-30", "04-29"), [(1, "2024-04-29T00:00:00.000000Z after 2024-04-30T00:00:00.000000Z")]),
        (("04-30", None), [(1, "none after 2024-04-30T00:00:00.000000Z")]),
        (("05-02",), [(0, "2024-05-02T00:00:00.000000Z is after the latest event, 2024-05-01T00:00:00.000000Z")]),
    ],
)
def test_watermarks_never_move_back_over_the_chain(
    marks: tuple[str | None, ...], faults: list[tuple[int, str]]
) -> None:
    """`verify` reports a block with an earlier one than before, without one after it, and with one beyond its events."""
    assert list(verify(marked(*marks))) == [ChainFault(height, Wrong.WATERMARK, why) for height, why in faults]


def test_a_block_without_slices_has_no_watermark() -> None:
    """Neither canonical form nor schema."""
    text = to_json(marked("04-30")[0])
    wrong = text.partition('"slices":[')[0] + '"slices":[]' + text[text.index(',"system_time"') :]

    assert from_json(text) == marked("04-30")[0]
    with pytest.raises(InputError, match="no `watermark` without slices"):
        to_json(replace(a_block(), watermark="2024-05-01T00:00:00.000000Z"))
    assert [each.what for each in verify_stored([wrong.encode()])] == [Wrong.SCHEMA]


@pytest.mark.parametrize("mark", ["", "2024-05-01", "2024-05-01T00:00:00Z"])
def test_a_watermark_has_the_form_of_every_time(mark: str) -> None:
    """Six decimals, UTC: times are compared as texts."""
    with pytest.raises(InputError, match="`watermark`"):
        to_json(replace(sliced(0, "0" * 64, (0, 1)), watermark=mark))


def test_slices_of_a_block_are_contiguous() -> None:
    """A block with a gap between its slices has no canonical form."""
    with pytest.raises(InputError, match="`slices`"):
        to_json(sliced(0, "0" * 64, (0, 2), (3, 3)))


@pytest.mark.parametrize(
    "change",
    [
        {"objects": (LedgerObject("accepted/0", "v1", 1, ""), LedgerObject("accepted/3", "v1", 1, ""))},
        {"objects": ()},
        {"kind": BlockKind.QUARANTINED},
    ],
    ids=["another object", "no object", "quarantined"],
)
def test_slices_are_those_of_published_objects(change: dict[str, Any]) -> None:
    """A block that describes data which it does not publish has no canonical form."""
    block = sliced(0, "0" * 64, (0, 2), (2, 3))

    assert to_json(block)
    with pytest.raises(InputError, match="no `slices` but of its own published objects"):
        to_json(replace(block, **change))


def test_an_object_is_one_slice() -> None:
    """Two slices of one object would count its rows twice."""
    block = sliced(0, "0" * 64, (0, 2), (2, 3))
    assert block.slices is not None
    again = replace(block.slices[1], key=block.slices[0].key)

    with pytest.raises(InputError, match="one of each"):
        to_json(replace(block, slices=(block.slices[0], again)))


def test_a_stored_block_with_a_slice_of_another_object_is_a_fault() -> None:
    """Whoever may write the table, but not sign, cannot let a chain vouch for rows of an object that it does not list."""
    text = to_json(sliced(0, "0" * 64, (0, 2))).replace('"key":"accepted/0","logical"', '"key":"accepted/1","logical"')

    why = "a block has no `slices` but of its own published objects, one of each"
    assert verify_stored([text.encode()]) == (ChainFault(0, Wrong.SCHEMA, why),)
