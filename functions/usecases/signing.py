"""The key of the stack in the chains that it signs: named by a record before its first signature.

The head is read first, and then the key: a worker that replaces the key meanwhile moves the head, and the commit is refused.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from lakegate.contracts.lake.lifecycle import moment
from lakegate.contracts.lake.records import Record, event_id
from lakegate.contracts.lake.signatures import KEY, fingerprint, key_content
from lakegate.functions.ports.errors import ConditionFailed
from lakegate.functions.usecases.steps import Alarm, Effect, perform

if TYPE_CHECKING:
    from lakegate.functions.ports.ledger import Head
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.steps import Steps


def names_key(dependencies: Dependencies, chain: str, head: Head, workload: str) -> Steps[bool]:
    """Append the record that names the stack's key, where the chain is not signed by it; whether the head has moved.

    Raises Alarm where the chain is signed, and the stack has neither its key nor a key that replaces it.
    """
    known, (current, replaced) = dependencies.ledger.key(chain), dependencies.signing
    if current is None:
        if known:
            raise Alarm("signing-key-missing", workload)
        return False
    public_key = current.public_key()
    if known == fingerprint(public_key):
        return False
    if known and (replaced is None or known != fingerprint(replaced.public_key())):
        raise Alarm("signing-key-differs", workload)
    content = key_content(public_key, known or None)
    now = moment(dependencies.clock.now())
    event = event_id(KEY, chain, content["key"], head.digest)
    record = Record(KEY, head.height + 1, head.digest, now, chain, current.arn, event, content)
    with suppress(ConditionFailed):  # somebody else moved the head
        yield from perform(Effect.RECORD, partial(dependencies.ledger.append, record))
    return True
