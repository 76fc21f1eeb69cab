"""A person takes an accepted delivery out of the current state of its dataset (recall), or puts it back (restore).

Nothing is deleted or moved: record, event and the mark that the readers' manifest is to be written again are one transaction, on
the chain as it was read. The record is what counts; `lakegate.gate.datasets.current_deliveries` reads it. Who may write the
manifest does it at once, else the next sweep does.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Final

from lakegate.base.errors import ConditionFailed, InputError, TransactionConflict
from lakegate.gate.carry_out_decision import DecisionKind
from lakegate.gate.datasets import lifecycle, readers_manifest
from lakegate.gate.datasets.current_deliveries import RECALL as RECALLED
from lakegate.gate.datasets.current_deliveries import RESTORE as RESTORED
from lakegate.gate.datasets.delivery_standing import changed_by, standing_of
from lakegate.gate.datasets.subscriptions import OF_ALL
from lakegate.gate.delivery.delivery_row import Workload
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.replay import named_row
from lakegate.gate.delivery_store import message_row
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Effect, Steps, perform
from lakegate.gate.event_bodies import ChangedDelivery, RecallEvent
from lakegate.gate.ledger.blocks import event_id
from lakegate.gate.ledger.commit import TRIES_OF_COMMIT, is_one_line, record_at_head
from lakegate.gate.ledger.ledger_store import record_writes
from lakegate.gate.person_decisions import LONGEST_REASON, PERSON_DECISIONS, WantedRecall, WantedRestoration
from lakegate.gate.table import Put


def carry_out(dependencies: Dependencies, workload: str, wanted: WantedRecall | WantedRestoration) -> Steps[Workload]:
    """The delivery, which is recalled or restored now, or was before. Idempotent.

    Raises InputError for a delivery that is not accepted, or was published as slices that are merged; for one that is to be
    restored and was not recalled; and for a reason that is empty or too long.
    """
    reason = wanted.reason.strip()
    if not (reason and is_one_line(reason)):
        raise InputError(
            f"the reason to {wanted.transition} a delivery is one line of at most {LONGEST_REASON} characters"
        )
    row = named_row(dependencies, workload)
    if row.state is not State.PUBLISHED:
        raise InputError(f"only an accepted delivery can be recalled or restored, and {row.id[:12]} is {row.state}")
    chain, height = row.pinned.dataset, row.height
    for _ in range(TRIES_OF_COMMIT):
        head = dependencies.ledger.head(chain)  # first: by blocks above this head nothing is written
        standing = standing_of(dependencies, chain, height)
        if wanted.transition == RESTORED and standing.decided is None:
            raise InputError(f"{row.id[:12]} was not recalled")
        if standing.recalled is (wanted.transition == RECALLED):
            return row
        _refuse_merged(dependencies, row)
        event = event_id(wanted.transition, row.id, standing.decided.height if standing.decided else -1)
        content = {"workload": row.id, "height": height, "reason": reason}
        record = record_at_head(dependencies, wanted.transition, chain, content, event, head=head)
        dataset = dependencies.datasets.get(chain)
        body = RecallEvent(
            dataset=chain,
            workload=row.id,
            height=height,
            actor=record.actor,
            reason=reason,
            current=wanted.transition == RESTORED and not standing.superseded,
            subscribers=lifecycle.list_subscribers(dataset, OF_ALL),
            accepted_at=standing.accepted_at or None,
            changed_with=tuple(
                ChangedDelivery(other.workload, other.height) for other in changed_by(dependencies, standing, record)
            ),
        )
        kind = PERSON_DECISIONS[wanted.transition].done
        news = lifecycle.dataset_message(dependencies, kind, chain, event, body)
        writes = (*record_writes(record), Put(message_row(news)))
        with suppress(ConditionFailed):
            after = replace(dataset, listed=False)
            yield from perform(Effect.RECORD, dependencies.datasets.write, after, *writes)
            if dependencies.timing.lease:  # else the caller carries on nothing that it writes
                yield from readers_manifest.update(dependencies, chain)
            return row
    raise TransactionConflict


def _refuse_merged(dependencies: Dependencies, row: Workload) -> None:
    terms = dependencies.terms(row)
    if terms.as_slices and (terms.policy.merge_key or terms.snapshots):
        raise InputError(
            "its rows were merged into slices (`mergeStrategy`), and later slices are corrections of them: deliver the right"
            " values of the same keys, or the right snapshot"
        )


def _is_restorable(dependencies: Dependencies, row: Workload) -> bool:
    if row.state is not State.PUBLISHED:
        return False
    return standing_of(dependencies, row.pinned.dataset, row.height).decided is not None


RECALL: Final = DecisionKind(
    lambda _, row: row.state is State.PUBLISHED,
    lambda _: False,
    lambda row: f"Only an accepted delivery can be recalled, and it is {row.state}.",
    carry_out,
    chooses=True,
)
RESTORE: Final = DecisionKind(
    _is_restorable,
    lambda _: False,
    lambda _: "It was not recalled.",
    carry_out,
    chooses=True,
)
