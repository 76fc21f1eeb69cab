"""Records that are rejected with `onReject: rows`: those that break a failed check of single rows, with their reasons."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakegate.engine.evaluate.predicate_sql import Programs
from lakegate.engine.measure.duckdb_tables import POSITION_BITS
from lakegate.engine.measure.partial_results import Bit, Broken, Partial
from lakegate.engine.read.data_source import ROW, Source
from lakegate.plan.check import Check, keys_of
from lakegate.plan.metrics import Metric
from lakegate.verdict.file_checks import RECORDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lakegate.engine.measure.duckdb_tables import Shared


@dataclass(frozen=True, slots=True)
class Rejected:
    """The records that break one of some checks."""

    checks: tuple[str, ...]
    """Their ids, in the order of the plan."""
    partials: list[Partial]
    bits: dict[str, Bit]
    """The predicate of each check that is decided by the record alone."""
    shared: dict[str, dict[int, NDArray[np.uint8]]]
    """Of each other check, by share that has one: a bit for each line, of records that share their key."""

    @staticmethod
    def of(blamed: tuple[Check, ...], programs: Programs, partials: list[Partial], shared: Shared) -> Rejected:
        """The records that break one of the `blamed` checks."""
        bits: dict[str, Bit] = {}
        marked: dict[str, dict[int, NDArray[np.uint8]]] = {}
        for check in blamed:
            own = next(program for program in programs.values() if check in program.checks)
            if check.metric is Metric.DUPLICATE_ROWS:
                keys = keys_of(check)
                assert keys is not None
                marked[check.id] = _marked(shared(own, keys), partials)
            else:
                predicate = (check.tolerate or check.accept).predicate
                assert predicate is not None
                bits[check.id] = own.level, own.predicates[predicate]
        return Rejected(tuple(check.id for check in blamed), partials, bits, marked)

    def count(self) -> int:
        """The number of rejected records."""
        found = [
            mask
            for partial in self.partials
            for broken in partial.broken
            if (mask := self.in_chunk(partial.number, broken)) is not None
        ]
        return int(sum(mask.sum() for mask in found))

    def reasons(self, partial: Partial) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The lines of a share's judged records, and for each a number with a bit for each check that it breaks."""
        lines = [broken.rows.numbers() for broken in partial.broken]
        masks = []
        for broken in partial.broken:
            mask = np.zeros(broken.rows.count, object)
            for at, check in enumerate(self.checks):
                found = self._breaks(check, partial.number, broken)
                if found is not None:
                    mask[found] |= 1 << at
            masks.append(mask)
        return np.concatenate(lines or [np.empty(0, np.int64)]), np.concatenate(masks or [np.empty(0, object)])

    def in_chunk(self, number: int, broken: Broken) -> NDArray[np.bool_] | None:
        """The rejected records of a chunk of a share; None if none is."""
        found = [each for check in self.checks if (each := self._breaks(check, number, broken)) is not None]
        return np.logical_or.reduce(found) if found else None

    def _breaks(self, check: str, number: int, broken: Broken) -> NDArray[np.bool_] | None:
        """Records of a chunk that break a check; None if none does."""
        if check in self.bits:
            bitmap = broken.bitmaps.get(self.bits[check])
            found: NDArray[np.bool_] | None = None if bitmap is None else bitmap.to_numpy(zero_copy_only=False)
            return found
        marks = self.shared[check].get(number)
        if marks is None:
            return None
        found = np.unpackbits(marks, bitorder="little").astype(np.bool_)
        return found[broken.rows.numbers()]


# ---- Whole records with their reasons ----


SEPARATOR = "; "
"""Between the reasons of a record."""


def reasons_of(
    found: pa.Table, lines: NDArray[np.int64], masks: NDArray[np.int64], checks: tuple[str, ...]
) -> tuple[NDArray[np.bool_], list[str]]:
    """Of each unchanged record (`Source.originals`) whether it was judged, and the checks that it breaks; none of a good one.

    `lines`, `masks`: of its share, as `Rejected.reasons` has them. A record that was not judged is malformed.
    """
    rows = found.column(ROW).to_numpy()
    at = np.minimum(np.searchsorted(lines, rows), max(0, len(lines) - 1))
    is_judged = lines[at] == rows if len(lines) else np.zeros(len(rows), np.bool_)
    broken = [
        int(mask) if judged else -1 for mask, judged in zip(masks[at] if len(lines) else rows, is_judged, strict=True)
    ]
    words = {mask: _words(mask, checks) for mask in set(broken)}
    return is_judged, [words[mask] for mask in broken]


def rejected_records(
    source: Source, rejected: Rejected, lines_before: list[int]
) -> Iterator[tuple[int, list[int], list[str], pa.Table]]:
    """The rejected records, some at a time: the number of their object, their rows in it, their reasons, and they themselves.

    `lines_before`: lines of the same object before each share. A share without one is not read again.
    """
    for partial in rejected.partials:
        lines, masks = rejected.reasons(partial)
        if not partial.malformed and not masks.any():
            continue
        for found in source.originals(source.shares[partial.number]):
            _, reasons = reasons_of(found, lines, masks, rejected.checks)
            own = found.filter(pa.array([each != "" for each in reasons], pa.bool_()))
            if len(own):
                rows = pc.add(own.column(ROW), lines_before[partial.number] + 1).to_pylist()
                yield source.shares[partial.number].part, rows, [each for each in reasons if each], own


def _words(mask: int, checks: tuple[str, ...]) -> str:
    """The broken checks of a record; of one that was not evaluated, that it is malformed."""
    return RECORDS if mask < 0 else SEPARATOR.join(check for at, check in enumerate(checks) if mask >> at & 1)


def _marked(ids: Iterator[pa.Array], partials: list[Partial]) -> dict[int, NDArray[np.uint8]]:
    """A bit for each line of the shares that contain some records: however many they are, they take no more memory."""
    found: dict[int, NDArray[np.bool_]] = {}
    lines = {partial.number: partial.lines for partial in partials}
    for some in ids:
        numbers = some.to_numpy()
        shares = numbers >> POSITION_BITS
        for share in np.unique(shares).tolist():
            own = found.setdefault(share, np.zeros(lines[share], np.bool_))
            own[numbers[shares == share] - (share << POSITION_BITS)] = True
    return {share: np.packbits(own, bitorder="little") for share, own in found.items()}
