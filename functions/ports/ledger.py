"""The chains of blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lakegate.contracts.lake.block import AnyBlock, Block
    from lakegate.contracts.lake.records import Record
    from lakegate.contracts.lake.signatures import SignedText
    from lakegate.functions.ports.workloads import Expected, NextSlice
    from lakegate.functions.workload import Message, Workload


class Head(NamedTuple):
    """The top of a chain: height -1 and GENESIS before the first block."""

    height: int
    digest: str


class CommittedBlock(NamedTuple):
    """Where the one block of a delivery is."""

    chain: str
    height: int


class Ledger(Protocol):
    """The chains of blocks."""

    def head(self, chain: str) -> Head:
        """The top of the chain; strongly consistent."""
        ...

    def heads(self, chains: Sequence[str]) -> tuple[Head, ...]:
        """The tops of these chains, in their order; each strongly consistent, but not of one moment. Raises Throttled."""
        ...

    def digests(self, places: Sequence[tuple[str, int]]) -> tuple[str, ...]:
        """The digest of the block at each chain and height, computed of what is stored; empty where there is none. As `heads`."""
        ...

    def blocks(self, chain: str, above: int = -1, *, strict: bool = True) -> tuple[AnyBlock, ...]:
        """The blocks above a height, in order; strongly consistent.

        Raises UnreadableItem where one is no block. Not `strict`: it is left out.
        """
        ...

    def texts(self, chain: str) -> Iterator[bytes]:
        """Every block as it is stored, lowest first, read page by page."""
        ...

    def signed(self, chain: str) -> Iterator[SignedText]:
        """Likewise, each with its signature: what `lakegate.contracts.lake.ledger.verify_signed` is given."""
        ...

    def key(self, chain: str) -> str:
        """The fingerprint of the key that signs the chain, empty before its first record of one; strongly consistent."""
        ...

    def committed(self, workload: str) -> CommittedBlock | None:
        """Where the block of a delivery is; None before it is committed. Strongly consistent."""
        ...

    def commit(self, block: Block, workload: Workload, expected: Expected, message: Message) -> None:
        """**The commit**: terminal row, block, new head, outbox row, and what `committed` answers, in one transaction.

        Conditions: the row is at `expected` and carries the same result digest; the head is `block.previous` at
        `block.height - 1`; the block is absent; no block of the delivery is committed, whatever its row says.
        ConditionFailed.reasons: one entry each for row and head, `""` where it held, else `state` or `head`; where the delivery
        is committed, a third entry, `repeated`. A delivery with slices also needs the turn of its line, and ends it; without it
        there is a further entry, `turn`. Raises TransactionConflict, IdempotencyMismatch. The token is of the content.

        In a stack that signs, the block is written with its signature. Raises SigningDenied.
        """
        ...

    def append(self, record: Record) -> None:
        """Record and new head in one transaction.

        Conditions: the head is `record.previous` at `record.height - 1`; no chain has a record of the same event.
        ConditionFailed.reasons: one entry each, `""` where it held, else `head` or `event`. Raises TransactionConflict.

        A record that names a key is written with its signature, by the key that it replaces or, of the first, by itself; from
        then on `key` answers with it. Raises SigningDenied.
        """
        ...

    def mark(self, record: Record, before: NextSlice) -> None:
        """Record, new head and the watermark of the line in one transaction.

        Conditions: those of `append`, and that the next slice still begins as it did, with no delivery DECIDED; else the third
        reason is `turn`.
        """
        ...
