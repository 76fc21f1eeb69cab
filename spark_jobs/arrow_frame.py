"""Parquet and ORC as frames: row groups and stripes are read in workers, one after the other, as columns of our kinds.

Spark's own readers refuse some types, take a moment of ORC for one of the machine's zone, and days before 1582 for others
(decision 88).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from contracts.kinds import UnreadableError
from engine.read.arrow_tables import batches, described
from spark_jobs.store import store_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from contracts.model import Format
    from engine.read.schema import Table
    from engine.type.physical import Physical

BATCH = 4096
"""Rows that are handed to Spark at a time, at most."""


@dataclass(frozen=True, slots=True)
class ArrowTables:
    """Files of one of the two formats."""

    format: Format

    def describe(self, address: str) -> Table:
        """See `TableFormat`."""
        return described(self.format, store_for(address), address)

    def frame(self, spark: SparkSession, address: str, table: Table, names: list[str]) -> DataFrame:
        """See `TableFormat`."""
        kinds, form, groups = dict(table.schema.parts), self.format, table.bounds[-1]

        def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for group in batch.column(0).to_pylist():
                    yield from columns_of(form, address, group, [(name, kinds[name]) for name in names])

        sql = ", ".join(["broken STRING", *(f"x{at} {kinds[name].sql}" for at, name in enumerate(names))])
        return spark.range(0, groups, 1, max(1, groups)).mapInArrow(read, sql)


def columns_of(form: Format, address: str, group: int, wanted: list[tuple[str, Physical]]) -> Iterator[pa.RecordBatch]:
    """The columns of one row group or stripe, in a worker; `broken` says why there are no more."""
    try:
        for batch in batches(form, store_for(address), address, group, [name for name, _ in wanted]):
            for start in range(0, batch.num_rows, BATCH):
                yield _handed_over(batch.slice(start, BATCH), wanted)
    except UnreadableError as error:
        yield _broken(wanted, error.finding.code)


def _handed_over(batch: Any, wanted: list[tuple[str, Physical]]) -> pa.RecordBatch:  # noqa: ANN401 - a batch or a table
    import pyarrow as pa  # noqa: PLC0415 - a worker's import

    from engine.type.arrow import canonical  # noqa: PLC0415 - likewise

    columns = [batch.column(batch.schema.get_field_index(name)) for name, _ in wanted]
    arrays = [canonical(column, kind) for column, (_, kind) in zip(columns, wanted, strict=True)]
    names = ["broken", *(f"x{at}" for at in range(len(arrays)))]
    return pa.RecordBatch.from_arrays([pa.nulls(batch.num_rows, pa.string()), *arrays], names=names)


def _broken(wanted: list[tuple[str, Physical]], code: str) -> pa.RecordBatch:
    """One row that says that the rest of the file cannot be read."""
    import pyarrow as pa  # noqa: PLC0415 - a worker's import

    from engine.type.arrow import type_of  # noqa: PLC0415 - likewise

    arrays = [pa.nulls(1, type_of(kind)) for _, kind in wanted]
    names = ["broken", *(f"x{at}" for at in range(len(arrays)))]
    return pa.RecordBatch.from_arrays([pa.array([code], pa.string()), *arrays], names=names)
