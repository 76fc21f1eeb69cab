"""Comparison of `lakegate verify` with derived rows: the query is run again over the data that its block names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from lakegate.base.text import plural
from lakegate.cli import terminal
from lakegate.cli.datasets.chain_proofs import ChainComparison, VerifiedChain, compared_in_words
from lakegate.gate.delivery.attempt_request import plan_uri, referred_data
from lakegate.gate.delivery.delivery_row import Referred
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.ledger.blocks import Block, BlockKind, LedgerObject, deliveries
from lakegate.gate.ledger.compare_objects import Compared, Damage, DamagedObject
from lakegate.gate.ledger.stored_objects import erasures_of
from lakegate.gate.ports import Address
from lakegate.plan.plan import Plan
from lakegate.plan.request import Request, StagedPart

if TYPE_CHECKING:
    import pyarrow as pa

    from lakegate.engine.read.data_source import Store

LENGTH: Final = 32 << 20
"""Bytes of an object that are in memory at once."""


def _compared(chain: VerifiedChain) -> Compared:
    """Every accepted delivery that was derived, but for those whose inputs, or own rows, are not all there any more."""
    dependencies, damaged, count = chain.dependencies, list[DamagedObject](), 0
    assert dependencies is not None
    own, left_out = erasures_of(chain.blocks), 0
    derived = [each for each in deliveries(chain.blocks) if each.inputs and each.kind is BlockKind.PUBLISHED]
    with terminal.working("running queries again") as progress:
        for block in derived:
            objects = [each for each in block.objects if each.key not in block.typed_keys]
            if block.rejected_rows or own.objects_of(block) != block.objects or _is_erased(dependencies, block):
                left_out += 1
                continue
            count += 1
            progress(f"running queries again: {count:,} of {len(derived):,}")
            if not _is_same(dependencies, block, objects):
                first = objects[0]
                damaged.append(
                    DamagedObject(Damage.ALTERED, first.key, first.version, "", block.height, block.workload, first.key)
                )
    notes = [f"{plural(left_out, 'delivery', 'deliveries')} not compared: rows were rejected alone, or erased since."]
    return Compared(count, 0, tuple(damaged), tuple(notes if left_out else ()))


def _is_erased(dependencies: Dependencies, block: Block) -> bool:
    """Whether rows were erased of an input since, so that it has other ones up to the height that was read."""
    return any(erasures_of(dependencies.ledger.blocks(each.dataset)).height > each.height for each in block.inputs)


def _is_same(dependencies: Dependencies, block: Block, objects: Sequence[LedgerObject]) -> bool:
    from lakegate.job.job_storage import ANYWHERE  # noqa: PLC0415 - other comparisons read no data

    with TemporaryDirectory() as name:
        folder = Path(name)
        stored = [folder / f"stored-{number}" for number, _ in enumerate(objects)]
        for path, each in zip(stored, objects, strict=True):
            _fetch(dependencies, each, path)
        references = tuple(referred_data(dependencies, Referred(each.dataset, each.height)) for each in block.inputs)
        request = Request(
            block.workload,
            1,
            plan_uri(dependencies, block.plan),
            block.plan,
            block.workload,
            (StagedPart(stored[0].as_uri(), stored[0].stat().st_size),),
            block.system_time.replace("Z", "+00:00"),
            (folder / "again").as_uri(),
            references,
        )
        plan = Plan.from_bytes(dependencies.plan_at(block.plan, block.workload))
        return are_same_rows(stored, derive_again(request, plan, folder, ANYWHERE))


def _fetch(dependencies: Dependencies, stored: LedgerObject, path: Path) -> None:
    where = Address(dependencies.places.lake, stored.key, stored.version)
    with path.open("wb") as file:
        for start in range(0, stored.size, LENGTH):
            file.write(dependencies.objects.read(where, start, LENGTH))


def derive_again(request: Request, plan: Plan, folder: Path, store: Store) -> list[Path]:
    """The files with the rows of the query of a plan, run natively. UnreadableError where it cannot be run."""
    from lakegate.engine.measure.duckdb_tables import database  # noqa: PLC0415 - the engine, for this comparison alone
    from lakegate.engine.native_backend import Process  # noqa: PLC0415 - likewise
    from lakegate.engine.read.data_source import path_of  # noqa: PLC0415 - likewise
    from lakegate.features.derived.derived_rows import ROWS  # noqa: PLC0415 - likewise
    from lakegate.job.job_storage import keep  # noqa: PLC0415 - likewise

    with database(folder) as connection:
        backend = Process(connection, request, plan, store, lambda _: None, keep)
        return [path_of(each.uri) for each in ROWS.write(plan, request, backend)]


def are_same_rows(some: Iterable[Path], others: Iterable[Path]) -> bool:
    """Whether files of Parquet have the same rows in the same order, however they are divided into files and row groups."""
    left, right = _batches(some), _batches(others)
    one = other = None
    while True:
        one = one if one is not None and len(one) else next(left, None)
        other = other if other is not None and len(other) else next(right, None)
        if one is None or other is None:
            return one is other
        length = min(len(one), len(other))
        if not one.slice(0, length).equals(other.slice(0, length)):
            return False
        one, other = one.slice(length), other.slice(length)


def _batches(paths: Iterable[Path]) -> Iterator[pa.RecordBatch]:
    """The rows of files, floats by their bits: a NaN equals itself."""
    import pyarrow as pa  # noqa: PLC0415 - likewise
    from pyarrow.parquet import ParquetFile  # noqa: PLC0415 - likewise

    for path in paths:
        with ParquetFile(path) as file:
            for batch in filter(len, file.iter_batches()):
                columns = [each.view(pa.int64()) if each.type == pa.float64() else each for each in batch.columns]
                yield pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _in_words(_: VerifiedChain, compared: Compared) -> Iterator[str]:
    return compared_in_words(compared, "derivation", "computed again", "the rows of each are as they were accepted")


DERIVATION: Final = ChainComparison(
    "Run the query of every accepted delivery of a derived dataset again, and compare its rows.",
    "the rows of a derived dataset",
    _compared,
    _in_words,
    about="With --derivation, the query of a derived dataset is run again over the accepted data of its inputs, up to the "
    "heights that each block names.",
)
