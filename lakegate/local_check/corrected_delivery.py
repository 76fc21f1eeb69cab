"""A rejected delivery with its corrected rows: what is delivered in its place.

Of a delivery that was rejected whole that is all of it, with the corrected rows in the places of the rows that failed. Of one
whose bad rows were rejected alone (`onReject: rows`) the others are published already, so it is the corrected rows alone; with
`replaces` the others, too, because it takes their place.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from filecmp import cmp
from itertools import chain, groupby
from pathlib import Path
from typing import Final

import pyarrow as pa

from lakegate.admission.multi_file_delivery import FORMAT, MANIFEST, SUCCESS, folder_of
from lakegate.base.errors import InputError
from lakegate.base.text import plural
from lakegate.contract.delivery_policy import DeliveryUnit, Replaces
from lakegate.contract.file_formats import Format
from lakegate.engine.read.compressed_streams import ARROW_CODECS
from lakegate.engine.read.csv import CsvSource
from lakegate.engine.read.data_source import LINE, LocalStore, Source
from lakegate.engine.read.json import JsonSource
from lakegate.engine.read.open_delivery import open_source
from lakegate.engine.rejected_rows import Rejected, rejected_records
from lakegate.engine.rewritten_objects import RecordChange, TableRow, as_stored, rewrite_parquet, rewrite_text
from lakegate.gate.datasets.delivery_standing import correction_of
from lakegate.gate.delivery.find_deliveries import Delivery
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.ledger.blocks import Block, BlockKind
from lakegate.library.described_deliveries import SHORT_ID, OtherDelivery
from lakegate.local_check.check_data import ShowProgress
from lakegate.local_check.corrected_rows import REASONS, CorrectedRow, CorrectedRows, RowPlace, records_of
from lakegate.local_check.failing_rows_file import PLACE, on_one_line
from lakegate.local_check.quarantined_data import (
    accepted_files,
    fetch_quarantined,
    find_failing_rows,
    plan_of_rejection,
    quarantined_files,
)
from lakegate.plan.plan import Plan
from lakegate.plan.request import StagedPart

NAMED: Final = 3
"""Rows that are named in an error."""


@dataclass(frozen=True, slots=True)
class CorrectedFile:
    """A file to deliver."""

    path: Path
    key: str
    """In the landing bucket: that of the object in whose place it comes."""


@dataclass(frozen=True, slots=True)
class CorrectedDelivery:
    """What is delivered in the place of a rejected delivery."""

    workload: str
    """The rejected one."""
    files: tuple[CorrectedFile, ...]
    """In the order in which they are to be uploaded: what completes a delivery of several objects is the last."""
    corrected: int
    """Rows."""
    left_out: int
    """Failing rows that the file does not have."""
    is_completed: bool
    """Whether its last file completes it; else nothing but time does."""


@dataclass(slots=True)
class _Counts:
    corrected: int = 0
    left_out: int = 0
    missing: list[RowPlace] = field(default_factory=list)


def correct_delivery(  # noqa: PLR0913 - a delivery, its correction, and how it is made
    dependencies: Dependencies,
    delivery: Delivery,
    fixed: Path,
    folder: Path,
    show: ShowProgress,
    *,
    leave_out: bool,
    again: bool,
) -> CorrectedDelivery:
    """Write what corrects a delivery below a folder for temporary files. Raises InputError where it cannot be corrected.

    `fixed`: its failing rows as `reasons --rows` writes them, or as they are in quarantine, corrected. `leave_out`: failing rows
    that it does not have are left out of the delivery. `again`: also where an accepted delivery corrects it already.
    """
    block, files = quarantined_files(dependencies, delivery)
    plan = plan_of_rejection(dependencies, delivery, block)
    _refuse_other_format(plan, delivery, fixed, is_split=block.kind is BlockKind.PUBLISHED)
    if not again and plan.policy.replaces is Replaces.NOTHING:
        _refuse_second(dependencies, delivery, block)
    with show("fetching the quarantined data", sum(each.size for each in files)) as arrived:
        fetch_quarantined(dependencies, block, files, folder / "data", arrived)
    places, keys = [folder / "data" / each.place for each in files], _keys(dependencies, delivery)
    if block.kind is BlockKind.PUBLISHED:
        target = folder / "corrected"
        beside = accepted_files(dependencies, block) if plan.policy.replaces is not Replaces.NOTHING else ()
        with show("fetching the accepted data", sum(each.size for each in beside)) as arrived:
            fetch_quarantined(dependencies, block, beside, folder / "accepted", arrived)
        accepted = [folder / "accepted" / each.place for each in beside]
        count = _write_alone(plan, places[0], accepted, fixed, target)
        return _corrected(delivery, plan, _complete(plan, [(target, keys[0])], folder), _Counts(count))
    if len(keys) != len(places):
        raise InputError(f"{delivery.key} was not complete when it was rejected: deliver all parts again")
    merge = _Merge(plan, fixed, folder, leave_out=leave_out)
    find_failing_rows(delivery, block, plan, places, show, merge.keep)
    if not merge.written:
        raise InputError(f"{delivery.key} was rejected for no single row: correct the whole of it, and upload it again")
    pairs = [(merge.written.get(part, place), key) for part, (place, key) in enumerate(zip(places, keys, strict=True))]
    if not merge.differs or all(cmp(at, places[part], shallow=False) for part, at in merge.written.items()):
        raise InputError(f"no row of {fixed} differs from what was rejected: correct them first")
    return _corrected(delivery, plan, _complete(plan, pairs, folder), merge.counts)


def _corrected(delivery: Delivery, plan: Plan, files: tuple[CorrectedFile, ...], counts: _Counts) -> CorrectedDelivery:
    is_completed = plan.policy.delivery is not DeliveryUnit.QUIET
    return CorrectedDelivery(delivery.id, files, counts.corrected, counts.left_out, is_completed)


def _refuse_other_format(plan: Plan, delivery: Delivery, fixed: Path, *, is_split: bool) -> None:
    ending, name = plan.storage.rows_suffix, delivery.id[:12]
    if ending is None:
        raise InputError(
            f"rows of {plan.storage.format.value} cannot be put back into their file: correct the file, and upload it again"
        )
    get = f"lakegate get --quarantined {name} FOLDER" if is_split else f"lakegate reasons {name} --rows bad{ending}"
    if not fixed.is_file():
        raise InputError(f"{fixed} is no file: `{get}` has the rows to correct")
    if not is_split and not fixed.name.endswith(ending):
        raise InputError(
            f"{fixed}: rows of {delivery.key} are delivered again from a {ending} file, as `{get}` writes it"
        )


def _refuse_second(dependencies: Dependencies, delivery: Delivery, block: Block) -> None:
    correction = correction_of(dependencies, block)
    if correction is not None:
        recall = f"lakegate recall {correction.workload[:SHORT_ID]} --reason REASON"
        raise InputError(
            f"{delivery.key} is corrected by the delivery {OtherDelivery.of(correction).in_words} already, and its rows would "
            f"count twice: take that one out with `{recall}`, or give --again"
        )


def _keys(dependencies: Dependencies, delivery: Delivery) -> list[str]:
    """The landing keys of its objects, in the order in which they are in quarantine."""
    if delivery.row is None or delivery.row.parts is None:
        return [delivery.key]
    listed = DeliveryTurn(dependencies, delivery.row).landed
    folder = folder_of(delivery.key)
    return [folder + part.key.rpartition("/")[2] for part in listed.parts]


def _complete(plan: Plan, pairs: list[tuple[Path, str]], folder: Path) -> tuple[CorrectedFile, ...]:
    """The files with the object that completes a delivery of several."""
    files = tuple(CorrectedFile(*pair) for pair in pairs)
    unit = plan.policy.delivery
    if unit not in {DeliveryUnit.SUCCESS, DeliveryUnit.MANIFEST}:
        return files
    name, content = SUCCESS, ""
    if unit is DeliveryUnit.MANIFEST:
        parts = [{"key": each.key.rpartition("/")[2], "size": each.path.stat().st_size} for each in files]
        name, content = MANIFEST, json.dumps({"format": FORMAT, "parts": parts})
    marker = folder / "completed"
    marker.write_text(content, encoding="utf-8")
    return (*files, CorrectedFile(marker, folder_of(files[0].key) + name))


# ---- A delivery that was rejected whole ----


@dataclass(slots=True)
class _Merge:
    """Corrected rows in the places of failing ones; is told the failing rows, and writes what they are in."""

    plan: Plan
    fixed: Path
    folder: Path
    leave_out: bool = field(kw_only=True)
    counts: _Counts = field(default_factory=_Counts)
    written: dict[int, Path] = field(default_factory=dict)
    """By part, what it is now; of parts without a failing row nothing."""
    differs: bool = False
    """Whether a row is another one, or left out. Rows of tables are not compared: their files are."""

    def keep(self, source: Source, rejected: Rejected, lines_before: list[int]) -> None:
        """Write each part with a failing row (`lakegate.engine.attempt.KeepRejected`)."""
        found = rejected_records(source, rejected, lines_before)
        is_text = isinstance(source, CsvSource | JsonSource)
        failing = (
            (RowPlace(part, row), line)
            for part, rows, _, records in found
            for row, line in zip(rows, records.column(LINE).to_pylist() if is_text else [None] * len(rows), strict=True)
        )
        names = source.columns.found if isinstance(source, CsvSource) and self.plan.csv.header else ()
        corrected = CorrectedRows(self.fixed, self.plan, PLACE, names).rows()
        changes = self._changes(failing, corrected)
        for part, own in groupby(changes, lambda change: change[0].part):
            target = self.folder / f"part-{part}"
            of_part = (RecordChange(place.row - 1, record) for place, record in own)
            if isinstance(source, CsvSource | JsonSource):
                rewrite_text(source, part, of_part, target)  # type: ignore[arg-type]  # rows of text are bytes
            else:
                rewrite_parquet(source, LocalStore(), part, of_part, target)  # type: ignore[arg-type]  # of tables not
            self.written[part] = target
        if self.counts.missing:
            self._refuse_missing()

    def _changes(
        self, failing: Iterable[tuple[RowPlace, bytes | None]], corrected: Iterator[CorrectedRow]
    ) -> Iterator[tuple[RowPlace, bytes | TableRow | None]]:
        """What stands in the place of each failing row. InputError for a corrected row that is none of them.

        `failing`: with its line, of text.
        """
        at, row = self._next(None, corrected)
        for place, line in failing:
            if at is not None and at < place:
                raise self._unknown(at)
            if at == place:
                assert row is not None
                self.counts.corrected += 1
                self.differs |= line is None or self._essence(row.record) != self._essence(line)
                yield place, row.record
                at, row = self._next(at, corrected)
            else:
                self.counts.left_out += 1
                self.differs = True
                if not self.leave_out and len(self.counts.missing) < NAMED:
                    self.counts.missing.append(place)
                yield place, None
        if at is not None:
            raise self._unknown(at)

    def _essence(self, record: bytes | TableRow) -> bytes | TableRow:
        """A record as the file of failing rows has it."""
        return on_one_line(record) if isinstance(record, bytes) and self.plan.storage.format.is_json else record

    def _next(
        self, before: RowPlace | None, corrected: Iterator[CorrectedRow]
    ) -> tuple[RowPlace | None, CorrectedRow | None]:
        row = next(corrected, None)
        at = row.place if row else None
        if at is not None and before is not None and at <= before:
            words = "is there twice" if at == before else f"stands behind {before}"
            raise InputError(f"{self.fixed}: {at} {words}: keep the order of `_part` and `_row`, and each row once")
        return at, row

    def _unknown(self, at: RowPlace) -> InputError:
        return InputError(f"{self.fixed}: {at} is none of the rejected rows of this delivery: leave it out")

    def _refuse_missing(self) -> None:
        named = ", ".join(map(str, self.counts.missing))
        more = ", …" if self.counts.left_out > len(self.counts.missing) else ""
        raise InputError(
            f"{self.fixed} lacks {plural(self.counts.left_out, 'failing row')} ({named}{more}): correct all of them, or deliver "
            "without those that are not in the file: --leave-out"
        )


# ---- Rows that were rejected alone ----


def _write_alone(plan: Plan, quarantined: Path, accepted: list[Path], fixed: Path, target: Path) -> int:
    """Write corrected rows as a delivery of their own; how many they are. `quarantined`: a file of those that were rejected.

    `accepted`: files of the others, which stand before them where the delivery takes the place of the one that it corrects.
    """
    if plan.storage.format is Format.PARQUET:
        count = _write_table(CorrectedRows(fixed, plan, REASONS), quarantined, accepted, target)
    else:
        above = b""
        names: tuple[str, ...] = ()
        if plan.storage.format is Format.CSV and (plan.csv.header or plan.csv.skip_rows):
            source = _opened(plan, quarantined)
            above = source.titles
            if source.header is not None:
                header = f"{source.header}\n".removeprefix(f"{REASONS[0]}{plan.csv.delimiter}")
                above += header.encode(plan.csv.encoding)
                names = source.columns.found[len(REASONS) :]
        rows = CorrectedRows(fixed, plan, REASONS, names)
        count = _write_lines(rows, chain([above], *(_lines(_opened(plan, each)) for each in accepted)), target)
    if not count:
        raise InputError(f"{fixed} has no rows")
    return count


def _opened(plan: Plan, place: Path) -> Source:
    return open_source(plan, (StagedPart(place.as_uri(), place.stat().st_size),), LocalStore())


def _lines(source: Source) -> Iterator[bytes]:
    """The records of a file of text, each with a line end; Spark wrote it."""
    for share in source.shares:
        if isinstance(source, CsvSource):
            yield from (record for _, record in records_of(source, share))
        else:
            assert isinstance(source, JsonSource)
            yield from (text + b"\n" for texts, _ in source.texts(share) for text in texts)


def _write_lines(rows: CorrectedRows, before: Iterable[bytes], target: Path) -> int:
    count, codec = 0, ARROW_CODECS.get(rows.plan.storage.compression)
    with target.open("wb") as plain, pa.CompressedOutputStream(plain, codec) if codec else plain as file:
        file.writelines(before)
        for count, row in enumerate(rows.rows(), 1):  # noqa: B007 - the last number counts them
            assert isinstance(row.record, bytes)
            file.write(row.record + b"\n")
    return count


def _write_table(rows: CorrectedRows, quarantined: Path, accepted: list[Path], target: Path) -> int:
    """With the types of the rejected rows."""
    from pyarrow.parquet import ParquetFile, ParquetWriter  # noqa: PLC0415 - for this format alone

    with ParquetFile(quarantined) as stored:
        schema = pa.schema([column for column in stored.schema_arrow if column.name not in REASONS])
        is_old = any(stored.schema.column(at).physical_type == "INT96" for at in range(len(stored.schema)))
    count = 0
    with ParquetWriter(target, schema, use_deprecated_int96_timestamps=is_old) as writer:
        for batch in (batch for each in accepted for batch in ParquetFile(each).iter_batches()):
            writer.write_table(as_stored(pa.Table.from_batches([batch]), schema))
        for count, row in enumerate(rows.rows(), 1):  # noqa: B007 - the last number counts them
            assert isinstance(row.record, TableRow)
            if row.record.at == 0:
                writer.write_table(as_stored(row.record.table, schema))
    return count
