"""A delivery as the rest of the job sees it, whatever its files are.

Columns of its frame: `part`, `id` (task and position), `bytes` (what reading must account for), `no_record` (header and blank
lines), `plain`, `malformed` and `line` (the record as it came); and of each declared field its text under the alias (`c0`) and
its typed value (`vc0`). Elements of lists and maps have frames of their own, one for each level, with the same columns of their
fields; `row` is there the `id` of the row, and `at` the place in it.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from contracts.kinds import UnreadableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import DataFrame

    from contracts.result import Columns

POSITION_BITS = 33
"""Spark's own: `monotonically_increasing_id` holds the task above these bits and the position in it below."""


@contextmanager
def object_number(number: int) -> Iterator[None]:
    """Whatever is unreadable in the block is so in that object of the delivery."""
    try:
        yield
    except UnreadableError as error:
        raise error.of_part(number) from None


@dataclass(frozen=True, slots=True)
class Delivery:
    """The records of a delivery, not yet read."""

    frame: DataFrame
    columns: Columns
    header: str | None
    """The header line as the file has it; None where it has none."""
    sizes: tuple[int, ...]
    """What the sum of `bytes` must be for each part: its bytes, or the rows that its footer counts."""
    slack: int = 0
    """How much more the sum may be: the last line of a text may lack its line feed, which each line is counted with."""
    addresses: tuple[str, ...] = ()
    levels: Mapping[tuple[str, ...], DataFrame] = field(default_factory=dict)
    has_extra: bool = False
    """Whether records say which keys of theirs nobody declared (`extra`), for want of a header that would."""
    level: tuple[str, ...] = ()
    """Of which level these are the elements; of none, where they are the records."""
    unit: str = "bytes"

    @property
    def kept(self) -> tuple[str, ...]:
        """What the narrow frame keeps beside the columns of every delivery."""
        return ("row",) if self.level else ("extra",) if self.has_extra else ()

    def at(self, level: tuple[str, ...]) -> Delivery:
        """The elements of one level as a delivery of their own; nothing of it is to be accounted for twice."""
        return replace(self, frame=self.levels[level], sizes=(), levels={}, has_extra=False, level=level)
