"""The ledger: one chain of blocks for each dataset line; each block contains the digest of the previous one."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from lakegate.contracts.lake.block import GENESIS, digest, stored_block

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from lakegate.contracts.lake.block import AnyBlock


class Wrong(StrEnum):
    """How a chain is broken."""

    UNREADABLE = "unreadable"
    """The stored text is not the canonical form of a block."""
    HEIGHT = "height"
    """A block is missing, duplicated or out of order."""
    ALTERED = "altered"
    """The block's digest differs from the one in the next block or the anchor."""
    CHAIN = "chain"
    """The block belongs to another chain than the first."""
    ANCHOR = "anchor"
    """The chain does not reach the anchored height."""
    HEAD = "head"
    """There are blocks above the head: the head was reset or removed."""


@dataclass(frozen=True, slots=True)
class ChainFault:
    """One fault. `height` is the lowest block that may have been changed: no block from there on can be trusted.

    A broken link shows that one of its two blocks has changed, but not which one: the lower one is reported.
    """

    height: int
    what: Wrong


def verify(
    blocks: Iterable[AnyBlock], head: str | None = None, anchors: Mapping[int, str] | None = None
) -> tuple[ChainFault, ...]:
    """Verify a chain from height 0. Returns all faults, lowest block first; empty if the chain is intact.

    A chain proves its own order. That its end is not truncated or rewritten needs an external proof: `head` is the digest of the
    last block, `anchors` are digests published elsewhere, by height.
    """
    return _faults(((block, digest(block)) for block in blocks), head, anchors or {})


def verify_stored(
    texts: Iterable[bytes], head: str | None = None, anchors: Mapping[int, str] | None = None
) -> tuple[ChainFault, ...]:
    """Like `verify`, for stored canonical forms: an unreadable text is a fault, not an exception."""
    return _faults((_read(text) for text in texts), head, anchors or {})


def _read(text: bytes) -> tuple[AnyBlock | None, str]:
    block = stored_block(text)
    return block, hashlib.sha3_256(text).hexdigest() if block else ""


def _faults(
    digested: Iterable[tuple[AnyBlock | None, str]], head: str | None, anchors: Mapping[int, str]
) -> tuple[ChainFault, ...]:
    faults: list[ChainFault] = []
    below: AnyBlock | None = None
    top, last = GENESIS, -1
    for height, (block, own) in enumerate(digested):
        if block is None:
            faults.append(ChainFault(height, Wrong.UNREADABLE))
        else:
            faults.extend(_against(below, top, block, height))
        if anchors.get(height, own) != own:
            faults.append(ChainFault(height, Wrong.ALTERED))
        below, top, last = block or below, own, height
    if head is not None and head != top:
        faults.append(ChainFault(max(last, 0), Wrong.ALTERED))
    faults.extend(ChainFault(last + 1, Wrong.ANCHOR) for height in anchors if height > last)
    return tuple(sorted(set(faults), key=lambda fault: (fault.height, fault.what)))


def _against(below: AnyBlock | None, top: str, block: AnyBlock, height: int) -> Iterator[ChainFault]:
    if block.height != height:
        yield ChainFault(height, Wrong.HEIGHT)
    if block.previous != top:
        yield ChainFault(max(height - 1, 0), Wrong.ALTERED)
    if below and below.chain != block.chain:
        yield ChainFault(height, Wrong.CHAIN)
