"""The partial result of a share: counts, moments, failing records and their bitmaps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from lakegate.engine.read.data_source import Level, Malformed

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from lakegate.engine.measure.delivered_period import ChunkPeriods

Bit = tuple[Level, str]
"""A predicate of a program: the level, and the name of its bit."""


@dataclass(slots=True)
class Moments:
    """Sums and extremes of numbers: exact for whole numbers, otherwise almost independent of their order."""

    count: int = 0
    total: float | int = 0
    least: float | int | None = None
    greatest: float | int | None = None
    squares: float = 0.0
    """The sum of the squared distances from the mean."""
    members: int = 0
    """Of members of a list the bits of those that occur; then there are no other numbers."""

    def add(self, other: Moments) -> None:
        """Add the numbers of another share, which is not changed (Chan, Golub and LeVeque 1979 for the squares)."""
        if not other.count:
            return
        if self.count:
            distance = other.mean - self.mean
            self.squares += distance * distance * (self.count * other.count / (self.count + other.count))
        known = [self] if self.count else []
        self.squares += other.squares
        self.least = min((moments.least for moments in (*known, other) if moments.least is not None), default=None)
        self.greatest = max(
            (moments.greatest for moments in (*known, other) if moments.greatest is not None), default=None
        )
        self.members |= other.members
        self.total += other.total
        self.count += other.count

    @property
    def mean(self) -> float:
        """The mean of at least one number."""
        return float(self.total / self.count)


@dataclass(slots=True)
class LevelCounts:
    """The counts of the records (or the elements) of a level."""

    rows: int = 0
    """Judged ones."""
    bits: dict[str, int] = field(default_factory=dict)
    """The number of records in which each bit of the program is set."""
    numbers: dict[str, Moments] = field(default_factory=dict)

    def over(self, bit: str | None) -> int:
        """Records in which a bit is set; without a bit, all judged ones."""
        return self.rows if bit is None else self.bits.get(bit, 0)

    def add(self, other: LevelCounts) -> None:
        """Add those of another share."""
        self.rows += other.rows
        for name, count in other.bits.items():
            self.bits[name] = self.bits.get(name, 0) + count
        for name, moments in other.numbers.items():
            self.numbers.setdefault(name, Moments()).add(moments)


@dataclass(frozen=True, slots=True)
class AscendingLines:
    """Ascending lines of records. The driver has those of all records, which are as a rule one after the other."""

    first: int
    count: int
    steps: NDArray[np.unsignedinteger[Any]] | None = None
    """From each to the next; None: one."""

    @staticmethod
    def of(lines: NDArray[np.int64]) -> AscendingLines:
        """The lines of an array."""
        if not len(lines):
            return AscendingLines(0, 0)
        steps = np.diff(lines)
        if (steps == 1).all():
            return AscendingLines(int(lines[0]), len(lines))
        return AscendingLines(int(lines[0]), len(lines), steps.astype(np.min_scalar_type(int(steps.max()))))

    def numbers(self) -> NDArray[np.int64]:
        """The lines as an array."""
        if self.steps is None:
            return np.arange(self.first, self.first + self.count, dtype=np.int64)
        numbers: NDArray[np.int64] = np.cumsum(np.concatenate([[self.first], self.steps]), dtype=np.int64)
        return numbers


@dataclass(frozen=True, slots=True)
class Broken:
    """Records of a chunk that break predicates: a bitmap for each; without one no record breaks it."""

    rows: AscendingLines
    """The line of each record in its share."""
    bitmaps: dict[Bit, pa.BooleanArray]


@dataclass(slots=True)
class Partial:
    """One share."""

    number: int
    """Of the share, in the order of the delivery."""
    lines: int = 0
    tail: int = 1
    """Lines of the last record."""
    size: int = 0
    levels: dict[Level, LevelCounts] = field(default_factory=dict)
    malformed: dict[str, Malformed] = field(default_factory=dict)
    """By reason."""
    failing: dict[Bit, list[tuple[int, str]]] = field(default_factory=dict)
    """The first failing records or elements: line in the share, and place in the record."""
    passing: dict[Bit, list[tuple[int, str]]] = field(default_factory=dict)
    """The same of the first ones that have a value and pass, of the first shares and of predicates of one field."""
    broken: list[Broken] = field(default_factory=list)
    periods: list[ChunkPeriods] = field(default_factory=list)
    """Of each chunk, in the order of `broken`."""
    extra: set[str] = field(default_factory=set)
    """Undeclared keys, in formats without a header; at most `MAX_COMPARED` of each chunk."""
    keys: set[tuple[str, ...]] = field(default_factory=set)
    """Places of declared keys that occur, in these formats."""
    evidence: frozenset[str] = frozenset()
    """Of the encoding, as in chunks."""
    cpu_seconds: float = 0.0
    """Processor seconds of the worker that evaluated it; 0 where the judge's own process did."""
