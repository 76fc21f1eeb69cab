"""A line that merges rows, from upload to rows that are read; and `lakegate dataset rebuild-state`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lakegate.engine.native_backend import measure
from lakegate.features.odf.slice_turns import turn_key
from lakegate.gate.delivery.advance import advance
from lakegate.gate.delivery.delivery_row import FailureCause, Waiting, WaitsFor, Workload
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.effects import run
from lakegate.gate.lake_layout import attempt_prefix
from lakegate.gate.ledger.blocks import Record, deliveries
from lakegate.gate.ports import Address
from lakegate.gate.table import Update
from lakegate.job.job_storage import ANYWHERE
from lakegate.plan.plan import Plan
from lakegate.plan.request import Request
from tests.unit.cli.conftest import Lakegate
from tests.unit.cli.deployed_stack import LAKE

LINE = "shop/orders_v1"
LEDGER = {
    "required: true}": "required: true, primaryKey: true}",
    "schema:\n": "customProperties: [{property: lakegate, value: {publishAs: parquet, mergeStrategy: ledger, "
    "vanishedRows: warn}}]\nschema:\n",
}


def delivered(lakegate: Lakegate, body: bytes, name: str) -> Workload:
    """A delivery that the real engine has judged, to its end."""
    workload = lakegate.upload(body=body, name=name)
    lakegate.intake(f"orders/{name}")
    return advanced(lakegate, answered(lakegate, workload))


def answered(lakegate: Lakegate, workload: str) -> Workload:
    """The delivery, whose present attempt the real engine has judged."""
    dependencies = lakegate.dependencies
    row = dependencies.workloads.get(workload)
    assert row.pin is not None
    prefix = attempt_prefix(row.id, row.attempt)
    request = Request.from_bytes(dependencies.objects.read(Address(LAKE, f"{prefix}/request.json")))
    plan = Plan.from_json(json.loads(dependencies.plan(row)))

    def keep(file: Path, uri: str) -> str:
        return dependencies.objects.put(Address(LAKE, uri.removeprefix(f"s3://{LAKE}/")), file.read_bytes()).etag

    result = measure(request, plan, ANYWHERE, lakegate.folder, keep=keep)
    dependencies.objects.put(Address(LAKE, f"{prefix}/result.json"), result.to_bytes())
    return row


def advanced(lakegate: Lakegate, row: Workload) -> Workload:
    return run(advance(DeliveryTurn(lakegate.dependencies, row)), lakegate.dependencies.clock)


@pytest.fixture
def line(lakegate: Lakegate) -> Lakegate:
    lakegate.begin(_of_two_deliveries)
    return lakegate


def _of_two_deliveries(lakegate: Lakegate) -> None:
    lakegate.routed(**LEDGER)
    for number, body in enumerate((b"id,amount\na,1\nb,2\n", b"id,amount\nb,2\na,9\nc,3\n")):
        assert delivered(lakegate, body, f"{number}.csv").state is State.PUBLISHED


def records(lakegate: Lakegate) -> list[tuple[int, str, int]]:
    found = lakegate.json("dataset", "read", LINE)["records"]
    return [(each["offset"], each["id"], each["amount"]) for each in found]


def rebuilt(lakegate: Lakegate) -> dict[str, Any]:
    found: dict[str, Any] = lakegate.json("dataset", "rebuild-state", LINE)
    return found


def test_a_ledger_is_read_and_verified(line: Lakegate) -> None:
    """Each key once, with its first values; the slices are built again, and every object is as recorded."""
    assert records(line) == [(0, "a", 1), (1, "b", 2), (2, "c", 3)]
    for option in ("--replay", "--objects"):
        assert line.json("verify", LINE, option)["intact"] is True
    rows = map(line.dependencies.workloads.get, (each["workload"] for each in line.json("log", LINE)["blocks"]))
    reasons = {reason for row in rows for reason in (row.decision.reasons if row.decision else ())}
    assert reasons == {"merge/changed: 1 row has a key (id) that is known with other values: they are not published"}


def test_a_state_that_is_rebuilt_has_an_equal_digest(line: Lakegate) -> None:
    """It is a function of the slices; nothing is written where it is the same."""
    before = line.dependencies.rows("turns").next_slice(LINE)
    found = rebuilt(line)

    assert found == {"line": LINE, "keys": 3, "digest": found["digest"], "stored": found["digest"], "replaced": False}
    assert line.dependencies.rows("turns").next_slice(LINE) == before
    assert "3 keys in its slices: the state is the same." in line.ok("dataset", "rebuild-state", LINE)


@pytest.mark.parametrize("damage", ["lost", "altered"])
def test_a_damaged_state_is_replaced(line: Lakegate, damage: str) -> None:
    """By one with the digest of before; deliveries go on with it, and `verify` knows its file."""
    wanted = rebuilt(line)["digest"]
    for each in line.dependencies.rows("turns").next_slice(LINE).runs:
        place = Address(LAKE, each.uri)
        line.dependencies.objects.delete(place)
        if damage == "altered":
            line.dependencies.objects.put(place, bytes(48 * each.rows))
    assert "the state was another one, and is replaced" in line.ok("dataset", "rebuild-state", LINE)

    found = rebuilt(line)
    assert (found["digest"], found["stored"], found["replaced"]) == (wanted, wanted, False)
    delivered(line, b"id,amount\nd,4\na,1\n", "3.csv")
    assert records(line) == [(0, "a", 1), (1, "b", 2), (2, "c", 3), (3, "d", 4)]
    damaged = json.loads(line("verify", LINE, "--objects", "--json").stdout)["objects"]["damaged"]
    assert [each["damage"] for each in damaged] == ["hidden" if damage == "lost" else "replaced"] * 2


def test_a_state_is_rebuilt_from_a_restored_slice(line: Lakegate) -> None:
    """The restored version is read: the lost one is that of the block."""
    wanted = rebuilt(line)
    objects = line.dependencies.objects
    blocks = line.dependencies.ledger.blocks(LINE)
    for block in deliveries(blocks):
        for each in block.slices or ():
            (version,) = [one.version for one in block.objects if one.key == each.key]
            body = objects.read(Address(LAKE, each.key, version))
            objects.delete(Address(LAKE, each.key, version))
            line.ok("restore", f"s3://{LAKE}/{each.key}", line.file(body, "slice.parquet"))

    assert len(line.dependencies.ledger.blocks(LINE)) == len(blocks) + 2
    assert rebuilt(line) == wanted
    for each in line.dependencies.rows("turns").next_slice(LINE).runs:
        objects.delete(Address(LAKE, each.uri))
    assert rebuilt(line) == {**wanted, "stored": "", "replaced": True}


def test_a_delivery_under_way_does_not_undo_a_rebuilt_state(line: Lakegate) -> None:
    """It was judged by the damaged state: it is judged again by the new one, which stays."""
    workload = line.upload(body=b"id,amount\nd,4\na,1\n", name="3.csv")
    line.intake("orders/3.csv")
    row = answered(line, workload)
    (damaged, *_) = line.dependencies.rows("turns").next_slice(LINE).runs
    line.dependencies.objects.put(Address(LAKE, damaged.uri), bytes(48 * damaged.rows))
    assert rebuilt(line)["replaced"] is True
    state = line.dependencies.rows("turns").next_slice(LINE).runs

    again = advanced(line, row)
    assert [(each.number, each.cause) for each in again.failed] == [(1, FailureCause.OVERTAKEN)]
    assert advanced(line, answered(line, workload)).state is State.PUBLISHED
    assert records(line) == [(0, "a", 1), (1, "b", 2), (2, "c", 3), (3, "d", 4)]
    assert line.dependencies.rows("turns").next_slice(LINE).runs[:1] == state
    assert rebuilt(line)["replaced"] is False


def test_a_delivery_waits_for_one_that_is_committed(line: Lakegate) -> None:
    """The rows of the other are not in the merge state yet, so that nothing can be compared with them: its id is said."""
    other = "4f2c" * 16
    line.dependencies.table.write(Update(turn_key(LINE), sets={"writer": other}))
    workload = line.upload(body=b"id,amount\nd,4\n", name="3.csv")
    line.intake("orders/3.csv")
    wanted = Waiting(WaitsFor.COMMIT, other, None)

    assert line.dependencies.workloads.get(workload).state is State.STAGED
    assert line.dependencies.waits[workload] == wanted
    assert line.json("status", workload)["waits"] == {"subject": "commit", "whom": other, "until": None}
    advice = f"lakegate cancel {workload[:12]} --reason REASON rejects this one"
    assert f"waits  for the delivery 4f2c4f2c4f2c, which is being committed: {advice}" in line.ok("status", workload)


def test_nothing_is_replaced_while_a_delivery_is_committed(line: Lakegate) -> None:
    """The file of its state is on its way."""
    line.dependencies.table.write(Update(turn_key(LINE), sets={"writer": "another delivery"}))

    assert "is decided and not committed yet" in str(line("dataset", "rebuild-state", LINE).exception)


@pytest.mark.parametrize("contract", [{}, LEDGER])
def test_a_line_of_which_nothing_was_merged_has_no_state(lakegate: Lakegate, contract: dict[str, str]) -> None:
    """The command says so, and does not claim that the contract is another one."""
    lakegate.routed(**contract)
    text = str(lakegate("dataset", "rebuild-state", LINE).exception)

    assert text == (
        "shop/orders_v1 has no merge state: no delivery of it was merged. With a `mergeStrategy` in its contract, the first one "
        "that publishes slices has one"
    )


def test_a_person_sets_the_watermark(line: Lakegate) -> None:
    """The command prints the one before; `verify` reads the record."""
    words = ("dataset", "watermark", LINE, "2026-01-02")
    wanted = "2026-01-02T00:00:00.000000Z"

    assert line.json(*words) == {"line": LINE, "watermark": wanted, "before": None}
    assert f"{LINE}: the watermark is {wanted} (before: {wanted})." in line.ok(*words)
    (*_, record) = line.dependencies.ledger.blocks(LINE)
    assert isinstance(record, Record)
    assert record.content == {"before": "", "watermark": wanted}
    assert line.json("verify", LINE)["intact"] is True
