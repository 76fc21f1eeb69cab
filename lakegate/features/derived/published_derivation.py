"""Publishing a derived dataset: its inputs are published, open to it, of the declared types, and not derived from it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from lakegate.base.errors import ContractError, Problem
from lakegate.base.text import did_you_mean, quote
from lakegate.contract.contract_model import Contract, Dataset, full_dataset_name, is_usable, parts_of
from lakegate.contract.delivery_policy import DerivationInput
from lakegate.contract.semantic_versions import major
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.registry.publish_contract import Lookup, PublishedPlans
from lakegate.gate.registry.registry_rows import Publication
from lakegate.gate.registry.routes import leading
from lakegate.plan.plan import Plan
from lakegate.rules.compile_plan import compile_plan

MOST_CHAINED: Final = 32
"""Datasets between a derived one and a root."""


def _published(dependencies: Dependencies, _before: Publication | None, own: tuple[str, ...]) -> Lookup:
    """Finds the plan of a dataset by its current version, for a contract; None: it is not published, or not open to that."""

    def plan_of(contract: str, dataset: str) -> Plan | None:
        other, name, number = parts_of(dataset)
        found = leading(dependencies.registry.contract(other), other, number) if is_usable(other) else None
        if found is None or not found.is_open_to(contract, own):
            return None
        digest = dict(found.plans).get(name)
        return Plan.from_bytes(dependencies.plan_at(digest, dataset)) if digest else None

    return plan_of


def _verified(contract: Contract, dataset: Dataset, plan: Plan, lookup: Lookup) -> Plan:
    if dataset.policy.derive is not None:
        own = full_dataset_name(contract.id, dataset.name, major(contract.version))
        found = [text for each in dataset.policy.derive.inputs for text in _faults(contract, own, each, lookup)]
        if found:
            origin = dataset.origin
            raise ContractError(tuple(Problem("derived-input", origin.path, origin.line, text) for text in found))
    return plan


def _faults(contract: Contract, own: str, each: DerivationInput, lookup: Lookup) -> Iterator[str]:
    found = _plan_of(contract, each.dataset, lookup)
    if found is None:
        yield f"{quote(each.dataset)} is not published here, or not shared with this contract (`sharedWith`)."
        return
    columns = {column.column: column for column in found.columns}
    for column in each.columns:
        known = columns.get(column.name)
        if known is None:
            yield f"{each.dataset} has no column {quote(column.name)}.{did_you_mean(column.name, columns)}"
        elif (known.type, known.scale) != (column.type, column.scale):
            yield f"{quote(column.name)} of {each.dataset} is of the type {known.type.value}: declare it so in `inputs`."
    if own in _above(contract, each.dataset, found, lookup):
        yield f"{each.dataset} is derived from {own}: no dataset is derived from itself."


def _plan_of(contract: Contract, name: str, lookup: Lookup) -> Plan | None:
    """The plan of an input: of the same contract as it is published now."""
    own = {full_dataset_name(contract.id, each.name, major(contract.version)): each for each in contract.datasets}
    if name in own:
        return compile_plan(contract, own[name])
    found: Plan | None = lookup(contract.id, name)
    return found


def _above(contract: Contract, dataset: str, plan: Plan, lookup: Lookup) -> set[str]:
    """A dataset, and all that it is derived from, as far as they are open to the contract."""
    seen, waiting = {dataset}, [plan]
    while waiting and len(seen) <= MOST_CHAINED:
        derivation = waiting.pop().policy.derive
        for each in derivation.inputs if derivation else ():
            if each.dataset not in seen:
                seen.add(each.dataset)
                found = _plan_of(contract, each.dataset, lookup)
                waiting += [found] if found is not None else []
    return seen


IN_PLANS: Final = PublishedPlans(_published, _verified)
