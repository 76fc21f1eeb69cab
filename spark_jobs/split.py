"""Splits a delivery with `onReject: rows` into accepted records, which are published, and rejected ones with their reasons.

1. The evaluation has noted which records break which check; a record that was not evaluated is malformed.
2. Tasks read their shares once more and add the reasons to each record; `lakegate.spark_jobs.shares` writes the unchanged
   records.
3. Together the two parts contain every record once.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakegate.contracts.errors import InputError
from lakegate.contracts.judge.file_outcomes import RECORDS
from lakegate.contracts.model.storage import Format
from lakegate.engine.read.chunk import LINE, ROW
from lakegate.engine.type.arrow import canonical
from lakegate.spark_jobs.shares import Judged, write_shares

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import SparkSession

    from lakegate.contracts.plan.plan import Plan
    from lakegate.contracts.plan.result import Shares
    from lakegate.engine.read.chunk import Source
    from lakegate.engine.split.rejected import Rejected
    from lakegate.engine.type.physical import Physical

SEPARATOR = "; "
ORC_GAP = -141437, -141428
"""Days (since 1970) from 1582-10-05 to 1582-10-14: Spark writes each of them to ORC as 1582-10-15."""


def split(spark: SparkSession, plan: Plan, source: Source, rejected: Rejected, output_uri: str) -> Shares:
    """Write both shares below `<output_uri>/rows/` and list what was written."""
    kinds, checks, is_orc = list(source.kinds.values()), rejected.checks, plan.storage.format is Format.ORC
    encoding = plan.csv.encoding if plan.storage.format is Format.CSV else "utf-8"

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number, payload in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                lines, masks = pickle.loads(payload)  # noqa: S301 - the driver wrote it
                for found in source.originals(source.shares[number]):
                    if is_orc:
                        _refuse_lost_dates(found.columns)
                    yield from _with_reasons(_decoded(found, encoding), lines, masks, checks, kinds)

    columns = [f"x{at} {kind.sql}" for at, kind in enumerate(kinds)] or [f"{LINE} STRING"]
    schema = ", ".join(["malformed BOOLEAN", "reasons STRING", *columns])
    rows = [(partial.number, bytearray(pickle.dumps(rejected.reasons(partial)))) for partial in rejected.partials]
    tasks = max(1, min(len(rows), spark.sparkContext.defaultParallelism))
    numbered = spark.createDataFrame(spark.sparkContext.parallelize(rows, tasks), "number INT, payload BINARY")
    judged = Judged(numbered.mapInArrow(read, schema), source.kinds, source.header)
    return write_shares(plan, judged, f"{output_uri}/rows")


def _refuse_lost_dates(columns: Iterable[pa.Array | pa.ChunkedArray]) -> None:
    """InputError if Spark would write a different date: no result is better than changed data."""
    for each in columns:
        chunks = each.chunks if isinstance(each, pa.ChunkedArray) else [each]
        if pa.types.is_nested(each.type):
            for chunk in chunks:
                _refuse_lost_dates(chunk.flatten() if pa.types.is_struct(each.type) else [chunk.values])
        elif pa.types.is_date32(each.type):
            days = each.cast(pa.int32())
            if pc.any(pc.and_(pc.greater_equal(days, ORC_GAP[0]), pc.less_equal(days, ORC_GAP[1]))).as_py():
                raise InputError(
                    "a date from 1582-10-05 to 1582-10-14 cannot be written to ORC: use Parquet, or onReject: file"
                )


def _with_reasons(
    found: pa.Table, lines: np.ndarray, masks: np.ndarray, checks: tuple[str, ...], kinds: list[Physical]
) -> Iterator[pa.RecordBatch]:
    rows = found.column(ROW).to_numpy()
    at = np.minimum(np.searchsorted(lines, rows), max(0, len(lines) - 1))
    is_judged = lines[at] == rows if len(lines) else np.zeros(len(rows), np.bool_)
    broken = [
        int(mask) if judged else -1 for mask, judged in zip(masks[at] if len(lines) else rows, is_judged, strict=True)
    ]
    words = {mask: _words(mask, checks) for mask in set(broken)}
    columns = [
        pa.array(~is_judged),
        pa.array([words[mask] for mask in broken], pa.string()),
        *(
            [canonical(found.column(f"x{n}").combine_chunks(), kind) for n, kind in enumerate(kinds)]
            or [found.column(LINE)]
        ),
    ]
    names = ["malformed", "reasons", *([f"x{n}" for n in range(len(kinds))] or [LINE])]
    yield from pa.table(columns, names=names).to_batches()


def _decoded(found: pa.Table, encoding: str) -> pa.Table:
    """The lines as text: shares are written in UTF-8."""
    if LINE not in found.column_names:
        return found
    lines = [line.decode(encoding, errors="replace") for line in found.column(LINE).to_pylist()]
    return pa.table({ROW: found.column(ROW), LINE: pa.array(lines, pa.string())})


def _words(mask: int, checks: tuple[str, ...]) -> str:
    """The broken checks of a record; of one that was not evaluated, that it is malformed."""
    return RECORDS if mask < 0 else SEPARATOR.join(check for at, check in enumerate(checks) if mask >> at & 1)
