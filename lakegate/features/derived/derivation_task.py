"""Derived datasets by schedule: where an input has a new block, a request for the rows lands, which is then a delivery."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Final

from lakegate.base.errors import ConditionFailed, InputError, NotFound
from lakegate.base.json_codec import EXTENSIONS
from lakegate.contract.contract_model import DATASET_KEY, DERIVED
from lakegate.contract.delivery_policy import Derivation
from lakegate.gate.datasets.dataset_states import DatasetRowStore
from lakegate.gate.delivery.delivery_row import workload_id
from lakegate.gate.delivery.pin_contract import referred_datasets
from lakegate.gate.delivery.protocol import State
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Effect, Steps, perform
from lakegate.gate.ledger.blocks import BlockInput, deliveries
from lakegate.gate.ports import Address
from lakegate.gate.registry.registry_rows import Publication
from lakegate.gate.scheduled_tasks import (
    RETIRED,
    Discovery,
    LabelledDataset,
    ScheduledTask,
    change_row,
    current,
    following,
    is_retired,
    labelled_datasets,
    write_row,
)
from lakegate.plan.check import referred_in
from lakegate.plan.plan import Plan

# ---- The state of a derived dataset ----


@dataclass(frozen=True, slots=True)
class DerivationState:
    """The row of a derived dataset. Times are as `moment` writes them."""

    dataset: str = field(metadata=DATASET_KEY)
    plan: str = ""
    """Digest of the plan that the schedule is of; empty: the dataset is not derived any more."""
    version: str = ""
    """Of the contract."""
    schedule: str = ""
    next: str = ""
    """When inputs are looked at; empty: never."""
    key: str = ""
    """Of the latest request in landing; empty: there was none."""
    requested: str = ""
    """Digest of the plan that it is for."""
    at: str = ""
    """Its time."""
    has_landed: bool = False
    above: int = -1
    """Height of the dataset when it was made: the block of its delivery is above."""
    inputs: tuple[BlockInput, ...] = ()
    """Heights of the inputs then, sorted by name. The delivery pins its own, which may be higher."""
    is_forced: bool = False
    """Whether a person wants the rows although no input has a new block."""
    revision: int = 0
    extensions: str = field(default="{}", metadata=EXTENSIONS)
    """As `lakegate.base.json_codec.EXTENSIONS`."""

    @property
    def due(self) -> str:
        """The time when a sweep has to look at it; empty: never."""
        return self.next


def planned(row: DerivationState, derivation: Derivation, version: str, plan: str, now: str) -> DerivationState:
    """The row under another plan, which is looked at by the next sweep."""
    return replace(row, plan=plan, version=version, schedule=derivation.schedule, next=now)


def derivations(dependencies: Dependencies) -> DatasetRowStore[DerivationState]:
    """Derived datasets."""
    return DatasetRowStore(dependencies.table, "derivation", "derivation", DerivationState)


def derived_datasets(dependencies: Dependencies, datasets: Iterable[str] | None = None) -> tuple[DerivationState, ...]:
    """The rows of datasets that are, or were, derived: of all that contracts derive now, or of these."""
    if datasets is None:
        contracts = (contract for page in dependencies.registry.pages() for contract in page.contracts)
        datasets = (each.dataset for contract in contracts for each in labelled_datasets(contract, DERIVED))
    rows = map(derivations(dependencies).get, sorted(datasets))
    return tuple(row for row in rows if row.plan or row.key)


# ---- Steps of the sweep ----
# 1. compare the heights of the inputs with those of the latest request, or with those that its delivery had pinned;
# 2. write key and heights of the next request into the row;
# 3. land the request, if nothing is at its key; write that it has landed.
#
# A sweep that ends after 2 or 3 is repeated with the same key. Where the request has landed and is gone again, its delivery
# has a block, and nothing lands a second time. While a request lies in landing its delivery is not finished: the next one waits,
# so that an older state never comes after a newer one. What landed carries no authority: the gate pins the heights itself.


def _step(dependencies: Dependencies, row: DerivationState, now: str) -> Steps[DerivationState]:
    found = current(dependencies, row.dataset, DERIVED)
    if found is None:
        return replace(row, plan="", version="", schedule="", next="", is_forced=False)
    snapshot, dataset = found
    plan = _plan(dependencies, dataset)
    row = planned(row, _derivation(plan), dataset.version.version, dataset.plan, now)
    later = replace(row, next=following(row.schedule, now))
    if row.key and not row.has_landed:
        return (yield from _landed(dependencies, later))
    routes = sorted(each.prefix for each in snapshot.routes if each.full_name == row.dataset and each.status != RETIRED)
    inputs = _heights(dependencies, dataset.version, plan)
    is_new = row.is_forced or row.requested != row.plan or inputs != _derived_of(dependencies, row)
    if not routes or not is_new or any(each.height < 0 for each in inputs) or _is_under_way(dependencies, row):
        return later
    if dependencies.pauses.pause_of(row.dataset) is not None:
        return later
    what = json.dumps([row.dataset, row.plan, row.revision, [asdict(each) for each in inputs]])
    key = f"{routes[0]}derived-{hashlib.sha256(what.encode()).hexdigest()[:16]}.json"
    above = dependencies.ledger.head(row.dataset).height
    asked = replace(
        later, key=key, requested=row.plan, at=now, above=above, inputs=inputs, has_landed=False, is_forced=False
    )
    return (yield from _landed(dependencies, (yield from write_row(dependencies, TASK, asked))))


def _landed(dependencies: Dependencies, row: DerivationState) -> Steps[DerivationState]:
    """The row when its request has landed, by this sweep or by one before."""
    if _block_inputs(dependencies, row) is None:
        where = Address(dependencies.places.landing, row.key)
        with suppress(ConditionFailed):  # it is there
            yield from perform(Effect.LAND, dependencies.objects.put, where, request_for(row), absent=True)
    return replace(row, has_landed=True)


def request_for(row: DerivationState) -> bytes:
    """The content of a request, for people who find it; no program reads it."""
    inputs = {each.dataset: each.height for each in row.inputs}
    return json.dumps({"derive": row.dataset, "inputs": inputs, "at": row.at, "key": row.key}, indent=1).encode()


def _heights(dependencies: Dependencies, version: Publication, plan: Plan) -> tuple[BlockInput, ...]:
    """Of the datasets that the query reads, as a delivery would pin them now; -1 of one that is not shared, or has nothing."""
    assert plan.derived is not None
    datasets = sorted(set(referred_in(plan.derived)))
    found = referred_datasets(dependencies, version.contract, version.version, datasets)
    return tuple(BlockInput(each.dataset, each.height) for each in found)


def _derived_of(dependencies: Dependencies, row: DerivationState) -> tuple[BlockInput, ...]:
    """The heights that the latest delivery has read, or that its request was made for."""
    return _block_inputs(dependencies, row) or row.inputs


def _block_inputs(dependencies: Dependencies, row: DerivationState) -> tuple[BlockInput, ...] | None:
    """Those of the newest block above the latest request; None: its delivery has none yet, or was refused unread."""
    found = [each.inputs for each in deliveries(dependencies.ledger.blocks(row.dataset, row.above, strict=False))]
    return next((inputs for inputs in reversed(found) if inputs), None)


def _is_under_way(dependencies: Dependencies, row: DerivationState) -> bool:
    """Whether the latest request lies in landing: that is deleted when its delivery is finished, unless it FAILED."""
    if not row.key:
        return False
    landing = dependencies.places.landing
    try:
        version = dependencies.objects.head(Address(landing, row.key)).version
    except NotFound:
        return False
    delivery = dependencies.workloads.find(workload_id(landing, row.key, version))
    return delivery is None or delivery.state is not State.FAILED


def _plan(dependencies: Dependencies, found: LabelledDataset) -> Plan:
    return Plan.from_bytes(dependencies.plan_at(found.plan, found.dataset))


def _derivation(plan: Plan) -> Derivation:
    assert plan.policy.derive is not None  # as the plan was found by it
    return plan.policy.derive


def _found(dependencies: Dependencies, found: LabelledDataset) -> DerivationState | None:
    row = derivations(dependencies).get(found.dataset)
    if row.plan == found.plan or is_retired(dependencies, found.dataset):
        return None
    derivation = _derivation(_plan(dependencies, found))
    return planned(row, derivation, found.version.version, found.plan, dependencies.moment)


CURSOR: Final = "derivations"
"""The name of the place in the registry where the next sweep goes on."""
TASK: Final = ScheduledTask(derivations, _step, discovery=Discovery(DERIVED, CURSOR, _found))


def run_now(dependencies: Dependencies, dataset: str) -> Steps[DerivationState]:
    """Let the next sweep derive a dataset, also where no input has a new block. InputError for one that is not derived."""
    now = dependencies.moment
    found = current(dependencies, dataset, DERIVED)
    if found is None:
        raise InputError(f"{dataset} is not derived: its contract has no `derive` (`lakegate derive list`)")
    derivation, version = _derivation(_plan(dependencies, found[1])), found[1].version.version

    def wanted(row: DerivationState) -> DerivationState:
        return replace(planned(row, derivation, version, found[1].plan, now), is_forced=True)

    return (yield from change_row(dependencies, TASK, dataset, wanted))
