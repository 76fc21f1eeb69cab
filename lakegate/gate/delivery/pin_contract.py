"""Step 2: contract version, plan, times and heights fixed; held while paused."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from lakegate.base.errors import ConditionFailed, NotFound
from lakegate.base.timestamps import instant_of, moment
from lakegate.contract.contract_model import parts_of
from lakegate.gate import lake_layout
from lakegate.gate.datasets.dataset_states import DatasetStatus, strictest
from lakegate.gate.datasets.lifecycle import warning
from lakegate.gate.delivery.delivery_row import IDENTIFIER, TERMINAL, Pin, Referred, SourceObject, Workload
from lakegate.gate.delivery.delivery_terms import UNROUTED
from lakegate.gate.delivery.find_landed_data import collect_parts, data_of, write_parts
from lakegate.gate.delivery.protocol import Outcome, State
from lakegate.gate.delivery.small_file_batches import staging_key
from lakegate.gate.delivery.transition import VANISHED, DeliveryTurn, Observation, OutcomeChanged, move
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import ConcurrentUpdate, Effect, Steps
from lakegate.gate.event_bodies import message
from lakegate.gate.registry.contract_owners import are_named
from lakegate.gate.registry.registry_rows import Route
from lakegate.gate.registry.routes import candidates, covering, leading


def route_of(turn: DeliveryTurn) -> Route | None:
    """The route of what landed, with the contract version that a person chose, if one did; None: there is no contract."""
    landed, chosen = turn.row.landed or turn.row.source, turn.row.chosen
    covered = covering(landed.key, turn.gate.registry.routes(landed.bucket, candidates(landed.key)))
    if chosen is None:
        return covered
    contract, dataset, major = parts_of(chosen.dataset)
    versions = turn.gate.registry.contract(contract).standing
    status = next((version.status for version in versions if version.version == chosen.version), DatasetStatus.RETIRED)
    prefix = covered.prefix if covered else ""
    return Route(landed.bucket, prefix, contract, dataset, major, chosen.version, status, chosen.plan)


def pin_of(dependencies: Dependencies, route: Route | None, ingest_date: str, arrived: str = "") -> Pin:
    """The pin of the delivery. The status of the dataset is the one at the evaluation time, however late it is used."""
    now = dependencies.now
    if route is None:
        unrouted, judging_time = f"{lake_layout.UNROUTED}/{ingest_date}", now.isoformat()
        return Pin(unrouted, ingest_date=ingest_date, judging_time=judging_time, arrived=arrived)
    dataset = dependencies.datasets.get(route.full_name)
    status = strictest(route.status, dataset.status_at(moment(now)))
    known = status is not DatasetStatus.SUNSET or dependencies.workloads.knows(route.full_name, route.prefix)
    pinned = (route.full_name, route.contract, route.version, route.plan, status, ingest_date, now.isoformat())
    return Pin(*pinned, prefix=route.prefix, known=known, warning=warning(dataset, status), arrived=arrived)


def arrived_at(turn: DeliveryTurn, at: datetime) -> str:
    """The time when what landed was there: of a replay as it was known before, because its copies are newer."""
    before = turn.row.pin
    if before is None and turn.row.replay_of:
        before = turn.gate.workloads.get(turn.row.replay_of).pin
    known = before.arrived or before.judging_time if before else ""
    return moment(instant_of(known) if known else at)


def with_references(turn: DeliveryTurn) -> Pin:
    """The pin with the heights of the datasets that its plan refers to: read once, and the same for every attempt."""
    pin = turn.pin
    datasets = turn.terms.references
    return replace(pin, references=referred_datasets(turn.gate, pin.contract, pin.version, datasets))


def referred_datasets(
    dependencies: Dependencies, contract: str, version: str, datasets: Iterable[str]
) -> tuple[Referred, ...]:
    """Datasets that the rules of a contract version refer to, as high as they are now.

    A dataset of another owner that is not shared with the contract (any more) is as one that nothing was accepted of.
    """
    own = _own(dependencies, contract, version) if datasets else ()
    return tuple(
        Referred(
            dataset, dependencies.ledger.head(dataset).height if _is_open(dependencies, contract, own, dataset) else -1
        )
        for dataset in datasets
    )


def _own(dependencies: Dependencies, contract: str, version: str) -> tuple[str, ...]:
    """The contracts that the publisher of a version may use."""
    versions = dependencies.registry.contract(contract).versions
    return next((publication.own for publication in versions if publication.version == version), ())


def _is_open(dependencies: Dependencies, contract: str, own: tuple[str, ...], dataset: str) -> bool:
    """Whether a dataset is of the contract, of another one of its publisher, or shared with it by its current version."""
    other, _, number = parts_of(dataset)
    if other == contract or are_named(own, other):
        return True
    publication = leading(dependencies.registry.contract(other), other, number)
    return publication is not None and publication.is_open_to(contract, own)


def observe_received(turn: DeliveryTurn) -> Observation | None:
    """RECEIVED: the contract version that is valid now, or a pause."""
    route = route_of(turn)
    if turn.row.completed_by:
        return _completed(turn, route)
    data = data_of(turn)
    if data is None:
        return VANISHED
    arrived = turn.row.arrived or data.modified
    pin = pin_of(turn.gate, route, arrived.date().isoformat(), arrived_at(turn, arrived))
    pin = _joined(turn, pin, data.corrects)
    is_landed = (data.bucket, data.key) == (turn.row.source.bucket, turn.row.source.key)
    source = SourceObject.of(data) if is_landed and turn.row.staged is None else turn.row.source
    copy = None if is_landed or turn.row.staged else SourceObject.of(data)
    arrived = turn.now if turn.row.replay_of else arrived
    return Observation(Outcome.ROUTED, source=source, copy=copy, pin=pin, arrived=arrived)


def _joined(turn: DeliveryTurn, pin: Pin, corrects: str) -> Pin:
    """The pin with the delivery that a producer says is corrected, if that is a finished one of the same dataset.

    Anybody who may deliver may write any text there: it decides nothing, and is kept so that people find the two together.
    """
    before = turn.gate.workloads.find(corrects) if IDENTIFIER.fullmatch(corrects) else None
    if before is None or before.state not in TERMINAL or before.pinned.dataset != pin.dataset:
        return pin
    return replace(pin, corrects=corrects)


def observe_held(turn: DeliveryTurn) -> Observation | None:
    """HELD: nothing while the dataset is paused; then as RECEIVED."""
    pause = turn.gate.pauses.pause_of(turn.row.held)
    return None if pause is None or pause.resumed is None else observe_received(turn)


def _completed(turn: DeliveryTurn, route: Route | None) -> Observation | None:
    """A delivery of parts, which keeps those it was complete with; None: it is not complete yet."""
    listed = None
    if turn.row.parts is None:
        terms = turn.gate.terms_at(route.plan, turn.row.id) if route else UNROUTED
        try:
            listed = collect_parts(turn, terms)
        except NotFound:
            return VANISHED
        if listed is None:
            return None
    now = turn.now
    pin = pin_of(turn.gate, route, now.date().isoformat(), arrived_at(turn, now))
    pin = _joined(turn, pin, listed.corrects) if listed else pin
    return Observation(Outcome.ROUTED, source=turn.row.source, arrived=now, pin=pin, parts=listed)


def pin_version(turn: DeliveryTurn, to: State, observed: Observation) -> Steps[Workload]:
    """Fix contract version, plan, times and heights of a delivery."""
    due = turn.lease_end
    after = (yield from pinned_row(turn, observed))._replace(state=to, due_at=due)
    try:
        return (yield from move(turn, Effect.PIN, after))
    except ConditionFailed:
        if turn.row.state is State.HELD:
            raise ConcurrentUpdate(turn.row.id) from None  # paused again
        raise OutcomeChanged(Outcome.PAUSED) from None


def pinned_row(turn: DeliveryTurn, observed: Observation) -> Steps[Workload]:
    """The row with what was delivered, and its pin; the list of parts is written, the row is not."""
    listed = turn.row.parts
    if observed.parts is not None:
        listed = yield from write_parts(turn.gate, turn.row.id, observed.parts)
    staged = observed.copy or turn.row.staged
    return turn.row._replace(source=turn.required(observed.source), parts=listed, staged=staged, pin=observed.pin)


def hold(turn: DeliveryTurn, to: State, observed: Observation) -> Steps[Workload]:
    """Keep the delivery of a paused dataset where it landed; look again where the pause has ended meanwhile."""
    after = turn.row._replace(state=to, held=turn.required(observed.pin).dataset, due_at=observed.arrived)
    try:
        return (yield from move(turn, Effect.HOLD, after))
    except ConditionFailed:
        return turn.row


def vanish(turn: DeliveryTurn, to: State, _observed: Observation) -> Steps[Workload]:
    """End a delivery as GONE: its landed version is not there."""
    after = turn.row._replace(state=to, due_at=None)
    return (yield from move(turn, Effect.VANISH, after, message=message(turn.gate, after)))


def revive(turn: DeliveryTurn, to: State, observed: Observation) -> Steps[Workload]:
    """Begin another round of attempts of a delivery that FAILED.

    It may have failed while another worker copied it: that copy is all that is left where the landed version is deleted.
    """
    due = turn.lease_end
    after = turn.row._replace(
        state=to, pin=None, request="", run="", batch="", not_before=None, deadline=None, due_at=due
    )
    if turn.row.pin is not None and turn.row.staged is None and turn.row.parts is None:
        after = after._replace(unnamed_copy=staging_key(turn))
    if turn.row.waiver is None:
        after = after._replace(chosen=observed.chosen)
    return (yield from move(turn, Effect.REVIVE, after))
