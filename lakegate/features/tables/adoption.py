"""Adoption: typed files for deliveries that were accepted before their dataset became a table.

1. The command reads what was accepted of a delivery, by the plan that accepted it, and stages its rows as typed files.
2. They are copied to where typed files of the delivery are. Their names follow from their bytes, so that a repeated command
   finds what an earlier one, or that of another person, has copied.
3. `adoption` is recorded, once for each delivery: from then on they are its typed files, as if its run had written them.

The record is refused if what was read does not stand any more: an erasure has begun, or a lost object was put back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa

from lakegate.base.errors import ConditionFailed, InputError
from lakegate.base.json_codec import sha256_of
from lakegate.base.text import quote
from lakegate.contract.contract_model import TABLE, parts_of
from lakegate.features.tables.table_rows import table_schema
from lakegate.features.tables.table_settings import misfits_of
from lakegate.gate import lake_layout
from lakegate.gate.delivery.decide_verdict import read_plan
from lakegate.gate.effects import Effect, Steps, perform
from lakegate.gate.ledger.blocks import AnyBlock, Block, BlockKind, LedgerObject, Record, deliveries, event_id
from lakegate.gate.ledger.commit import append_agreed
from lakegate.gate.ledger.stored_objects import ADOPTED, BEGUN, DONE, RESTORED, Erasures
from lakegate.gate.ports import agree
from lakegate.gate.registry.contract_versions import newest_release

if TYPE_CHECKING:
    from lakegate.gate.dependencies import Dependencies
    from lakegate.plan.plan import Plan
    from lakegate.transfer.staged_files import Staged


class AdoptedFile(NamedTuple):
    """A typed file of a delivery."""

    rows: int
    staged: Staged


CHANGED: Final = "an erasure or a restoration has changed it meanwhile: repeat the command"


# ---- Which deliveries ----


def accepted_objects(block: Block, erasures: Erasures) -> tuple[LedgerObject, ...]:
    """The data that was accepted of a delivery without typed files, as it is now; of any other delivery none."""
    if block.kind is not BlockKind.PUBLISHED or block.table is not None or block.workload in erasures.adopted:
        return ()
    published = (each for each in erasures.objects_of(block) if lake_layout.is_published(block, each.key))
    return tuple(each for each in published if lake_layout.DATA.fullmatch(each.key.rpartition("/")[2]))


def deliveries_to_adopt(blocks: Sequence[AnyBlock], erasures: Erasures) -> tuple[Block, ...]:
    """The accepted deliveries without typed files of which something is left, current or not: one that is not may come back.

    Raises InputError where one was published as slices.
    """
    for block in deliveries(blocks):
        if block.slices is not None:
            raise InputError(
                f"delivery {block.workload[:12]} (height {block.height}) was published as slices (`publishAs: parquet`), "
                "in which later rows may correct earlier ones: a new major version of the contract is a table from its beginning"
            )
    return tuple(block for block in deliveries(blocks) if accepted_objects(block, erasures))


# ---- Whether one table can have them ----


def refuse_unfit(dependencies: Dependencies, dataset: str, blocks: Iterable[AnyBlock], wanted: Iterable[Block]) -> None:
    """Raise InputError where the newest version is no table, or where one table cannot have the columns of all deliveries.

    Each delivery keeps the columns of its own plan, by which it was judged and can be erased. The table has those of all, by
    their names, as if the deliveries had come as typed files one after another.
    """
    contract, name, number = parts_of(dataset)
    newest = newest_release(dependencies.registry.contract(contract), number)
    if newest is None or (TABLE, name) not in newest.labels:
        stated = f", {newest.version}," if newest else ""
        raise InputError(
            f"the newest version of {contract}{stated} publishes {dataset} as no table: publish a minor version that says "
            "`publishAs: iceberg`, and repeat the command"
        )
    digest = dict(newest.plans)[name]
    columns = _columns(read_plan(dependencies.plan_at(digest, dataset)), None)
    typed = (block for block in deliveries(blocks) if block.table is not None)
    for block in {block.plan: block for block in (*typed, *wanted)}.values():
        plan = read_plan(dependencies.plan_at(block.plan, block.workload))
        columns = _columns(plan, columns, f"delivery {block.workload[:12]} (height {block.height})")


def _columns(plan: Plan, others: pa.DataType | None, delivery: str = "") -> pa.DataType:
    """The columns of a plan together with others, as a struct. Raises InputError where a table cannot have both."""
    wrong = next(misfits_of(plan.fields, plan.storage.format), None)
    try:
        if wrong is None:
            own = pa.struct(table_schema(plan))
            return own if others is None else together(others, own)
        reason = f"the field {quote(wrong[0])} can be no column: {wrong[1]}"
    except InputError as error:
        reason = str(error)
    raise InputError(
        f"{delivery}, version {plan.contract_version}: {reason}. Nothing was adopted: one table cannot have these deliveries; "
        "a new major version of the contract is another table"
    )


def together(one: pa.DataType, other: pa.DataType, place: str = "") -> pa.DataType:
    """A type of a table that has the values of both: members of records are added. Raises InputError, which names the place."""
    if pa.types.is_struct(one) and pa.types.is_struct(other):
        members = {each.name.lower(): each for each in one}
        for each in other:
            there = members.setdefault(each.name.lower(), each)
            inner = f"{place}.{each.name}" if place else each.name
            if there.name != each.name:
                raise InputError(f"the field {quote(inner)} is written {quote(there.name)} in the table")
            members[each.name.lower()] = pa.field(each.name, together(there.type, each.type, inner))
        return pa.struct(list(members.values()))
    if pa.types.is_list(one) and pa.types.is_list(other):
        return pa.list_(together(one.value_type, other.value_type, f"{place}[]"))
    if pa.types.is_map(one) and pa.types.is_map(other):
        values = together(one.item_type, other.item_type, f"{place}{{}}")
        return pa.map_(together(one.key_type, other.key_type, place), values)
    if one != other:
        raise InputError(f"the field {quote(place)} has the type {other}, and {one} in the table")
    return one


# ---- One delivery ----


def adopt(dependencies: Dependencies, block: Block, files: tuple[AdoptedFile, ...], searched: int) -> Steps[None]:
    """Steps 2 and 3, once for each delivery. `searched`: the height of the last block when its objects were read.

    Raises InputError where they have changed since.
    """
    chain = block.chain

    def unchanged(above: tuple[AnyBlock, ...]) -> None:
        if any(_changes(each, block.workload) for each in above):
            raise InputError(CHANGED)

    unchanged(dependencies.ledger.blocks(chain, searched))
    content: dict[str, Any] = {"workload": block.workload, "height": block.height}
    table = []
    for number, each in enumerate(files):
        table.append((yield from _published(dependencies, block, number, each)))
    if table:
        content["table"] = table
    event = event_id(ADOPTED, chain, block.workload)
    yield from append_agreed(dependencies, ADOPTED, chain, content, event, searched, unchanged)
    for each in files:
        yield from perform(Effect.DELETE_STAGING, dependencies.delete, dependencies.in_lake(each.staged.key))


def _changes(block: AnyBlock, workload: str) -> bool:
    """Whether a block is a record by which a delivery has, or will have, other objects than before."""
    kinds = {BEGUN, DONE, RESTORED}
    return isinstance(block, Record) and block.kind in kinds and bool(block.content["workload"] == workload)


def _published(dependencies: Dependencies, block: Block, number: int, file: AdoptedFile) -> Steps[dict[str, Any]]:
    """Copy a staged file to its key, unless the same bytes are there. Returns what the record states."""
    staged = file.staged
    name = f"part-{number:05}-{sha256_of(staged.checksum)[:16]}.parquet"
    source = dependencies.in_lake(staged.key, staged.version)
    where = dependencies.in_lake(f"{lake_layout.typed_folder(block)}{name}")
    etag = dependencies.objects.head(source).etag
    try:
        found = yield from perform(Effect.COPY, dependencies.objects.copy, source, etag, where, absent=True)
    except ConditionFailed:
        found = dependencies.objects.head(where)
    if found.size != staged.size or not agree(staged.checksum, found.checksum):
        raise InputError(f"{where.key} is there, and has other bytes: find out who wrote it, and delete it")
    stated = {"version": found.version, "size": found.size, "checksum": found.checksum}
    return {"key": where.key, "rows": file.rows, **stated}
