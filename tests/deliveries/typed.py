"""Deliveries whose accepted rows an engine writes as typed files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from lakegate.engine.read.data_source import path_of
from lakegate.plan.plan import Plan
from lakegate.plan.request import Request
from lakegate.plan.result import Result, WrittenFile
from tests.deliveries.delivery import measure_natively, request_for


def typed_files(
    plan: Plan,
    folder: Path,
    *objects: bytes,
    engine: Callable[[Request, Plan], Result] = measure_natively,
) -> tuple[WrittenFile, ...]:
    """The typed files of an accepted delivery; each is as the result states it."""
    folder.mkdir(exist_ok=True)
    request = replace(request_for(plan, folder, *objects), typed_files=True)
    found = engine(request, plan).typed_files
    for number, each in enumerate(found):
        assert each.uri == f"{request.output_uri}/table/part-{number:05}.parquet"
        assert (each.size, each.rows) == (
            path_of(each.uri).stat().st_size,
            pq.read_metadata(path_of(each.uri)).num_rows,
        )
    return found


def rows_of(found: tuple[WrittenFile, ...]) -> pa.Table:
    """The rows of typed files, in the order of the delivery."""
    return pa.concat_tables([pq.read_table(path_of(each.uri)) for each in found])
