"""The standing of one accepted delivery in its dataset: recalled, superseded, or current."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lakegate.gate.datasets.current_deliveries import RECALL, is_change, not_current
from lakegate.gate.ledger.blocks import Block, BlockKind, Record, deliveries

if TYPE_CHECKING:
    from lakegate.gate.dependencies import Dependencies


class DeliveryStanding(NamedTuple):
    """An accepted delivery in its dataset."""

    dataset: str
    height: int
    """Of its block."""
    decided: Record | None
    """The last record by which a person recalled or restored it."""
    superseded_by: Block | None
    """The delivery in its place now."""
    supersedes: tuple[int, ...]
    """Heights of the deliveries in whose place it came."""
    accepted_at: str = ""
    """The time of its block; empty where the chain has none."""

    @property
    def superseded(self) -> bool:
        """Whether another delivery is in its place."""
        return self.superseded_by is not None

    @property
    def recalled(self) -> bool:
        """Whether a person has recalled it, and nobody has restored it."""
        return self.decided is not None and self.decided.kind == RECALL

    @property
    def not_current(self) -> str | None:
        """As `NotCurrent.why`."""
        return "recalled" if self.recalled else "superseded" if self.superseded else None


def standing_of(dependencies: Dependencies, chain: str, height: int) -> DeliveryStanding:
    """The standing of the accepted delivery with the block at a height, by that block and those above it."""
    blocks = dependencies.ledger.blocks(chain, height - 1, strict=False)
    above = [block for block in blocks if block.height > height]
    about = [block for block in above if isinstance(block, Record) and is_change(block)]
    decided = next((record for record in reversed(about) if record.content["height"] == height), None)
    others = [block for block in above if not isinstance(block, Record) or block.content.get("height") != height]
    state = not_current(others)
    places, in_place = {height}, None
    for block in deliveries(above) if height in state else ():
        if not places.isdisjoint(block.supersedes):
            places.add(block.height)
            in_place = in_place if state.why(block.height) == "recalled" else block
    own = next((block for block in deliveries(blocks) if block.height == height), None)
    of_block = (own.supersedes, own.system_time) if own else ((), "")
    return DeliveryStanding(chain, height, decided, in_place, *of_block)


def changed_with(dependencies: Dependencies, standing: DeliveryStanding) -> tuple[Block, ...]:
    """The deliveries that one had superseded, and that its last recall put back, or its last restoration took out again."""
    return changed_by(dependencies, standing, standing.decided) if standing.decided else ()


def changed_by(dependencies: Dependencies, standing: DeliveryStanding, decided: Record) -> tuple[Block, ...]:
    """The same for the record of a recall or restoration, whether or not it is in the chain already."""
    if not standing.supersedes:
        return ()
    blocks = dependencies.ledger.blocks(standing.dataset, min(standing.supersedes) - 1, strict=False)
    below = [block for block in blocks if block.height < decided.height]
    before, after = not_current(below), not_current([*below, decided])
    others = (block for block in deliveries(blocks) if block.height in standing.supersedes)
    return tuple(block for block in others if (block.height in before) is not (block.height in after))


def correction_of(dependencies: Dependencies, rejected: Block) -> Block | None:
    """The newest accepted delivery that says it corrects a rejected one, and is current; None where none is."""
    above = dependencies.ledger.blocks(rejected.chain, rejected.height, strict=False)
    state = not_current(above)
    for block in reversed(deliveries(above)):
        is_accepted = block.kind is BlockKind.PUBLISHED and block.height not in state
        if block.corrects == rejected.workload and is_accepted:
            return block
    return None
