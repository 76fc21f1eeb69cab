"""A failed or quarantined delivery judged again."""

from __future__ import annotations

from typing import Final

from lakegate.base.errors import ConditionFailed, InputError, NotFound
from lakegate.base.text import join_words, plural, quote
from lakegate.contract.contract_model import full_dataset_name, parts_of
from lakegate.contract.semantic_versions import major
from lakegate.gate import lake_layout
from lakegate.gate.carry_out_decision import DecisionKind
from lakegate.gate.delivery import delivery_row
from lakegate.gate.delivery.advance import take
from lakegate.gate.delivery.delivery_row import ChosenVersion, SourceObject, Workload, replay_id
from lakegate.gate.delivery.find_landed_data import write_parts
from lakegate.gate.delivery.protocol import END_STATES, Outcome, State
from lakegate.gate.delivery.transition import DeliveryTurn, Observation
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import ConcurrentUpdate, Effect, Steps, perform
from lakegate.gate.ledger.blocks import event_id
from lakegate.gate.ledger.commit import append
from lakegate.gate.person_decisions import WantedReplay
from lakegate.gate.registry.routes import candidates, covering

# ---- The contract version of a replay ----


def chosen_version(turn: DeliveryTurn, written: str) -> ChosenVersion:
    """The version `contract@version`, for the dataset that the delivery belongs to.

    Raises InputError if it is not published, is of another contract than the delivery, or has no such dataset.
    """
    contract, _, version = written.rpartition("@")
    versions = (
        {publication.version: publication for publication in turn.gate.registry.contract(contract).standing}
        if contract
        else {}
    )
    if version not in versions:
        there = f"; published: {join_words(sorted(versions))}" if versions else ""
        raise InputError(f"{quote(written)} is no published version: write CONTRACT@VERSION{there}")
    plans = dict(versions[version].plans)
    dataset = _dataset(turn, contract)
    if dataset is None and len(plans) == 1:
        (dataset,) = plans
    if dataset is None or dataset not in plans:
        raise InputError(f"{quote(written)} has no dataset {quote(dataset or '')}: it has {join_words(sorted(plans))}")
    return ChosenVersion(full_dataset_name(contract, dataset, major(version)), version, plans[dataset])


def _dataset(turn: DeliveryTurn, contract: str) -> str | None:
    """The dataset by what was pinned, else by the route; None if no contract covers the delivery."""
    landed, pin = turn.row.landed or turn.row.source, turn.row.pin
    route = covering(landed.key, turn.gate.registry.routes(landed.bucket, candidates(landed.key)))
    names = [*([pin.dataset] if pin and pin.plan else []), *([route.full_name] if route else [])]
    if not names:
        return None
    owner, dataset, _ = parts_of(names[0])
    if all(parts_of(name)[0] != contract for name in names):
        raise InputError(f"the delivery belongs to {quote(owner)}, not to {quote(contract)}")
    return dataset


# ---- Replays ----


REPLACED: Final = "It was replayed or waived before: what came of that is a workload of its own."


def is_replayable(dependencies: Dependencies, row: Workload) -> bool:
    """Whether a delivery failed, or is rejected and not let through by a waiver; a replay may be repeated."""
    if row.state is not State.QUARANTINED:
        return row.state is State.FAILED
    after = dependencies.workloads.find(replay_id(row.id))
    return after is None or after.waiver is None


def unreplayable(row: Workload) -> str:
    """The sentence that says why a rejected delivery is not replayed; empty for any other."""
    return REPLACED if row.state is State.QUARANTINED else ""


def judge_again(dependencies: Dependencies, workload: str, wanted: WantedReplay) -> Steps[Workload]:
    """The workload that is to be judged; it is not advanced.

    FAILED: the same workload, its attempts counted on. QUARANTINED: a new one, its source the quarantined copy.
    Raises InputError for any other state, where the quarantined copy is not there any more, and as `chosen_version` does.
    """
    turn, version = DeliveryTurn(dependencies, named_row(dependencies, workload)), wanted.contract
    if version and turn.row.waiver is not None:
        raise InputError("it is let through by a waiver, which is of the version that rejected it")
    chosen = chosen_version(turn, version) if version else None
    if turn.row.state is State.FAILED:
        yield from _record(turn, workload, chosen)
        try:
            return (yield from take(turn, Observation(Outcome.REPLAYED, chosen=chosen)))
        except ConcurrentUpdate:
            return turn.reread().row
    if turn.row.state is State.QUARANTINED:
        return (yield from _anew(turn, chosen))
    raise InputError("only a failed or quarantined workload can be replayed")


def named_row(dependencies: Dependencies, workload: str) -> Workload:
    """The row of a workload. Raises InputError where there is none."""
    try:
        return dependencies.workloads.get(workload)
    except NotFound:
        raise InputError("no such workload") from None


def _anew(turn: DeliveryTurn, chosen: ChosenVersion | None) -> Steps[Workload]:
    """Create the replay unless it was created before: idempotent."""
    identity = replay_id(turn.row.id)
    try:
        return turn.gate.workloads.get(identity)
    except NotFound:
        again = yield from fresh(turn, identity)
    again = again._replace(chosen=chosen)
    yield from _record(turn, identity, chosen)
    try:
        yield from perform(Effect.REPLAY, turn.gate.workloads.create, again)
    except ConditionFailed:
        return turn.gate.workloads.get(identity)
    return again


def fresh(turn: DeliveryTurn, identity: str) -> Steps[Workload]:
    """The workload of the quarantined copies: of a delivery of parts, of all of them or of none. Raises InputError."""
    listed = turn.landed
    if listed.problems or not listed.parts:
        raise InputError("the delivery was not complete when it was rejected: deliver all parts again")
    copies = tuple(_copy(turn, number) for number in range(len(listed.parts)))
    again = turn.row.parts and (yield from write_parts(turn.gate, identity, delivery_row.PartList(copies)))
    due = turn.lease_end
    return Workload(
        identity,
        copies[0],
        State.RECEIVED,
        due,
        replay_of=turn.row.id,
        landed=turn.row.landed or turn.row.source,
        completed_by=turn.row.completed_by,
        parts=again,
        arrived=turn.row.arrived,
    )


def _copy(turn: DeliveryTurn, number: int) -> SourceObject:
    name = lake_layout.part_name(number, turn.terms.suffix)
    where = turn.gate.in_lake(lake_layout.destination_key("quarantine", turn.pin, turn.row.id, name))
    try:
        return SourceObject.of(turn.gate.objects.head(where))
    except NotFound:
        days = turn.terms.quarantine_days
        until = f": its contract keeps it for {plural(days, 'day')}" if days else ""
        raise InputError(f"the quarantined copy is not there any more{until}") from None


def _record(turn: DeliveryTurn, replayed_by: str, chosen: ChosenVersion | None) -> Steps[None]:
    """On the chain of the delivery; on that of the day's unrouted deliveries if it failed before it had one."""
    chain = turn.pin.dataset if turn.row.pin else f"{lake_layout.UNROUTED}/{turn.now.date()}"
    content = {
        "workload": turn.row.id,
        "state": turn.row.state.value,
        "attempt": turn.row.attempt,
        "replayed_by": replayed_by,
    }
    if chosen is None:
        yield from append(turn.gate, "replay", chain, content, event_id("replay", turn.row.id, turn.row.attempt))
        return
    under = {"line": chosen.dataset, "contract_version": chosen.version, "plan": chosen.plan}
    event = event_id("replay-version", turn.row.id, turn.row.attempt, *under.values())
    yield from append(turn.gate, "replay-version", chain, content | under, event)


REPLAY: Final = DecisionKind(is_replayable, lambda row: row.state not in END_STATES, unreplayable, judge_again)
