"""The system time of slices: it never goes back along the offsets, and every reader projects by it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakegate.base.errors import InputError
from lakegate.engine.read.data_source import path_of
from lakegate.features.odf.exchange.odf_repositories import check_file
from lakegate.features.odf.format.logical_hash import digest_of, is_as_stated
from lakegate.features.odf.format.metadata_chain import DataSlice
from lakegate.features.odf.odf_publisher import offsets_of_slices, system_time
from lakegate.features.odf.read_slices import slices_in
from lakegate.features.odf.slices.slice_writer import odf_fields
from lakegate.gate.datasets.slice_projection import Projection, select, time_of
from lakegate.gate.ledger.blocks import Block, LedgerSlice, digest
from lakegate.gate.ledger.verification import ChainFault, Wrong
from lakegate.plan.slice_order import SliceOrder, WrittenSlice
from tests.deliveries.sliced import rows_of, slices
from tests.simulation.environment import LINE, PREFIX
from tests.simulation.sliced import PLAN as SIMULATED
from tests.simulation.sliced import judged, settled
from tests.unit.features.odf.exchange.shared_dataset import PLAN, a_line, bring
from tests.unit.gate.ledger.ledger_chain import verify
from tests.unit.gate.ledger.test_blocks_of_slices import sliced
from tests.unit.gate.ledger.test_watermarks import a_slice as written
from tests.unit.verdict.test_verdict import answer, plan

NOW = datetime(2026, 11, 27, 6, 0, 0, 123_999, UTC)
AT, LATER = "2026-11-27T06:00:00.123000Z", "2026-11-27T06:00:00.124000Z"


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("", AT),
        ("2026-11-27T05:59:59.000000Z", AT),
        (AT, LATER),
        ("2026-11-27T06:10:00.000000Z", "2026-11-27T06:10:00.001000Z"),
    ],
)
def test_a_slice_is_after_the_one_before_whatever_the_clock_says(before: str, expected: str) -> None:
    """In whole milliseconds, as the column has it."""
    assert system_time(NOW, before) == expected


def sliced_at(*days: str | None) -> list[Block]:
    """A chain of slices, each with a day of May as its system time."""
    found: list[Block] = []
    for height, day in enumerate(days):
        block = sliced(height, digest(found[-1]) if found else "0" * 64, (height, 1))
        assert block.slices
        time = day and f"2024-05-{day}T00:00:00.000000Z"
        found.append(replace(block, slices=tuple(replace(each, system_time=time) for each in block.slices)))
    return found


def stated(found: WrittenSlice, time: str) -> LedgerSlice:
    hashes = found.logical, found.physical
    return LedgerSlice("accepted/0", found.offset, found.rows, found.event_times, *hashes, system_time=time)


def test_a_delivery_that_was_overtaken_has_a_later_time() -> None:
    """Two are measured at one offset; each block states the time of its turn, and the item of the line the last one."""
    line = judged(b"good:1", b"good:22", plan=SIMULATED)
    settled(line)
    line.env.upload(f"{PREFIX}third.csv", b"good:3")
    settled(line)
    blocks = [each for each in line.env.dependencies.ledger.blocks(LINE) if isinstance(each, Block)]
    times = [each.system_time for block in blocks for each in block.slices or ()]

    assert len(times) == 3
    assert times == sorted(set(times), key=str)
    assert all(own <= block.system_time for own, block in zip(times, blocks, strict=True) if own is not None)
    assert line.env.dependencies.rows("turns").next_slice(LINE).system_time == times[-1]


@pytest.mark.parametrize(
    ("times", "faults"),
    [
        (["01", "02", "03"], []),
        ([None, "02", None, "03"], []),
        (["02", "02"], [(1, "02")]),
        (["02", "01", "02"], [(1, "02")]),
        (["02", None, "01"], [(2, "02")]),
    ],
)
def test_verify_finds_a_time_that_goes_back(times: list[str | None], faults: list[tuple[int, str]]) -> None:
    """The block whose slices are not after those below; blocks without a time are passed over."""
    found = [each for each in verify(sliced_at(*times)) if each.what is Wrong.SYSTEM_TIME]

    assert found == [
        ChainFault(height, Wrong.SYSTEM_TIME, f"not one time after 2024-05-{day}T00:00:00.000000Z")
        for height, day in faults
    ]


def test_rows_have_the_time_of_the_order(tmp_path: Path) -> None:
    """Also as the time of events without one of their own; a block with another time is not that of the file."""
    (found,) = slices(PLAN, tmp_path / "a", b"id,at\n1,\n", order=SliceOrder(0, "at", system_time=AT))
    row = rows_of((found,)).to_pylist()[0]

    assert row["system_time"] == row["event_time"] == NOW.replace(microsecond=123_000)
    assert is_as_stated(path_of(found.uri), stated(found, AT))
    assert not is_as_stated(path_of(found.uri), stated(found, LATER))


def test_a_result_has_a_system_time_with_its_slices_only() -> None:
    """The gate takes no other one."""
    with pytest.raises(InputError, match="without a system time"):
        offsets_of_slices(plan(policy=SIMULATED.policy), answer(slices=(written(),)))
    with pytest.raises(InputError, match="without slices"):
        offsets_of_slices(plan(policy=SIMULATED.policy), answer(system_time=AT))


def test_as_at_is_by_the_time_of_the_rows() -> None:
    """A delivery is known from the turn of its rows on, and one without slices from its publication on."""
    listed = [
        {
            "height": 0,
            "published_at": f"{AT[:11]}09:00:00Z",
            "objects": (),
            "slices": [a_slice(0, f"{AT[:11]}07:00:00Z")],
        },
        {
            "height": 1,
            "published_at": f"{AT[:11]}09:10:00Z",
            "objects": (),
            "slices": [a_slice(5, f"{AT[:11]}08:00:00Z")],
        },
        {"height": 2, "published_at": f"{AT[:11]}09:20:00Z", "objects": (), "slices": [a_slice(9, None)]},
    ]

    def keys(at: str) -> tuple[str, ...]:
        return select(listed, Projection(time_of(f"{AT[:11]}{at}Z"))).keys

    assert [keys(each) for each in ("06:59:59", "07:00:00", "08:00:00", "09:19:59", "09:20:00")] == [
        (),
        ("0",),
        ("0", "5"),
        ("0", "5"),
        ("0", "5", "9"),
    ]


def a_slice(offset: int, time: str | None) -> dict[str, object]:
    stated = {"system_time": time} if time else {}
    return {"key": str(offset), "offset": offset, "event_time": ["2020-01-01T00:00:00Z"], **stated}


def test_an_imported_dataset_lists_the_times_of_its_ledger(tmp_path: Path) -> None:
    """The projections of a folder are those of the stack."""
    lake = a_line(tmp_path / "lake")
    lake.export(tmp_path / "shared")
    bring(tmp_path / "shared", tmp_path / "own")
    found = slices_in(tmp_path / "own")

    assert found is not None
    assert [each["slices"][0]["system_time"] for each in found["deliveries"]] == lake.times


def test_a_file_is_compared_with_the_slice_below_and_the_ledger(tmp_path: Path) -> None:
    """Its times do not go back, neither against the slice below nor within, and are those that the ledger states."""
    (found,) = slices(
        PLAN,
        tmp_path / "a",
        b"id,at\n1,2026-11-20T10:00:00Z\n2,2026-11-20T10:00:00Z\n",
        order=SliceOrder(0, "at", system_time=AT),
    )
    path = path_of(found.uri)
    fields, data = odf_fields(pq.read_schema(path)), data_of(path, 2)
    own = NOW.replace(microsecond=123_000)

    assert check_file(path, data, fields, stated(found, AT), own) == own
    with pytest.raises(InputError, match="is before that of the slice below"):
        check_file(path, data, fields, None, own + timedelta(milliseconds=1))
    with pytest.raises(InputError, match="its system times are others than the ledger states"):
        check_file(path, data, fields, stated(found, LATER))

    rows = pq.read_table(path)
    times = pa.array([own, own - timedelta(milliseconds=1)], rows.schema.field("system_time").type)
    pq.write_table(rows.set_column(2, rows.schema.field("system_time"), times), path)
    with pytest.raises(InputError, match="the system times go back"):
        check_file(path, data_of(path, 2), fields, None)


def data_of(path: Path, rows: int) -> DataSlice:
    found = digest_of(path)
    return DataSlice(found.logical, found.physical, 0, rows - 1, found.size)


def test_dataset_verify_finds_times_that_go_back(tmp_path: Path) -> None:
    """A ledger whose slices go back is broken, whoever signed it: it is neither exported nor imported."""
    lake = a_line(tmp_path / "lake")
    lake.times.append(lake.times[0])
    lake.publish("id,at\n5,2026-11-21T10:00:00Z\n")
    with pytest.raises(InputError, match="chain of shop/visits_v1 is broken"):
        lake.export(tmp_path / "shared")

    with patch("lakegate.features.odf.exchange.odf_export.verify_signed", return_value=()):
        lake.export(tmp_path / "shared")
    with pytest.raises(InputError, match="the ledger in the attachments is broken: system-time at block 5"):
        bring(tmp_path / "shared", tmp_path / "own")
