"""The current state of a dataset: which of its accepted deliveries count, as a pure function of its blocks.

A delivery is not current if a person recalled it, or if it is superseded: a delivery that names its height in `supersedes` is not
recalled, or is superseded itself. So whoever recalls a wrong correction gets the former state back, and recalling the middle one
of three corrections changes nothing else. A delivery supersedes lower heights alone, so one pass from the top decides.

The state at an earlier height is that of the blocks up to it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from operator import itemgetter
from typing import Final

from lakegate.base.json_codec import Exact
from lakegate.base.timestamps import OptionalMoment
from lakegate.gate.ledger.blocks import AnyBlock, Block, Record

RECALL: Final = "recall"
"""The kind of the record by which a person takes a delivery out."""
RESTORE: Final = "restore"
"""The kind of the record by which a person puts it back."""
_WRITTEN: Final = (*(f'"kind":"{kind}"'.encode() for kind in (RECALL, RESTORE)), b'"supersedes":[')

HeightRange = tuple[Exact, Exact]
"""The first and the last height."""


@dataclass(frozen=True, slots=True)
class NotCurrent:
    """Accepted deliveries that are not part of the current state, by their heights: ranges, the lowest first."""

    height: int = -1
    """Of the last block by which the current state lost or got back a delivery."""
    since: OptionalMoment = ""
    """Its time."""
    recalled: tuple[HeightRange, ...] = ()
    superseded: tuple[HeightRange, ...] = ()

    def __contains__(self, height: int) -> bool:
        return self.why(height) is not None

    def why(self, height: int) -> str | None:
        """By what a delivery is taken out: `recalled` comes before `superseded`; None: it is current."""
        for word, ranges in (("recalled", self.recalled), ("superseded", self.superseded)):
            place = bisect_right(ranges, height, key=itemgetter(0)) - 1
            if place >= 0 and height <= ranges[place][1]:
                return word
        return None

    def returned(self, later: NotCurrent, top: int) -> frozenset[int]:
        """The heights up to a top that are current again by a later state."""
        ranges = (*self.recalled, *self.superseded)
        heights = (height for first, last in ranges for height in range(first, min(last, top) + 1))
        return frozenset(height for height in heights if height not in later)


ALL_CURRENT: Final = NotCurrent()


def not_current(blocks: Iterable[AnyBlock]) -> NotCurrent:
    """Deliveries that are not current by the blocks of a chain, in order. Those that are no change may be missing.

    Of the blocks above a height it is right about that height and those above.
    """
    changes = [block for block in blocks if is_change(block)]
    if not changes:
        return ALL_CURRENT
    recalled: set[int] = set()
    for record in changes:
        if isinstance(record, Record):
            (recalled.add if record.kind == RECALL else recalled.discard)(record.content["height"])
    superseded: set[int] = set()
    for block in reversed(changes):
        if isinstance(block, Block) and (block.height not in recalled or block.height in superseded):
            superseded.update(block.supersedes)
    return NotCurrent(changes[-1].height, changes[-1].system_time, _ranges(recalled), _ranges(superseded))


def not_current_after(before: NotCurrent, blocks: Iterable[AnyBlock]) -> NotCurrent | None:
    """Deliveries that are not current after further blocks; None where that depends on blocks below, too."""
    changes = [block for block in blocks if is_change(block)]
    if not changes:
        return before
    superseded = {height for block in changes if isinstance(block, Block) for height in block.supersedes}
    if any(isinstance(block, Record) for block in changes) or any(height in before for height in superseded):
        return None
    last = changes[-1]
    return NotCurrent(
        last.height, last.system_time, before.recalled, _merged((*before.superseded, *_ranges(superseded)))
    )


def is_change(block: AnyBlock) -> bool:
    """Whether a block takes a delivery out of the current state, or puts one back."""
    return block.kind in {RECALL, RESTORE} if isinstance(block, Record) else bool(block.supersedes)


def may_be_change(text: bytes) -> bool:
    """Whether the stored text of a block may be one of these: without decoding it."""
    return any(each in text for each in _WRITTEN)


def _merged(ranges: Iterable[HeightRange]) -> tuple[HeightRange, ...]:
    found: list[HeightRange] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return tuple(found)


def _ranges(heights: Iterable[int]) -> tuple[HeightRange, ...]:
    return _merged((height, height) for height in heights)
