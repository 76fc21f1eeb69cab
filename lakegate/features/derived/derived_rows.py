"""The rows of a derived dataset: its query over pinned accepted data, as files below the folder of the attempt."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from lakegate.admission.file_signatures import UnreadableError
from lakegate.engine.duckdb_queries import ABSENT_INPUT
from lakegate.engine.row_groups import write_file
from lakegate.engine.typed_columns import PlanColumns
from lakegate.plan.check import referred_in
from lakegate.plan.plan import Plan
from lakegate.plan.request import Request
from lakegate.plan.result import WrittenFile

if TYPE_CHECKING:
    from lakegate.engine.attempt import Backend, Workspace

FOLDER: Final = "rows/derived"
"""In the folder of an attempt, where copies are deleted when the delivery is committed."""


@dataclass(frozen=True, slots=True)
class RowsFile:
    """Writes rows of the query as one file, by way of a folder of this machine."""

    folder: str
    schema: pa.Schema

    def __call__(self, rows: Iterable[pa.RecordBatch], workspace: Workspace, number: int) -> WrittenFile:
        """The file of the task with this number."""
        target, uri = workspace.folder / "derived.parquet", f"{self.folder}/part-{number:05}.parquet"
        count = write_file(map(self._typed, rows), self.schema, target)
        size, etag = target.stat().st_size, workspace.keep(target, uri)
        target.unlink()
        return WrittenFile(uri, size, etag, count)

    def _typed(self, batch: pa.RecordBatch) -> pa.Table:
        return pa.Table.from_batches([batch]).rename_columns(self.schema.names).cast(self.schema)


class DerivedRows:
    """See `lakegate.engine.attempt.RowSource`."""

    def write(self, plan: Plan, request: Request, backend: Backend) -> tuple[WrittenFile, ...]:
        """Run the query. An input of which everything was taken back has no rows; one that never had any is an error."""
        assert plan.derived is not None
        heights = {each.dataset: each.height for each in request.references}
        if any(heights.get(each, -1) < 0 for each in referred_in(plan.derived)):
            raise UnreadableError(*ABSENT_INPUT)
        write = RowsFile(f"{request.output_uri}/{FOLDER}", PlanColumns(plan).schema)
        found = backend.write_rows(plan.derived, write)
        return tuple(found or [backend.in_driver(lambda workspace: write((), workspace, 0))])


ROWS: Final = DerivedRows()
