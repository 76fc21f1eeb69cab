"""Typed files of a table: accepted rows with the contract's columns alone, and rejected ones, written by the run that judges."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from lakegate.contract.delivery_policy import OnReject
from lakegate.engine.accepted_rows import AcceptedRows, RowsOfFile
from lakegate.engine.row_groups import write_file
from lakegate.engine.typed_columns import PlanColumns, TypedColumns
from lakegate.features.tables.rejected_files import RejectedColumns, RejectedRows, rejected_rows_of
from lakegate.plan.plan import Plan
from lakegate.plan.request import Request
from lakegate.plan.result import WrittenFile

if TYPE_CHECKING:
    import pyarrow as pa

    from lakegate.engine.attempt import Backend, Workspace

FOLDER: Final = "table"
"""In the folder of an attempt."""


def table_schema(plan: Plan) -> pa.Schema:
    """The columns of typed files, as the contract names and types them. They have no ids: a reader finds them by their names."""
    return PlanColumns(plan, of_tables=True).schema


@dataclass(frozen=True, slots=True)
class TypedFile:
    """Accepted or rejected rows that become one typed file."""

    uri: str
    rows: RowsOfFile | RejectedRows

    def write(self, workspace: Workspace, columns: Any) -> WrittenFile:  # noqa: ANN401 - those of its rows
        """Write it by way of a folder of this machine."""
        target = workspace.folder / "typed.parquet"
        count = write_file(self.rows.tables(columns, workspace.connection), columns.schema, target)
        size, etag = target.stat().st_size, workspace.keep(target, self.uri)
        target.unlink()
        return WrittenFile(self.uri, size, etag, count)


# ---- Extension point `row writers` ----


class TableWriter:
    """See `lakegate.engine.attempt.RowWriter`."""

    step: Final = FOLDER

    def memory(self, _request: Request) -> int:
        """Rows are written as they are read."""
        return 0

    def write(self, accepted: AcceptedRows, request: Request, backend: Backend) -> dict[str, Any]:
        """The typed files; of a delivery without rows none, and of rejected rows where the contract rejects single ones."""
        columns = TypedColumns(accepted.plan, accepted.source, of_tables=True)
        found = {"typed_files": _write(accepted.files(), "part", columns, request, backend)}
        if accepted.plan.policy.on_reject is OnReject.ROWS:
            rejected = RejectedColumns.of(accepted, request)
            found["rejected_files"] = _write(rejected_rows_of(accepted), "rejected", rejected, request, backend)
        return found


def _write(
    divided: Iterable[RowsOfFile | RejectedRows],
    name: str,
    columns: TypedColumns | RejectedColumns,
    request: Request,
    backend: Backend,
) -> tuple[WrittenFile, ...]:
    files = [
        TypedFile(f"{request.output_uri}/{FOLDER}/{name}-{number:05}.parquet", rows)
        for number, rows in enumerate(divided)
    ]
    return tuple(backend.in_tasks(partial(TypedFile.write, columns=columns), files))


WRITER: Final = TableWriter()
