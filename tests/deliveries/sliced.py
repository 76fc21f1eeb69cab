"""Deliveries whose accepted rows an engine writes as slices."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from lakegate.engine.read.data_source import path_of
from lakegate.features.odf.format.logical_hash import digest_of, slice_in
from lakegate.plan.plan import Plan
from lakegate.plan.request import Request
from lakegate.plan.result import Result
from lakegate.plan.slice_order import SliceOrder, WrittenSlice
from tests.deliveries.delivery import measure_natively, request_for
from tests.reference.evaluator import JUDGED_AT

NOW = dt.datetime.fromisoformat(JUDGED_AT)
COMMON = ["offset", "op", "system_time", "event_time"]


def slices(
    plan: Plan,
    folder: Path,
    *objects: bytes,
    order: SliceOrder = SliceOrder(7),  # noqa: B008 - it is frozen
    engine: Callable[[Request, Plan], Result] = measure_natively,
) -> tuple[WrittenSlice, ...]:
    """The slices of an accepted delivery; each is checked against its file."""
    folder.mkdir(exist_ok=True)
    request = replace(request_for(plan, folder, *objects), slices=order)
    found = engine(request, plan).slices
    following = order.offset
    for each in found:
        path = path_of(each.uri)
        digest, statistics = digest_of(path), slice_in(path)
        assert (each.rows, each.size, each.logical, each.physical) == (
            digest.rows,
            digest.size,
            digest.logical,
            digest.physical,
        )
        assert (each.offset, each.offset + each.rows - 1) == (following, statistics.last_offset)
        assert tuple(map(dt.datetime.fromisoformat, each.event_times)) == statistics.event_times
        following += each.rows
    return found


def rows_of(found: tuple[WrittenSlice, ...]) -> pa.Table:
    """The rows of slices, in the order of their offsets."""
    return pa.concat_tables([pq.read_table(path_of(each.uri)) for each in found])


def common(count: int, offset: int = 7) -> dict[str, list[object]]:
    """The common columns of rows that were judged now, without times of their own."""
    return {
        "offset": list(range(offset, offset + count)),
        "op": [0] * count,
        "system_time": [NOW] * count,
        "event_time": [NOW] * count,
    }
