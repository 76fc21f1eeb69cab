"""The public API of a stack: what `lakegate upload`, `reasons`, `get` and `contracts` do, as functions with typed results."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from os import PathLike, fspath
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final
from warnings import warn

from lakegate.aws.clients import client
from lakegate.aws.open_stack import DEFAULT_STACK, DeployedStack, open_deployed
from lakegate.base.errors import InputError
from lakegate.base.json_codec import encode
from lakegate.base.text import plural, printable
from lakegate.gate.datasets.accepted_deliveries import changed_since
from lakegate.gate.datasets.readers_manifest import not_current_in
from lakegate.gate.datasets.slice_projection import NOTHING
from lakegate.gate.delivery.delivery_row import workload_id
from lakegate.gate.delivery.find_deliveries import find_delivery
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.registry.routes import candidates, covering
from lakegate.library.awaited_deliveries import LONGEST_WAIT, Waited
from lakegate.library.awaited_deliveries import wait as wait_for
from lakegate.library.delivery_reasons import DeliveryReasons, reasons_of
from lakegate.library.described_deliveries import LATEST, DeliveryStatus, delivery_status
from lakegate.library.notebook_tables import report_in_html, table_in_html
from lakegate.library.published_contracts import DescribedVersion, DescribedVersions, versions_with
from lakegate.library.written_tables import is_table, write_table
from lakegate.plan.plan import Plan
from lakegate.transfer.download_files import head_of
from lakegate.transfer.upload_files import To, destination, refuse_ignored, send
from lakegate.transfer.upload_files import read as read_file
from lakegate.verdict.check_status import CheckOutcome
from lakegate.verdict.verdict import Verdict

if TYPE_CHECKING:
    import pyarrow as pa

SHOWN_ROWS: Final = 20
"""Rows of a dataset in a notebook."""
WIDTH: Final = 100
"""Characters of a line of `print(result)`."""


# ---- Deliver, wait, and reasons ----


@dataclass(frozen=True, slots=True, repr=False)
class DeliveryResult:
    """A delivery as it is now. `print` shows its reasons; a notebook shows causes and failures, and folds what passed."""

    workload: str
    """Its id, for every other function and command."""
    key: str
    """The landing key."""
    verdict: Verdict | None
    """None while there is none."""
    state: str
    """Its state in words."""
    reasons: tuple[str, ...]
    """Why it was rejected, or accepted with warnings, in words."""
    checks: tuple[CheckOutcome, ...]
    """Every check, in the order of the contract; none before it was measured."""
    rows: int | None
    places: tuple[str, ...]
    """The addresses of its data now."""
    _found: DeliveryReasons

    def to_json(self) -> dict[str, object]:
        """The document that `lakegate reasons --json` prints."""
        document: dict[str, object] = encode(self._found)
        return document

    def __repr__(self) -> str:
        return f"<DeliveryResult {printable(self.key)} {self._verdict}>"

    def __str__(self) -> str:
        from rich.console import Console  # noqa: PLC0415 - only a result that is printed needs it

        from lakegate.report.verdict_text import show  # noqa: PLC0415 - likewise

        text = StringIO()
        if self._found.measured is not None:
            show(Console(file=text, highlight=False, no_color=True, width=WIDTH), self._found.measured, show_all=False)
        else:
            text.write("\n".join([self._verdict, *map(printable, self.reasons)]))
        return f"{printable(self.key)} (workload {self.workload})\n{text.getvalue()}".rstrip("\n")

    def _repr_html_(self) -> str:
        title = f"{self.key}: {self._verdict}"
        if self._found.measured is not None:
            return report_in_html(self._found.measured, title)
        return table_in_html(title, ("reason",), [(reason,) for reason in self.reasons])

    @property
    def _verdict(self) -> str:
        return self.verdict.value if self.verdict else f"no verdict: {self.state}"


def deliver(  # noqa: PLR0913 - the options of `lakegate upload`
    data: Any,  # noqa: ANN401 - a path, or a table of a library that is not required
    to: str,
    *,
    wait: bool = True,
    timeout: float = LONGEST_WAIT,
    stack: str = DEFAULT_STACK,
    local: bool = False,
) -> DeliveryResult:
    """Deliver one file or one table into the landing bucket, and wait for its verdict.

    `data`: a path; or a table, as in `check`, which is written in the format of the contract that its route leads to.
    `to`: a folder of the landing bucket, `orders/`, or a whole key, `orders/day.csv`. A table has no name, so it needs a key.
    `wait`: up to the end, `timeout` seconds at most; else the result is the delivery as it landed. A delivery that is rejected is
    a result, not an error.

    InputError where the file or the key cannot be used, PortError where AWS refuses.
    """
    with _open(stack, local=local) as (there, dependencies), TemporaryDirectory(prefix="lakegate-") as folder:
        landing = dependencies.places.landing
        table = is_table(data)
        if not table and not isinstance(data, str | PathLike):
            raise InputError(f"data is a path or a table, not {type(data).__name__}")
        if table and "." not in to.rpartition("/")[2]:
            raise InputError(f"a table has no name: end `to` with one, such as {to.rstrip('/')}/day.csv")
        path = Path("table") if table else Path(fspath(data))
        (key,) = keys = destination([path], to, None).in_bucket(landing)
        refuse_ignored(keys, dependencies.places.ignored)
        if table:
            path, _ = write_table(data, _plan_of_route(dependencies, key), Path(folder))
        file = read_file(path)
        version = send(client("s3"), file, To(landing, key, there.account), lambda _: None)
        waited = Waited(workload_id(landing, key, version), key, file.size, time.monotonic())
        if wait:
            wait_for(dependencies, [waited], timeout)
        return _result(waited.status(dependencies))


def wait(
    delivery: str, *, timeout: float = LONGEST_WAIT, stack: str = DEFAULT_STACK, local: bool = False
) -> DeliveryResult:
    """Wait until a delivery is finished, or waits for a person, `timeout` seconds at most.

    `delivery`: its workload, the beginning of that, or its landing key.
    """
    with _open(stack, local=local) as (_, dependencies):
        found = find_delivery(dependencies, delivery, LATEST)
        waited = Waited(found.id, found.key, found.size, time.monotonic())
        wait_for(dependencies, [waited], timeout)
        return _result(waited.status(dependencies))


def reasons(delivery: str, *, stack: str = DEFAULT_STACK, local: bool = False) -> DeliveryResult:
    """Why a delivery was judged as it was, with every check; samples are masked.

    `delivery`: its workload, the beginning of that, or its landing key.
    """
    with _open(stack, local=local) as (_, dependencies):
        return _result(delivery_status(dependencies, find_delivery(dependencies, delivery, LATEST)))


def _plan_of_route(dependencies: Dependencies, key: str) -> Plan:
    """The plan by which a key is judged. InputError where no route covers it."""
    route = covering(key, dependencies.registry.routes(dependencies.places.landing, candidates(key)))
    if route is None:
        raise InputError(f"no route covers {key}, so no contract says how its table is written (`lakegate route list`)")
    from lakegate.library.dataset_rows import plan_at  # noqa: PLC0415 - the engine, for tables alone

    return plan_at(dependencies, route.plan, "")


def _result(one: DeliveryStatus) -> DeliveryResult:
    measured = one.measured
    return DeliveryResult(
        one.workload,
        one.key,
        Verdict(one.verdict) if one.verdict else None,
        one.standing,
        one.reasons,
        measured.judgement.outcomes if measured else (),
        one.rows,
        one.where,
        reasons_of(one),
    )


# ---- Read ----


@dataclass(frozen=True, slots=True, repr=False)
class DatasetTable:
    """Accepted rows of a dataset, with the types of its contract.

    It exports an Arrow stream, so that polars, DuckDB and pyarrow take it as it is: `polars.DataFrame(rows)`.
    """

    dataset: str
    height: int
    """The value for `since` next time."""
    deliveries: int
    """Deliveries that the rows are of."""
    _table: pa.Table
    removed: tuple[int, ...] = ()
    """With `since`: heights up to it whose rows do not count any more, because they were recalled or superseded."""
    restored: tuple[int, ...] = ()
    """With `since`: heights up to it whose rows count again; they are not among the rows."""

    def to_arrow(self) -> pa.Table:
        """An Arrow table."""
        return self._table

    def to_pandas(self) -> Any:  # noqa: ANN401 - pandas is not required
        """A DataFrame; integers and booleans stay what they are where some are missing (`Int64`, `boolean`)."""
        import pandas as pd  # noqa: PLC0415 - not required
        import pyarrow as pa  # noqa: PLC0415 - for results alone

        return self._table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}.get)

    def to_spark(self, session: Any) -> Any:  # noqa: ANN401 - pyspark is not required
        """A DataFrame of a Spark session; the rows go through this process."""
        from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415 - not required

        rows = [tuple(row.values()) for row in self._table.to_pylist()]
        return session.createDataFrame(rows, from_arrow_schema(self._table.schema))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows, for any library that reads Arrow."""
        return self._table.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __repr__(self) -> str:
        of = plural(self.deliveries, "delivery", "deliveries")
        return f"<DatasetTable {printable(self.dataset)}, {plural(len(self), 'row')} of {of}, height {self.height}>"

    def _repr_html_(self) -> str:
        rows = [["" if value is None else str(value) for value in row.values()] for row in self._first]
        more = f", the first {SHOWN_ROWS}" if len(self) > SHOWN_ROWS else ""
        return table_in_html(f"{self.dataset}: {plural(len(self), 'row')}{more}", self._table.column_names, rows)

    @property
    def _first(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self._table.slice(0, SHOWN_ROWS).to_pylist()
        return rows


def read(dataset: str, *, since: int = NOTHING, stack: str = DEFAULT_STACK, local: bool = False) -> DatasetTable:
    """The accepted rows of a dataset, in memory, in the order of their deliveries, with the columns and types of its contract.

    A text that is no value of its column's type is missing: only a contract that tolerates it lets it through. Rows of slices
    that were retracted or corrected are left out, and deliveries that were recalled or superseded.

    `dataset`: its name, `orders_v1`; `since`: only deliveries above this height, which is `height` of an earlier result. Where
    deliveries up to it were recalled, restored or superseded since, `removed` and `restored` name them, with a warning: read the
    whole dataset then.

    InputError where there is no such dataset, or an object is not as the manifest lists it.
    """
    import pyarrow as pa  # noqa: PLC0415 - the other functions need no Arrow

    from lakegate.library.dataset_rows import RowsOfDataset  # noqa: PLC0415 - the engine, for rows alone

    if not isinstance(since, int):
        raise InputError("`since` of lakegate.read is a height: take `height` of the result that was read before")
    with _open(stack, local=local) as (_, dependencies), TemporaryDirectory(prefix="lakegate-") as name:
        head = head_of(dependencies, dataset)
        rows, state = RowsOfDataset(dependencies, head, since), not_current_in(head)
        tables = list(rows.tables(rows.listed, Path(name)))
        left, returned = changed_since(dependencies, head["line"], state, since)
        if left or returned:
            warn(
                f"{head['line']}: deliveries that were read before are not current any more (heights {sorted(left)}), or are "
                f"again ({sorted(returned)}): read the whole dataset",
                stacklevel=2,
            )
        table = pa.concat_tables(tables or [rows.without_rows], promote_options="permissive")
        height, count = max(int(head["height"]), since), len(rows.listed)
        return DatasetTable(head["line"], height, count, table, tuple(sorted(left)), tuple(sorted(returned)))


# ---- Contracts ----


@dataclass(frozen=True, slots=True, repr=False)
class ContractList:
    """Published contract versions, by contract and number; a notebook shows them as a table."""

    versions: tuple[DescribedVersion, ...]
    _found: DescribedVersions

    def to_json(self) -> dict[str, object]:
        """The document that `lakegate contracts --json` prints."""
        document: dict[str, object] = encode(self._found)
        return document

    def __iter__(self) -> Iterator[DescribedVersion]:
        return iter(self.versions)

    def __len__(self) -> int:
        return len(self.versions)

    def __repr__(self) -> str:
        return f"<ContractList {plural(len(self), 'version')}>"

    def _repr_html_(self) -> str:
        rows = [
            (one.contract, one.version, each.status, each.full_name.rpartition("/")[2], ", ".join(each.prefixes))
            for one in self.versions
            for each in one.datasets
        ]
        columns = ("contract", "version", "status", "dataset", "delivered from")
        return table_in_html(plural(len(self), "published version"), columns, rows)


def contracts(
    *,
    owner: Sequence[str] | str = (),
    tag: Sequence[str] | str = (),
    status: Sequence[str] | str = (),
    stack: str = DEFAULT_STACK,
    local: bool = False,
) -> ContractList:
    """The published contract versions, with their datasets and the prefixes that deliver to them.

    `owner`, `tag`, `status`: only those with one of these; several conditions hold together.
    """
    labels = {"owner": _values(owner), "tag": _values(tag)}
    with _open(stack, local=local) as (_, dependencies):
        found = versions_with(dependencies, labels, _values(status))
    return ContractList(found.contracts, found)


def _values(given: Sequence[str] | str) -> Sequence[str]:
    return (given,) if isinstance(given, str) else given


@contextmanager
def _open(name: str, *, local: bool) -> Iterator[tuple[DeployedStack, Dependencies]]:
    """A stack and its gate. With `local`, this process knows the embedded AWS from here on, and no other."""
    with open_deployed(name, local=local) as there:
        yield there, there.dependencies()
