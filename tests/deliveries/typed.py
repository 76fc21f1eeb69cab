"""Deliveries whose accepted rows an engine writes as typed files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lakegate.contract.delivery_policy import OnReject
from lakegate.engine.read.data_source import path_of
from lakegate.lints.linter import read
from lakegate.plan.plan import Plan
from lakegate.plan.request import Request
from lakegate.plan.result import Result, WrittenFile
from tests.deliveries.delivery import measure_natively, request_for
from tests.reference.cases import only_plan


def typed_files(
    plan: Plan,
    folder: Path,
    *objects: bytes,
    engine: Callable[[Request, Plan], Result] = measure_natively,
) -> tuple[WrittenFile, ...]:
    """The typed files of an accepted delivery; each is as the result states it."""
    return both_files(plan, folder, *objects, engine=engine)[0]


def both_files(
    plan: Plan,
    folder: Path,
    *objects: bytes,
    engine: Callable[[Request, Plan], Result] = measure_natively,
) -> tuple[tuple[WrittenFile, ...], tuple[WrittenFile, ...]]:
    """The typed files of its accepted, and of its rejected rows."""
    folder.mkdir(exist_ok=True)
    request = replace(request_for(plan, folder, *objects), typed_files=True)
    result = engine(request, plan)
    named = {"part": result.typed_files, "rejected": result.rejected_files}
    for name, number, each in ((name, *one) for name, files in named.items() for one in enumerate(files)):
        assert each.uri == f"{request.output_uri}/table/{name}-{number:05}.parquet"
        assert (each.size, each.rows) == (
            path_of(each.uri).stat().st_size,
            pq.read_metadata(path_of(each.uri)).num_rows,
        )
    if plan.policy.on_reject is OnReject.ROWS and result.typed_files:
        assert sum(each.rows for each in result.rejected_files) == result.rejected_rows
    return result.typed_files, result.rejected_files


def rows_of(found: tuple[WrittenFile, ...]) -> pa.Table:
    """The rows of typed files, in the order of the delivery."""
    return pa.concat_tables([pq.read_table(path_of(each.uri)) for each in found])


def bytes_of(found: tuple[WrittenFile, ...]) -> list[bytes]:
    """The bytes of typed files."""
    return [path_of(each.uri).read_bytes() for each in found]


def plan_in(contract: bytes) -> Plan:
    """The plan of the one dataset of a contract."""
    return only_plan(read(contract))


def stored_values(table: pa.Table) -> list[list[Any]]:
    """The values of each row as the file has them: days and microseconds as numbers, records as dictionaries, maps as pairs."""
    columns = [numbered(column.combine_chunks()).to_pylist() for column in table.columns]
    return [list(row) for row in zip(*columns, strict=True)]


def numbered(array: pa.Array) -> pa.Array:
    """The same with days, times and moments as the numbers that they are stored as: Python's own begin with the year 1."""
    kind = array.type
    if pa.types.is_temporal(kind):
        return array.cast(pa.int32() if pa.types.is_date(kind) else pa.int64())
    if pa.types.is_struct(kind):
        return pa.StructArray.from_arrays(
            [numbered(each) for each in array.flatten()], [field.name for field in kind], mask=array.is_null()
        )
    if pa.types.is_map(kind):
        whole = pa.concat_arrays([array.slice(0, 0), array])
        return pa.MapArray.from_arrays(whole.offsets, numbered(whole.keys), numbered(whole.items), mask=whole.is_null())
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):  # the second where pyiceberg has written the schema
        whole = pa.concat_arrays([array.slice(0, 0), array])
        return type(whole).from_arrays(whole.offsets, numbered(whole.values), mask=whole.is_null())
    return array
