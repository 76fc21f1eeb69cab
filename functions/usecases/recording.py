"""Records of the ledger: what a person did, with the caller's ARN.

Where what is done is one transaction, the record is part of it (`Registry.publish`). Elsewhere it is appended before: nothing
is done without a record, and who repeats a command after a crash completes what is recorded, without a second record.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from lakegate.contracts.lake.lifecycle import moment
from lakegate.contracts.lake.records import Record, event_id
from lakegate.functions.ports.errors import ConditionFailed, TransactionConflict
from lakegate.functions.usecases.steps import Effect, perform

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lakegate.functions.ports.ledger import Head
    from lakegate.functions.ports.registry import Proposal, Publication
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.steps import Steps

TRIES = 20
"""Others may extend a busy chain first."""


@dataclass(frozen=True, slots=True)
class Act:
    """What the ledger records when the registry is written."""

    kind: str
    """Of the record."""
    content: Callable[[Publication], Mapping[str, Any]]
    proposal: Proposal | None = None
    """Which the act approves, and removes."""


def published_by(proposal: Proposal | None = None) -> Act:
    """The act of publishing; the record names the approver as its actor, and who proposed."""

    def content(publication: Publication) -> Mapping[str, Any]:
        return {
            "version": publication.version,
            "status": publication.status,
            "document": publication.document,
            "plans": [{"dataset": dataset, "plan": plan} for dataset, plan in publication.plans],
            "unmeasured_rules": publication.unmeasured_rules,
            "proposed_by": proposal.proposer if proposal else None,
            **({"inherited_from": publication.inherited_from} if publication.inherited_from else {}),
        }

    return Act("publication", content, proposal)


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


def append(dependencies: Dependencies, kind: str, chain: str, content: Mapping[str, Any], event: str) -> Steps[None]:
    """Append a record unless its event is recorded already: idempotent. Raises TransactionConflict after `TRIES`."""
    for _ in range(TRIES):
        record = record_at_head(dependencies, kind, chain, content, event)
        try:
            yield from perform(Effect.RECORD, partial(dependencies.ledger.append, record))
        except ConditionFailed as refused:
            if "event" in refused.reasons:
                return
            continue
        return
    raise TransactionConflict
