"""Waiver: legal, recorded, until when, decided by."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from lakegate.admission.refusals import code_of
from lakegate.base.errors import ConditionFailed, InputError
from lakegate.base.timestamps import moment
from lakegate.contract.delivery_policy import PublishAs
from lakegate.gate.carry_out_decision import DecisionKind
from lakegate.gate.delivery.admit_delivery import refused_by_pin
from lakegate.gate.delivery.delivery_row import ChosenVersion, Waiver, Workload, replay_id
from lakegate.gate.delivery.pin_contract import pin_of, route_of
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.replay import fresh, named_row, unreplayable
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Effect, Steps, perform
from lakegate.gate.ledger.blocks import event_id
from lakegate.gate.ledger.commit import append, is_one_line
from lakegate.gate.person_decisions import LONGEST_REASON, MAX_WAIVER, PERSON_DECISIONS, WantedWaiver
from lakegate.verdict.reasons import DUPLICATE, WAIVER_EXPIRED

# ---- Waivers ----
# The delivery gets the workload that a replay would get, so that it is either replayed or waived, and accepted once. Its bytes
# stay in quarantine until the accepted copy is committed.


NOT_WAIVED: Final = frozenset(
    {
        "unrouted",
        DUPLICATE,
        "contract-retired",
        "contract-sunset",
        "contract-draft",
        "file/readable",
        "file/parts",
        WAIVER_EXPIRED,
        *(decision.done for decision in PERSON_DECISIONS.values() if not decision.waivable),
    }
)
"""Codes of reasons that no waiver is for: there is no contract, no new content, no dataset in force, no whole
delivery that can be read, or a person has decided so."""


def is_waivable(dependencies: Dependencies, row: Workload) -> bool:
    """Whether a delivery is rejected for reasons that a waiver is for, and was not replayed; a waiver may be repeated."""
    if row.state is not State.QUARANTINED:
        return False
    after = dependencies.workloads.find(replay_id(row.id))
    return not reason_against(row) if after is None else after.waiver is not None


def reason_against(row: Workload) -> str:
    """The code of the reason for which a rejected delivery has no waiver; empty if it may have one."""
    return next((code for reason in row.decided.reasons if (code := code_of(reason)) in NOT_WAIVED), "")


def unwaivable(row: Workload) -> str:
    """The sentence that says why a rejected delivery has no waiver; empty for any other."""
    code = reason_against(row) if row.state is State.QUARANTINED else ""
    return f"A delivery that is rejected as `{code}` cannot be waived." if code else unreplayable(row)


def waive(dependencies: Dependencies, workload: str, wanted: WantedWaiver) -> Steps[Workload]:
    """The workload that is to be accepted in the place of a quarantined one; it is not advanced. Idempotent.

    Who waives is recorded on the chain of the delivery before anything is started.

    Raises InputError for a delivery that is not rejected, was replayed, or that no waiver is for; for a reason that is empty or
    too long, and for a time that is past or too far ahead.
    """
    row = named_row(dependencies, workload)
    current = dependencies.workloads.find(replay_id(row.id))
    if current is None:
        reason, expires = wanted.reason.strip(), moment(wanted.end)
        _usable(dependencies, row, reason, wanted.end)
        current = yield from _created(dependencies, row, reason, expires)
    if current.waiver is None:
        raise InputError(f"it was replayed before: if the replay is rejected, waive that: {current.id}")
    return current


def _usable(dependencies: Dependencies, row: Workload, reason: str, end: datetime) -> None:
    if not (reason and is_one_line(reason)):
        raise InputError(f"the reason of a waiver is one line of at most {LONGEST_REASON} characters")
    now = dependencies.now
    if not now < end <= now + MAX_WAIVER:
        raise InputError(f"a waiver expires after now, and within {MAX_WAIVER.days} days")
    if row.state is not State.QUARANTINED or row.decision is None:
        raise InputError("only a quarantined delivery can be waived")
    terms = dependencies.terms(row)
    if terms.policy.publish_as is not PublishAs.ORIGINAL:
        form = "slices" if terms.as_slices else "typed files"
        raise InputError(f"its dataset publishes {form}, and none were written of it: correct the data, or replay it")
    if terms.is_derived:
        raise InputError("its rows are computed: publish the next version, with another query or other rules")
    if code := reason_against(row):
        raise InputError(f"a delivery that is rejected as `{code}` cannot be waived (docs/waivers.md)")


def _created(dependencies: Dependencies, row: Workload, reason: str, expires: str) -> Steps[Workload]:
    """The workload that is let through, recorded first; whatever was created meanwhile comes before it."""
    actor, pin, identity = dependencies.identity.caller(), row.pinned, replay_id(row.id)
    again = (yield from fresh(DeliveryTurn(dependencies, row), identity))._replace(
        chosen=ChosenVersion(pin.dataset, pin.version, pin.plan), waiver=Waiver(actor, reason, expires, row.id)
    )
    _in_force(dependencies, again)
    content = {"workload": row.id, "waived_by": identity, "reason": reason, "expires": expires}
    yield from append(dependencies, "waiver", pin.dataset, content, event_id("waiver", row.id, actor, reason, expires))
    try:
        yield from perform(Effect.WAIVE, dependencies.workloads.create, again)
    except ConditionFailed:
        return dependencies.workloads.get(identity)
    return again


def _in_force(dependencies: Dependencies, again: Workload) -> None:
    """Refuse at once what the status of the dataset would refuse after the waiver is recorded."""
    turn = DeliveryTurn(dependencies, again)
    pin = pin_of(dependencies, route_of(turn), "")
    if refused := refused_by_pin(turn.moved(again._replace(pin=pin))):
        raise InputError(
            f"the delivery would be refused as `{refused}`: a waiver changes no lifecycle (docs/waivers.md)"
        )


WAIVE: Final = DecisionKind(is_waivable, lambda _: False, unwaivable, waive)
