"""Rows found in objects, objects written again without them."""

from __future__ import annotations

import json
import re
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
from lakegate.aws.open_stack import DeployedStack
from lakegate.base.errors import InputError
from lakegate.contract.contract_model import Shape
from lakegate.contract.file_formats import Compression, Format, Storage
from lakegate.contract.logical_types import LogicalType
from lakegate.engine.evaluate.typed_values import literal, text_literal
from lakegate.engine.measure.duckdb_tables import database
from lakegate.engine.read.csv import CsvSource
from lakegate.engine.read.data_source import LINE, ROW, LocalStore, Share, Source, Store
from lakegate.engine.read.json import JsonSource
from lakegate.engine.read.open_delivery import open_source
from lakegate.engine.rewritten_objects import RecordChange, rewrite_parquet, rewrite_text
from lakegate.features.erasure.erasure import Erasing, ErasingTyped, TypedLeft
from lakegate.gate import lake_layout
from lakegate.gate.delivery.find_deliveries import ALWAYS, NO_VERDICT, SEARCHED_ROWS, Wanted, recent
from lakegate.gate.delivery.protocol import State
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.ledger import stored_objects
from lakegate.gate.ledger.blocks import Block, BlockKind, LedgerObject, TableFile, deliveries
from lakegate.gate.ledger.stored_objects import Erasures, erasures_of
from lakegate.gate.ports import ObjectVersion
from lakegate.local_check.finished_objects import find_object, opened, why_unread
from lakegate.plan.plan import Plan, PlanField
from lakegate.plan.request import StagedPart
from lakegate.transfer.staged_files import stage_file

if TYPE_CHECKING:
    from numpy.typing import NDArray


# ---- An object without some of its records ----
# A record that cannot be read (`lakegate.verdict.file_checks`) is left out if its bytes contain all the values.


REASONS: Final = "_reasons"
"""The first column of rejected rows (`onReject: rows`)."""
CHUNK: Final = "chunk"
BY_VALUE: Final = "by_value"
REWRITTEN: Final = (Format.CSV, Format.JSONL, Format.JSON, Format.PARQUET)


class Key(NamedTuple):
    """A field and the value of the records that are left out: as it is written, or as a value of the field's type."""

    field: str
    value: str


def _none() -> NDArray[np.int64]:
    return np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Found:
    """The number of records of an object, and of those that are left out."""

    records: int
    erased: int
    readable: int = field(default=0, compare=False)
    """Records that can be read: a typed file has those alone."""
    places: NDArray[np.int64] = field(default_factory=_none, compare=False)
    """Of readable records that are left out, their places among these, from 0."""
    values: NDArray[np.int64] = field(default_factory=_none, compare=False)
    """Those of them that have the values by their types, and not as texts alone."""
    among_all: NDArray[np.int64] = field(default_factory=_none, compare=False)
    """Of records that are left out, their places among all records, from 0: a typed file of rejected rows has them all."""


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
    plan = plan.unjudged
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
    """The records that have all the values, and their numbers as `RecordChange` has them."""
    conditions = [_condition(plan, source, key, connection) for key in keys]
    by_value = " AND ".join(value for _, value in conditions)
    by_any = " AND ".join(f"({text} OR {value})" for text, value in conditions)
    select = f"SELECT {ROW}, {by_value} AS {BY_VALUE} FROM {CHUNK} WHERE {by_any}"  # noqa: S608 - generated names and literals
    records, readable, lines = 0, 0, 0
    numbers, places, values, among_all = [_none()], [_none()], [_none()], [_none()]
    for share in source.shares:
        rows, matches, typed, malformed, before = [_none()], [_none()], [_none()], 0, lines
        for chunk in source.chunks(share):
            connection.register(CHUNK, chunk.records)
            found = connection.sql(select).to_arrow_table()
            matches.append(found.column(ROW).to_numpy())
            typed.append(found.filter(found.column(BY_VALUE)).column(ROW).to_numpy())
            rows.append(chunk.records.column(ROW).to_numpy())
            malformed += sum(entry.rows for entry in chunk.malformed)
            lines += chunk.lines
        read = np.sort(np.concatenate(rows))
        places.append(readable + np.searchsorted(read, np.sort(np.concatenate(matches))))
        values.append(readable + np.searchsorted(read, np.sort(np.concatenate(typed))))
        every = read
        if malformed:
            every, others = _unreadable(source, share, keys, read)
            matches.append(others)
        own = np.sort(np.concatenate(matches))
        among_all.append(records + np.searchsorted(every, own))
        records += len(read) + malformed
        readable += len(read)
        numbers.append(own + before)
    erased = np.concatenate(numbers)
    of_readable = np.concatenate(places), np.concatenate(values)
    return Found(records, len(erased), readable, *of_readable, np.concatenate(among_all)), erased


def _condition(plan: Plan, source: Source, key: Key, connection: duckdb.DuckDBPyConnection) -> tuple[str, str]:
    """Whether a record has a value as a text, and whether it has it by its type; neither of the two is null."""
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
    as_text, as_value = f"{expression.text} = {text_literal(key.value)}", "false"
    with suppress(ValueError, ArithmeticError, duckdb.Error):  # no value of the type: only a text can be equal
        typed = literal(field, key.value)
        connection.sql(f"SELECT {typed}").fetchall()
        as_value = f"{expression.value} = {typed}"
    return f"coalesce({as_text}, false)", f"coalesce({as_value}, false)"


def _unreadable(
    source: Source, share: Share, keys: tuple[Key, ...], read: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All records of a share, and those of them that cannot be read and contain all the values."""
    known = set(read.tolist())
    every, rows = [_none()], []
    for table in source.originals(share):
        if LINE not in table.column_names:
            raise InputError("a value is longer than a record may be: the rows of the file cannot be found")
        every.append(table.column(ROW).to_numpy())
        for row, text in zip(table.column(ROW).to_pylist(), table.column(LINE).to_pylist(), strict=True):
            if row not in known and all(any(form in text for form in _forms(key.value)) for key in keys):
                rows.append(row)
    return np.concatenate(every), np.array(rows, np.int64)


def _forms(value: str) -> Iterable[bytes]:
    """Forms of a value in bytes that cannot be read."""
    quoted = (value, value.replace('"', '""'), json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1])
    return {text.encode(code, errors="replace") for text in quoted for code in ("utf-8", "cp1252")}


# ---- A typed file without some of its rows ----
# It has the accepted records of the delivery that can be read, in their order: so what is left out of the objects that arrived
# says which of its rows are left out, also where a text is no value of its type. The rows with the values must be among these.


class TypedRows(NamedTuple):
    """The rows that a typed file should have, by their places among those of its delivery."""

    begin: int
    rows: int


def without_typed(  # noqa: PLR0913, PLR0917 - as `without`
    plan: Plan,
    part: StagedPart,
    store: Store,
    keys: tuple[Key, ...],
    arrived: Found,
    rows: TypedRows,
    connection: duckdb.DuckDBPyConnection,
    target: Path,
) -> Found:
    """Write a typed file without the rows that are left out of the objects that arrived.

    Raises InputError where it has other rows than it should, or other ones with the values.
    """
    plan = replace(plan.unjudged, storage=Storage(Format.PARQUET))
    source = open_source(plan, (part,), store)
    found, _ = _matching(plan, source, keys, connection)
    end = rows.begin + rows.rows
    places, values = (
        each[(each >= rows.begin) & (each < end)] - rows.begin for each in (arrived.places, arrived.values)
    )
    if found.records != rows.rows or not np.array_equal(found.values, values):
        raise InputError(DISAGREE)
    if len(places):
        rewrite_parquet(source, store, 0, (RecordChange(int(number), None) for number in places), target)
    return Found(found.records, len(places))


OF_REJECTED: Final = PlanField("delivery", "c0", LogicalType.STRING)
"""A column of typed files of rejected rows, by which they are opened."""


def without_rejected(  # noqa: PLR0913, PLR0917 - as `without`
    plan: Plan, part: StagedPart, store: Store, rejected: Found, rows: TypedRows, target: Path
) -> Found:
    """Write a typed file of rejected rows without those that are left out of the rejected records that arrived.

    Its values say nothing: they are masked where a field is classified. Raises InputError where it has other rows than it should.
    """
    plan = replace(plan.unjudged, fields=(OF_REJECTED,), storage=Storage(Format.PARQUET))
    source, end = open_source(plan, (part,), store), rows.begin + rows.rows
    places = rejected.among_all[(rejected.among_all >= rows.begin) & (rejected.among_all < end)] - rows.begin
    if source.sizes[0] != rows.rows:
        raise InputError(DISAGREE)
    if len(places):
        rewrite_parquet(source, store, 0, (RecordChange(int(number), None) for number in places), target)
    return Found(rows.rows, len(places))


DISAGREE: Final = "its typed files have other rows with these values than what arrived"


# ---- Objects with rows to erase ----


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
    is_typed: bool = False
    """Whether it is a typed file, whose rows are those of the other objects."""


@dataclass(slots=True)
class ErasureSearch:
    """The rows found in the objects of a dataset."""

    deliveries: list[tuple[Block, list[Hit]]] = field(default_factory=list)
    unsearched: list[tuple[Block, str, str]] = field(default_factory=list)
    """Delivery and key of each object that could not be searched, and why."""
    count: int = 0
    """Objects that were looked at."""
    height: int = -1
    """Of the last block when the search began."""

    @property
    def hits(self) -> list[Hit]:
        """All objects with rows to erase."""
        return [hit for _, hits in self.deliveries for hit in hits]


def search_objects(
    dependencies: Dependencies, dataset: str, keys: tuple[Key, ...], folder: Path, looked: Callable[[int], None]
) -> ErasureSearch:
    """Read every object of a dataset, and write below a folder what is left of those with rows to erase."""
    blocks = dependencies.ledger.blocks(dataset)
    search = ErasureSearch(height=len(blocks) - 1)
    erasures = erasures_of(blocks)
    for block in deliveries(blocks):
        typed = block.typed_keys
        hits, arrived = list[Hit](), {share: _Arrived() for share in SHARES}
        for entry in erasures.objects_of(block):
            if entry.key in typed:
                continue
            beside = next(arrived[share] for share in SHARES if entry.key.startswith(share))
            try:
                version = find_object(dependencies, block, entry, erasures)
                if version is not None:
                    found = _search(dependencies, block, version, keys, folder / f"{search.count}")
                    hits += _hits(version, found, folder / f"{search.count}")
                    beside.found.append(found)
            except (InputError, UnreadableError, duckdb.Error, OSError) as error:
                search.unsearched.append((block, entry.key, why_unread(error)))
                beside.is_searched = False
            search.count += 1
            looked(search.count)
        accepted = block.table or erasures.table_of(block)
        for share, stated in ((ACCEPTED, accepted), (stored_objects.FOLDER, block.rejected_table)):
            if stated:
                beside = arrived[share]
                hits = _with_typed(dependencies, block, erasures, keys, folder, hits, share, stated, beside, search)
                looked(search.count)
        if hits:
            search.deliveries.append((block, hits))
    return search


@dataclass(slots=True)
class _Arrived:
    """What was found in the accepted, or in the quarantined objects of a delivery that are not typed files."""

    found: list[Found] = field(default_factory=list)
    """In the order of the delivery."""
    is_searched: bool = True
    """Whether all of them were searched."""

    def total(self) -> Found:
        """Of all of them, as if they were one."""
        readable, records = (
            np.cumsum([0, *counts])
            for counts in ([each.readable for each in self.found], [each.records for each in self.found])
        )
        places, values, among_all = (
            np.concatenate([_none(), *(begin + part for begin, part in zip(begins, parts, strict=False))])
            for begins, parts in (
                (readable, [each.places for each in self.found]),
                (readable, [each.values for each in self.found]),
                (records, [each.among_all for each in self.found]),
            )
        )
        return Found(int(records[-1]), len(among_all), int(readable[-1]), places, values, among_all)


def _with_typed(  # noqa: PLR0913, PLR0917 - a delivery, what was found of it, and where it is written
    dependencies: Dependencies,
    block: Block,
    erasures: Erasures,
    keys: tuple[Key, ...],
    folder: Path,
    hits: list[Hit],
    share: str,
    stated: tuple[TableFile, ...],
    arrived: _Arrived,
    search: ErasureSearch,
) -> list[Hit]:
    """The objects of a share of a delivery and its typed files with rows to erase; where these cannot be, none of the share."""
    typed, begin, total = list[Hit](), 0, arrived.total()
    stored = {each.key: each for each in (*erasures.objects_of(block), *erasures.added_to(block))}
    is_rejected = share == stored_objects.FOLDER
    files = erasures.rejected_table_of(block) if is_rejected else erasures.table_of(block)
    are_searched, count = arrived.is_searched, total.records if is_rejected else total.readable
    try:
        there = files if are_searched else ()
        versions = [find_object(dependencies, block, stored[each.key], erasures) for each in there]
        if is_rejected and not arrived.found and not any(versions):
            return hits  # all of it has expired
        if are_searched and (None in versions or count != sum(each.rows for each in files)):
            are_searched = False
            search.unsearched.append((block, (files or stated)[0].key, DISAGREE))
        for each, version in zip(there, versions, strict=True) if are_searched else ():
            assert version is not None
            target, rows = folder / f"{search.count}", TypedRows(begin, each.rows)
            plan, (part,), store = opened(dependencies, block, [version])
            if is_rejected:
                found = without_rejected(plan, part, store, total, rows, target)
            else:
                with database(folder) as connection:
                    found = without_typed(plan, part, store, keys, total, rows, connection, target)
            typed += [replace(hit, is_typed=True) for hit in _hits(version, found, target)]
            begin += each.rows
            search.count += 1
    except (InputError, UnreadableError, duckdb.Error, OSError) as error:
        are_searched = False
        search.unsearched.append((block, files[0].key, why_unread(error)))
    if are_searched:
        return [*hits, *typed]
    return [hit for hit in hits if not hit.key.startswith(share)]


ACCEPTED: Final = "accepted/"
SHARES: Final = (ACCEPTED, stored_objects.FOLDER)


def whole_deliveries(dependencies: Dependencies, dataset: str, workloads: tuple[str, ...]) -> ErasureSearch:
    """All objects of some deliveries, unread. Raises InputError for one that is none of the dataset's."""
    blocks = dependencies.ledger.blocks(dataset)
    search = ErasureSearch(height=len(blocks) - 1)
    erasures = erasures_of(blocks)
    for name in workloads:
        named = [delivery for delivery in deliveries(blocks) if delivery.workload.startswith(name)]
        if len(named) != 1:
            raise InputError(
                f"{dataset} has {'several deliveries' if named else 'no delivery'} whose id begins so: {name}"
            )
        typed = {each.key for each in (*erasures.table_of(named[0]), *erasures.rejected_table_of(named[0]))}
        entries = (*erasures.objects_of(named[0]), *erasures.added_to(named[0]))
        objects = [entry for entry in entries if not _has_ended(dependencies, named[0], entry, erasures)]
        hits = [Hit(entry.key, entry.version, None, None, is_typed=entry.key in typed) for entry in objects]
        search.count += len(hits)
        if hits:
            search.deliveries.append((named[0], hits))
    return search


def _has_ended(dependencies: Dependencies, block: Block, entry: LedgerObject, erasures: Erasures) -> bool:
    """Whether an object is not kept any longer. One that is lost is: what else is under its key is deleted, too."""
    with suppress(InputError):
        return find_object(dependencies, block, entry, erasures) is None
    return False


class Remainders(NamedTuple):
    """What is left of the objects of a delivery, uploaded."""

    objects: tuple[Erasing, ...]
    table: tuple[ErasingTyped, ...]


def stage_remainders(there: DeployedStack, block: Block, hits: list[Hit]) -> Remainders:
    """Upload what is left of the objects of a delivery."""
    objects, table = list[Erasing](), list[ErasingTyped]()
    for hit in hits:
        key = f"{lake_layout.erasure_prefix(block.workload)}{secrets.token_hex(8)}"
        staged = None if hit.left is None else stage_file(there, hit.left, key)
        if hit.is_typed:
            rows = (hit.records or 0) - (hit.rows or 0)
            left = staged and TypedLeft(_rest_key(hit.key), rows, staged)
            table.append(ErasingTyped(hit.key, hit.version, hit.rows, left))
        else:
            objects.append(Erasing(hit.key, hit.version, hit.rows, staged))
    return Remainders(tuple(objects), tuple(table))


def _rest_key(key: str) -> str:
    """A key that no other object has, and that keeps the place of the typed file in their order: `part-00000-DIGITS.parquet`."""
    return re.sub(r"(?:-[0-9a-f]{16})?\.parquet$", f"-{secrets.token_hex(8)}.parquet", key)


def remaining(dependencies: Dependencies, dataset: str) -> Iterator[tuple[str, str]]:
    """Deliveries of the dataset whose data an erasure does not reach yet, each with its state."""
    wanted = Wanted(verdicts=frozenset({NO_VERDICT}), chains=frozenset({dataset}))
    known = {
        delivery.id: delivery.row.state for delivery in recent(dependencies, SEARCHED_ROWS, wanted) if delivery.row
    }
    rows = (dependencies.workloads.find(text) for text in dependencies.agenda.due(ALWAYS, SEARCHED_ROWS))
    known |= {row.id: row.state for row in rows if row and row.pin and row.pin.dataset == dataset}
    yield from ((identity, str(state)) for identity, state in known.items() if state is not State.GONE)


def _search(
    dependencies: Dependencies, block: Block, version: ObjectVersion, keys: tuple[Key, ...], target: Path
) -> Found:
    plan, (part,), store = opened(dependencies, block, [version])
    is_rejected = block.kind is BlockKind.PUBLISHED and version.key.startswith("quarantine/")
    with database(target.parent) as connection:
        return without(plan, part, store, keys, connection, target, is_rejected=is_rejected)


def _hits(version: ObjectVersion, found: Found, target: Path) -> Iterator[Hit]:
    if found.erased:
        is_empty = found.erased == found.records
        yield Hit(version.key, version.version, found.records, found.erased, None if is_empty else target)
