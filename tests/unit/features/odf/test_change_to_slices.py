"""A line whose contract changes from files as they arrived to slices, and back: ledger, manifest, offsets and dataset."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lakegate.contract.delivery_policy import PublishAs
from lakegate.features.odf.exchange.odf_export import ledger_in, odf_blocks
from lakegate.features.odf.format.metadata_chain import AddData, SetAttachments, block_in
from lakegate.features.odf.slice_turns import NextSlice
from lakegate.gate.datasets.readers_manifest import read_manifest, whole
from lakegate.gate.datasets.slice_projection import Projection, select
from lakegate.gate.delivery.protocol import State
from lakegate.gate.lake_layout import manifest_key
from lakegate.gate.ledger.blocks import Block
from lakegate.gate.ports import Address
from lakegate.plan.plan import Plan
from tests.published_schemas import validate
from tests.reference.sampling import sampled
from tests.simulation.environment import LAKE, LINE, PREFIX, Environment
from tests.simulation.sliced import PLAN, SIMPLE, SlicedDataset, settled, with_watermark
from tests.unit.features.odf.format.blocks import field
from tests.unit.gate.ledger.ledger_chain import verify_stored

PLANS = {"original": SIMPLE, "slices": PLAN, "watermark": with_watermark()}


class Changing(SlicedDataset):
    """A line whose deliveries are judged by versions of its contract."""

    def deliver(self, plan: Plan, body: bytes) -> None:
        """A file under the version of the contract with this plan."""
        self.env.publish("1.1.0", "active", plan)
        self.env.upload(f"{PREFIX}{len(self.env.uploads)}.csv", body)
        settled(self)


def played(steps: list[tuple[str, bool]]) -> Changing:
    """Deliveries one after another: under which plan each is, and whether it is a good one."""
    line = Changing(Environment())
    for number, (name, is_good) in enumerate(steps):
        line.deliver(PLANS[name], f"{'good' if is_good else 'bad'}:{number:0{number + 1}}".encode())
    return line


STEPS = st.lists(
    st.tuples(st.sampled_from(sorted(PLANS)), st.sampled_from([True, True, False])), min_size=1, max_size=7
)


def is_sliced(name: str) -> bool:
    return PLANS[name].policy.publish_as is PublishAs.PARQUET


@sampled(25, 500)
@given(STEPS)
def test_offsets_go_on_where_the_slices_before_end(steps: list[tuple[str, bool]]) -> None:
    """However often a line changes: only slices have offsets, and no fault is in its chain."""
    line = played(steps)
    blocks = [each for each in line.env.dependencies.ledger.blocks(LINE) if isinstance(each, Block)]
    offset, expected = 0, []
    for (name, is_good), upload in zip(steps, line.env.uploads, strict=True):
        rows = len(upload.body)
        has_slice = is_good and is_sliced(name)
        expected.append([(offset, rows)] if has_slice else None)
        offset += rows * has_slice

    assert [each.slices and [(one.offset, one.rows) for one in each.slices] for each in blocks] == expected
    assert [each.state for each in line.rows()] == [
        State.PUBLISHED if is_good else State.QUARANTINED for _, is_good in steps
    ]
    assert line.env.dependencies.rows("turns").next_slice(LINE).offset == offset
    assert verify_stored(line.env.memory.ledger.texts(LINE)) == ()


@sampled(15, 300)
@given(STEPS)
def test_readers_find_each_delivery_in_its_own_form(steps: list[tuple[str, bool]]) -> None:
    """The manifest has slices of Parquet and files of CSV side by side; `dataset read` counts those without slices."""
    line = played(steps)
    if not any(is_good for _, is_good in steps):
        return
    head = read_manifest(line.env.dependencies, manifest_key(LINE), LINE)
    manifest = whole(line.env.dependencies, head, -1)
    validate("manifest", json.loads(line.env.memory.objects.read(Address(LAKE, manifest_key(LINE)))))
    accepted = [(name, upload) for (name, is_good), upload in zip(steps, line.env.uploads, strict=True) if is_good]
    found = select(manifest["deliveries"], Projection())

    assert [(each["format"], "slices" in each) for each in manifest["deliveries"]] == [
        ("parquet", True) if is_sliced(name) else ("csv", False) for name, _ in accepted
    ]
    assert found.unsliced == sum(not is_sliced(name) for name, _ in accepted)
    read = line.env.memory.objects.read
    published = [read(Address(LAKE, each["key"])) for one in manifest["deliveries"] for each in one["objects"]]
    assert [
        each.partition(b":")[2] if is_sliced(name) else each
        for (name, _), each in zip(accepted, published, strict=True)
    ] == [upload.body for _, upload in accepted]
    assert len(found.keys) == sum(is_sliced(name) for name, _ in accepted)


@sampled(15, 300)
@given(STEPS)
def test_the_dataset_has_the_slices_and_every_verdict(steps: list[tuple[str, bool]]) -> None:
    """What was published as it arrived is in the ledger of the dataset, and adds no data."""
    line = played(steps)
    dependencies, ledger = line.env.dependencies, line.env.memory.ledger

    def columns(_: Block) -> tuple[dict[str, Any], ...]:
        return (field("offset", "UInt64"),)

    written = odf_blocks(ledger.signed(LINE), columns, lambda each: dependencies.plan_at(each.plan, each.workload))
    events = [block_in(each.body).event for each in written]
    added = [each.data for each in events if isinstance(each, AddData) and each.data is not None]
    attached = ledger_in(each for each in events if isinstance(each, SetAttachments))

    assert [each.text for each in attached] == list(ledger.texts(LINE))
    assert len(added) == sum(is_good and is_sliced(name) for name, is_good in steps)
    assert [each.start for each in added[1:]] == [each.end + 1 for each in added[:-1]]


def test_a_watermark_stays_while_files_are_published_as_they_arrived() -> None:
    """Slices after them are judged by it, under whatever version."""
    line = Changing(Environment())
    for name, body in (("watermark", b"good:1@20"), ("original", b"good:22@07"), ("slices", b"good:333@21")):
        line.deliver(PLANS[name], body)
    mark = "2024-05-19T00:00:00.000000Z"
    blocks = [each for each in line.env.dependencies.ledger.blocks(LINE) if isinstance(each, Block)]

    assert [each.watermark for each in blocks] == [mark, None, mark]
    assert line.env.dependencies.rows("turns").next_slice(LINE) == NextSlice(
        20, mark, system_time=str((blocks[2].slices or ())[-1].system_time)
    )
    assert replace(blocks[1], slices=None) == blocks[1]
