"""Records at the head of a chain, and the key that signs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from lakegate.base.errors import ConditionFailed, TransactionConflict
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Alarm, Effect, Steps, perform
from lakegate.gate.ledger.blocks import AnyBlock, Head, Record, event_id
from lakegate.gate.ledger.signatures import KEY, fingerprint, key_content
from lakegate.gate.person_decisions import LONGEST_REASON
from lakegate.gate.ports import SigningKey, SigningKeys
from lakegate.gate.table import ConditionName

# ---- A record at the head of a chain ----


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
    now, actor = dependencies.moment, actor or dependencies.identity.caller()
    return Record(kind, head.height + 1, head.digest, now, chain, actor, event, content)


# Where what is done is one transaction, the record is part of it (`Registry.publish`). Elsewhere it is appended before: nothing
# is done without a record, and who repeats a command after a crash completes what is recorded, without a second record.


TRIES_OF_COMMIT: Final = 20
"""Others may extend a busy chain first."""


def append(dependencies: Dependencies, kind: str, chain: str, content: Mapping[str, Any], event: str) -> Steps[None]:
    """Append a record unless its event is recorded already: idempotent. Raises TransactionConflict after `TRIES`."""
    for _ in range(TRIES_OF_COMMIT):
        record = record_at_head(dependencies, kind, chain, content, event)
        try:
            yield from perform(Effect.RECORD, dependencies.ledger.append, record)
        except ConditionFailed as refused:
            if ConditionName.EVENT in refused.reasons:
                return
            continue
        return
    raise TransactionConflict


def append_agreed(  # noqa: PLR0913, PLR0917 - a record has these parts
    dependencies: Dependencies,
    kind: str,
    chain: str,
    content: Mapping[str, Any],
    event: str,
    seen: int,
    agree: Callable[[tuple[AnyBlock, ...]], None],
) -> Steps[None]:
    """Append a record that depends on its chain, unless its event is recorded already.

    `agree` is called with all blocks above the height `seen`, and raises where they do not allow it: nothing is between them and
    the record. Raises TransactionConflict likewise.
    """
    for _ in range(TRIES_OF_COMMIT):
        above = dependencies.ledger.blocks(chain, seen)
        record = record_at_head(dependencies, kind, chain, content, event)
        if record.height != seen + len(above) + 1:
            continue
        if any(isinstance(block, Record) and block.event == event for block in above):
            return
        agree(above)
        with suppress(ConditionFailed):
            yield from perform(Effect.RECORD, dependencies.ledger.append, record)
    raise TransactionConflict


def is_one_line(written: str) -> bool:
    """Whether a text of a person may be kept as a reason; the empty one, too."""
    return written.isprintable() and len(written) <= LONGEST_REASON


# ---- The key of the stack ----
# The head is read first, and then the key: a worker that replaces the key meanwhile moves the head, and the record is refused. A
# commit has a condition of its own: that the chain names the key of the stack.


def signers(signing: SigningKeys, known: str, about: str) -> tuple[SigningKey, ...]:
    """Signers after the key `known` (empty: nobody before): none, the stack's key, or the one that it replaces and that.

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
        yield from perform(Effect.RECORD, dependencies.ledger.append, record)
    return True
