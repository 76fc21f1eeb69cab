"""Rows found in objects, objects written again without them."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import duckdb
import numpy as np

from lakegate.admission.file_signatures import UnreadableError
from lakegate.aws.clients import client
from lakegate.aws.open_stack import DeployedStack
from lakegate.base.errors import InputError, NotFound
from lakegate.contract.contract_model import Shape
from lakegate.contract.delivery_policy import OnReject
from lakegate.contract.file_formats import Compression, Format
from lakegate.contract.logical_types import LogicalType
from lakegate.engine.evaluate.typed_values import literal, text_literal
from lakegate.engine.measure.duckdb_tables import database
from lakegate.engine.read.csv import CsvSource
from lakegate.engine.read.data_source import LINE, ROW, LocalStore, Share, Source, Store
from lakegate.engine.read.json import JsonSource
from lakegate.engine.read.open_delivery import open_source
from lakegate.engine.rewritten_objects import RecordChange, rewrite_parquet, rewrite_text
from lakegate.features.erasure.erasure import Erasing, Staged, refuse_tables
from lakegate.gate import lake_layout
from lakegate.gate.delivery.delivery_row import TERMINAL, replay_id
from lakegate.gate.delivery.find_deliveries import ALWAYS, NO_VERDICT, SEARCHED_ROWS, Wanted, recent
from lakegate.gate.delivery.protocol import State
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.ledger import stored_objects
from lakegate.gate.ledger.blocks import Block, BlockKind, LedgerObject, deliveries
from lakegate.gate.ledger.stored_objects import Erasures, erasures_of
from lakegate.gate.ports import ObjectVersion
from lakegate.job.job_storage import Addresses, PinnedObject
from lakegate.plan.plan import Plan, PlanField
from lakegate.plan.request import StagedPart
from lakegate.transfer.upload_files import To, read, send

if TYPE_CHECKING:
    from numpy.typing import NDArray


# ---- An object without some of its records ----
# A record that cannot be read (`lakegate.verdict.file_checks`) is left out if its bytes contain all the values.


REASONS: Final = "_reasons"
"""The first column of rejected rows (`onReject: rows`)."""
CHUNK: Final = "chunk"
REWRITTEN: Final = (Format.CSV, Format.JSONL, Format.JSON, Format.PARQUET)


class Key(NamedTuple):
    """A field and the value of the records that are left out: as it is written, or as a value of the field's type."""

    field: str
    value: str


class Found(NamedTuple):
    """The number of records of an object, and of those that are left out."""

    records: int
    erased: int


def without(  # noqa: PLR0913, PLR0917 - an object, how it is read, what is left out and where the rest is written
    plan: Plan,
    part: StagedPart,
    store: Store,
    keys: tuple[Key, ...],
    connection: duckdb.DuckDBPyConnection,
    target: Path,
    *,
    is_rejected: bool = False,
) -> Found:
    """Write an object without the records that have all these values; the target is written only if there are some.

    `is_rejected`: it holds the rejected rows of a split delivery. `connection`: an empty database, such as
    `lakegate.engine.measure.duckdb_tables.database`.

    Raises InputError where its records cannot be found, or its format cannot be written: nothing is written then.
    """
    plan = _as_written(plan, is_rejected=is_rejected)
    source = open_source(plan, (part,), store)
    form = source.plan.storage.format if isinstance(source, JsonSource) else plan.storage.format
    if form not in REWRITTEN:
        raise InputError(f"a file of the format {form.value} cannot be written without some of its rows")
    if is_rejected and form is Format.JSONL:
        assert isinstance(source, JsonSource)
        with _records_of(source, target) as records:
            found, numbers = _matching(plan, open_source(*records), keys, connection)
    else:
        found, numbers = _matching(plan, source, keys, connection)
    if found.erased:
        if isinstance(source, CsvSource | JsonSource):
            rewrite_text(source, 0, (RecordChange(number, None) for number in numbers), target)
        else:
            rewrite_parquet(source, store, 0, (RecordChange(number, None) for number in numbers), target)
    return found


def _as_written(plan: Plan, *, is_rejected: bool) -> Plan:
    """The plan of an object: of tables only the declared columns are read; records of a split stand after their reasons."""
    plan = replace(plan, policy=replace(plan.policy, on_reject=OnReject.FILE), checks=())
    if not is_rejected:
        return plan
    reasons = PlanField(REASONS, f"c{len(plan.fields)}", LogicalType.STRING)
    fields = plan.fields if plan.csv.header else (reasons, *plan.fields)
    return replace(plan, fields=fields)


@contextmanager
def _records_of(source: JsonSource, target: Path) -> Iterator[tuple[Plan, tuple[StagedPart, ...], Store]]:
    """The records in a file of rejected JSON lines, as lines of a file of their own."""
    bare = target.with_name(f"{target.name}.records")
    try:
        with bare.open("wb") as file:
            for texts, _ in chain.from_iterable(map(source.texts, source.shares)):
                file.writelines(_record(text) + b"\n" for text in texts)
        plan = replace(source.plan, storage=replace(source.plan.storage, compression=Compression.NONE))
        yield plan, (StagedPart(bare.as_uri(), bare.stat().st_size, bare.name),), LocalStore()
    finally:
        bare.unlink(missing_ok=True)


def _record(text: bytes) -> bytes:
    """The record of a rejected line; of one that could not be read, its own text."""
    if not text:
        return text
    found: str | dict[str, Any] = json.loads(text)["_record"]
    return found.encode() if isinstance(found, str) else text[text.index(b'"_record":') + len(b'"_record":') : -1]


def _matching(
    plan: Plan, source: Source, keys: tuple[Key, ...], connection: duckdb.DuckDBPyConnection
) -> tuple[Found, NDArray[np.int64]]:
    """The numbers of the records that have all the values, as `RecordChange` has them."""
    conditions = [_condition(plan, source, key, connection) for key in keys]
    select = f"SELECT {ROW} FROM {CHUNK} WHERE {' AND '.join(conditions)}"  # noqa: S608 - generated names and literals
    records, lines, numbers = 0, 0, [np.empty(0, np.int64)]
    for share in source.shares:
        rows, matches, malformed, before = [np.empty(0, np.int64)], [np.empty(0, np.int64)], 0, lines
        for chunk in source.chunks(share):
            connection.register(CHUNK, chunk.records)
            matches.append(connection.sql(select).to_arrow_table().column(ROW).to_numpy())
            rows.append(chunk.records.column(ROW).to_numpy())
            malformed += sum(entry.rows for entry in chunk.malformed)
            lines += chunk.lines
        read = np.concatenate(rows)
        if malformed:
            matches.append(_unreadable(source, share, keys, read))
        records += len(read) + malformed
        numbers.append(np.sort(np.concatenate(matches)) + before)
    found = np.concatenate(numbers)
    return Found(records, len(found)), found


def _condition(plan: Plan, source: Source, key: Key, connection: duckdb.DuckDBPyConnection) -> str:
    fields = plan.named(key.field)
    if not fields:
        raise InputError(f"the contract has no field {key.field}")
    if len(fields) > 1:
        raise InputError(f"{key.field} names a column and a nested field: write it as `lakegate plan` shows it")
    (field,) = fields
    if field.level or field.shape is not Shape.VALUE:
        raise InputError(f"the field {key.field} has no single value in each row")
    if plan.paths_of([field.column])[0] not in source.columns.found:
        raise InputError(f"the file has no column {field.column}")
    expression = source.expressions[field.alias]
    same = [f"{expression.text} = {text_literal(key.value)}"]
    with suppress(ValueError, ArithmeticError, duckdb.Error):  # no value of the type: only a text can be equal
        typed = literal(field, key.value)
        connection.sql(f"SELECT {typed}").fetchall()
        same.append(f"{expression.value} = {typed}")
    return f"coalesce({' OR '.join(same)}, false)"


def _unreadable(source: Source, share: Share, keys: tuple[Key, ...], read: NDArray[np.int64]) -> NDArray[np.int64]:
    """The records of a share that cannot be read and contain all the values."""
    known = set(read.tolist())
    rows = []
    for table in source.originals(share):
        if LINE not in table.column_names:
            raise InputError("a value is longer than a record may be: the rows of the file cannot be found")
        for row, text in zip(table.column(ROW).to_pylist(), table.column(LINE).to_pylist(), strict=True):
            if row not in known and all(any(form in text for form in _forms(key.value)) for key in keys):
                rows.append(row)
    return np.array(rows, np.int64)


def _forms(value: str) -> Iterable[bytes]:
    """Forms of a value in bytes that cannot be read."""
    quoted = (value, value.replace('"', '""'), json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1])
    return {text.encode(code, errors="replace") for text in quoted for code in ("utf-8", "cp1252")}


# ---- Objects with rows to erase ----


ENDED: Final = TERMINAL | {State.FAILED, State.GONE}


@dataclass(frozen=True, slots=True)
class Hit:
    """An object with rows to erase."""

    key: str
    version: str
    records: int | None
    """None: it was not read."""
    rows: int | None
    """To erase; None: all of them, unread."""
    left: Path | None = None
    """The object without them; None: nothing is left."""


@dataclass(slots=True)
class ErasureSearch:
    """The rows found in the objects of a dataset."""

    deliveries: list[tuple[Block, list[Hit]]] = field(default_factory=list)
    unsearched: list[tuple[Block, str, str]] = field(default_factory=list)
    """Delivery and key of each object that could not be searched, and why."""
    count: int = 0
    """Objects that were looked at."""

    @property
    def hits(self) -> list[Hit]:
        """All objects with rows to erase."""
        return [hit for _, hits in self.deliveries for hit in hits]


def search_objects(
    dependencies: Dependencies, dataset: str, keys: tuple[Key, ...], folder: Path, looked: Callable[[int], None]
) -> ErasureSearch:
    """Read every object of a dataset, and write below a folder what is left of those with rows to erase.

    InputError where some of its rows are in a table, too.
    """
    search = ErasureSearch()
    blocks = dependencies.ledger.blocks(dataset)
    refuse_tables(blocks)
    erasures = erasures_of(blocks)
    for block in deliveries(blocks):
        hits: list[Hit] = []
        for entry in erasures.objects_of(block):
            try:
                version = _find_object(dependencies, block, entry, erasures)
                if version is not None:
                    hits += _hits(dependencies, block, version, keys, folder / f"{search.count}")
            except (InputError, UnreadableError, duckdb.Error, OSError) as error:
                search.unsearched.append((block, entry.key, _why(error)))
            search.count += 1
            looked(search.count)
        if hits:
            search.deliveries.append((block, hits))
    return search


def whole_deliveries(dependencies: Dependencies, dataset: str, workloads: tuple[str, ...]) -> ErasureSearch:
    """All objects of some deliveries, unread. Raises InputError for one that is none of the dataset's, or is in a table, too."""
    search = ErasureSearch()
    blocks = dependencies.ledger.blocks(dataset)
    erasures = erasures_of(blocks)
    for name in workloads:
        named = [delivery for delivery in deliveries(blocks) if delivery.workload.startswith(name)]
        if len(named) != 1:
            raise InputError(
                f"{dataset} has {'several deliveries' if named else 'no delivery'} whose id begins so: {name}"
            )
        refuse_tables(named)
        objects = filter(
            None, (_find_object(dependencies, named[0], entry, erasures) for entry in erasures.objects_of(named[0]))
        )
        hits = [Hit(entry.key, entry.version, None, None) for entry in objects]
        search.count += len(hits)
        if hits:
            search.deliveries.append((named[0], hits))
    return search


def stage_remainders(there: DeployedStack, block: Block, hits: list[Hit]) -> tuple[Erasing, ...]:
    """Upload what is left of the objects of a delivery."""
    lake = there.output("LakeBucket")
    return tuple(Erasing(hit.key, hit.version, hit.rows, _upload(there, lake, block, hit)) for hit in hits)


def remaining(dependencies: Dependencies, dataset: str) -> Iterator[tuple[str, str]]:
    """Deliveries of the dataset whose data an erasure does not reach yet, each with its state."""
    wanted = Wanted(verdicts=frozenset({NO_VERDICT}), chains=frozenset({dataset}))
    known = {
        delivery.id: delivery.row.state for delivery in recent(dependencies, SEARCHED_ROWS, wanted) if delivery.row
    }
    rows = (dependencies.workloads.find(text) for text in dependencies.agenda.due(ALWAYS, SEARCHED_ROWS))
    known |= {row.id: row.state for row in rows if row and row.pin and row.pin.dataset == dataset}
    yield from ((identity, str(state)) for identity, state in known.items() if state is not State.GONE)


def _find_object(
    dependencies: Dependencies, block: Block, entry: LedgerObject, erasures: Erasures
) -> ObjectVersion | None:
    """The object; None where it expired, or its replay ended, which deleted it."""
    try:
        return dependencies.objects.head(dependencies.in_lake(entry.key, entry.version))
    except NotFound:
        row = dependencies.workloads.find(replay_id(block.workload))
        if row is not None and row.state in TERMINAL:
            return None
        until = stored_objects.kept_until(dependencies, block, entry.key, erasures)
        if until is not None and dependencies.now >= until:
            return None
        raise InputError(f"{entry.key} is not there any more: lakegate verify {block.chain} --objects") from None


def _hits(
    dependencies: Dependencies, block: Block, version: ObjectVersion, keys: tuple[Key, ...], target: Path
) -> Iterator[Hit]:
    row = dependencies.workloads.find(replay_id(block.workload))
    if row is not None and row.state not in ENDED:
        raise InputError("it is being judged again: repeat the command when that has ended")
    if not block.plan:
        raise InputError("no contract covers it, so nobody knows its columns")
    plan = Plan.from_bytes(dependencies.plan_at(block.plan, block.workload))
    uri = f"s3://{version.bucket}/{version.key}"
    store = Addresses({uri: PinnedObject(version.bucket, version.key, version.size, version.etag, version.version)})
    is_rejected = block.kind is BlockKind.PUBLISHED and version.key.startswith("quarantine/")
    with database(target.parent) as connection:
        part = StagedPart(uri, version.size)
        rows = without(plan, part, store, keys, connection, target, is_rejected=is_rejected)
    if rows.erased:
        is_empty = rows.erased == rows.records
        yield Hit(version.key, version.version, rows.records, rows.erased, None if is_empty else target)


def _why(error: Exception) -> str:
    if isinstance(error, UnreadableError):
        return f"{error.finding.code}: {error.finding.message}"
    return str(error) if isinstance(error, InputError) else f"it cannot be read ({type(error).__name__})"


def _upload(there: DeployedStack, lake: str, block: Block, hit: Hit) -> Staged | None:
    if hit.left is None:
        return None
    local = read(hit.left)
    key = f"{lake_layout.erasure_prefix(block.workload)}{secrets.token_hex(8)}"
    version = send(client("s3"), local, To(lake, key, there.account), lambda _: None)
    hit.left.unlink()
    checksum = base64.b64encode(bytes.fromhex(local.sha256)).decode()
    return Staged(key, version, local.size, f"sha256:{checksum}")
