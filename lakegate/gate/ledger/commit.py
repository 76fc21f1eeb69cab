"""Row, block, message and index written in one transaction."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from lakegate.errors import ConditionFailed
from lakegate.gate.effects import Alarm, Effect, perform
from lakegate.gate.ledger.blocks import Head, Record, event_id
from lakegate.gate.ledger.signatures import KEY, fingerprint, key_content
from lakegate.timestamps import moment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lakegate.gate.delivery.delivery_row import Workload
    from lakegate.gate.dependencies import Dependencies
    from lakegate.gate.effects import Steps
    from lakegate.gate.ledger.blocks import AnyBlock, Block
    from lakegate.gate.ledger.signatures import SignedText
    from lakegate.gate.ports import Message, SigningKey, SigningKeys
    from lakegate.gate.table import Expected

# ---- The chains of blocks ------------------------------------------------------------------------------------------


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
        """Likewise, each with its signature: what `lakegate.gate.ledger.verification.verify_signed` is given."""
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


# ---- Records of the ledger: what a person did, with the caller's ARN -----------------------------------------------
#
# Where what is done is one transaction, the record is part of it (`Registry.publish`). Elsewhere it is appended before: nothing
# is done without a record, and who repeats a command after a crash completes what is recorded, without a second
# record.


def record_at_head(  # noqa: PLR0913 - a record has these parts
    dependencies: Dependencies,
    kind: str,
    chain: str,
    content: Mapping[str, Any],
    event: str | None = None,
    *,
    head: Head | None = None,
    actor: str = "",
) -> Record:
    """The record as the next block of its chain; `head`: as it was read before, `actor`: who is not the caller.

    Without an event id, every record is an act of its own: for a transaction that recognises its own repetition.
    """
    head = head or dependencies.ledger.head(chain)
    event = event or event_id(kind, chain, head.digest)
    now, actor = moment(dependencies.clock.now()), actor or dependencies.identity.caller()
    return Record(kind, head.height + 1, head.digest, now, chain, actor, event, content)


# ---- The key of the stack in the chains that it signs: named by a record before its first signature ----------------
#
# The head is read first, and then the key: a worker that replaces the key meanwhile moves the head, and the commit is
# refused.


def signers(signing: SigningKeys, known: str, about: str) -> tuple[SigningKey, ...]:
    """Who signs after the key `known` (empty: nobody before): none, the stack's key, or the one that it replaces and that.

    Raises Alarm, about a workload or an anchor, where the stack has neither the key `known` nor one that replaces it.
    """
    current, replaced = signing
    if current is None:
        if known:
            raise Alarm("signing-key-missing", about)
        return ()
    if known in {"", fingerprint(current.public_key())}:
        return (current,)
    if replaced is None or known != fingerprint(replaced.public_key()):
        raise Alarm("signing-key-differs", about)
    return replaced, current


def names_key(dependencies: Dependencies, chain: str, head: Head, workload: str) -> Steps[bool]:
    """Append the record that names the stack's key, where the chain is not signed by it; whether the head has moved.

    Raises Alarm where the chain is signed, and the stack has neither its key nor a key that replaces it.
    """
    known = dependencies.ledger.key(chain)
    keys = signers(dependencies.signing, known, workload)
    if not keys or known == fingerprint(keys[-1].public_key()):
        return False
    content = key_content(keys[-1].public_key(), known or None)
    event = event_id(KEY, chain, content["key"], head.digest)
    record = record_at_head(dependencies, KEY, chain, content, event, head=head, actor=keys[-1].arn)
    with suppress(ConditionFailed):  # somebody else moved the head
        yield from perform(Effect.RECORD, partial(dependencies.ledger.append, record))
    return True
