"""The key of the stack in the chains that it signs: named by a record before its first signature.

The head is read first, and then the key: a worker that replaces the key meanwhile moves the head, and the commit is refused.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from lakegate.contracts.lake.records import event_id
from lakegate.contracts.lake.signatures import KEY, fingerprint, key_content
from lakegate.functions.ports.errors import ConditionFailed
from lakegate.functions.usecases.recording import record_at_head
from lakegate.functions.usecases.steps import Alarm, Effect, perform

if TYPE_CHECKING:
    from lakegate.functions.ports.ledger import Head
    from lakegate.functions.ports.signing import SigningKey, SigningKeys
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.steps import Steps


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
