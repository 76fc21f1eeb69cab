"""Publishing a derived dataset: its inputs are published, open to it, of the declared types, and not derived from it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from lakegate.base.errors import ContractError, Problem
from lakegate.base.text import quote
from lakegate.contract.contract_model import Contract, Dataset, full_dataset_name, is_usable, parts_of
from lakegate.contract.delivery_policy import DerivationInput
from lakegate.contract.semantic_versions import major
from lakegate.features.derived.derivation_settings import column_faults
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.registry.publish_contract import Lookup, PublishedPlans
from lakegate.gate.registry.registry_rows import Publication
from lakegate.gate.registry.routes import leading
from lakegate.plan.plan import Plan
from lakegate.rules.compile_plan import compile_plan

MOST_CHAINED: Final = 32
"""Datasets between a derived one and a root."""


def _published(dependencies: Dependencies, _before: Publication | None, own: tuple[str, ...]) -> Lookup:
    """Finds the plan of a dataset by its current version, for a contract; None: it is not published, or not open to that.

    For no contract the names of the inputs of a dataset, whoever it belongs to.
    """

    def find(contract: str, dataset: str) -> Plan | tuple[str, ...] | None:
        other, name, number = parts_of(dataset)
        found = leading(dependencies.registry.contract(other), other, number) if is_usable(other) else None
        digest = dict(found.plans).get(name) if found is not None else None
        if found is None or not digest or (contract and not found.is_open_to(contract, own)):
            return None
        plan = Plan.from_bytes(dependencies.plan_at(digest, dataset))
        return (
            plan
            if contract
            else tuple(each.dataset for each in plan.policy.derive.inputs)
            if plan.policy.derive
            else ()
        )

    return find


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
    yield from column_faults(each, found)
    if own in _above(contract, each.dataset, lookup):
        yield f"{each.dataset} is derived from {own}: no dataset is derived from itself."


def _plan_of(contract: Contract, name: str, lookup: Lookup) -> Plan | None:
    """The plan of an input: of the same contract as it is published now."""
    own = {full_dataset_name(contract.id, each.name, major(contract.version)): each for each in contract.datasets}
    if name in own:
        return compile_plan(contract, own[name])
    found: Plan | None = lookup(contract.id, name)
    return found


def _above(contract: Contract, dataset: str, lookup: Lookup) -> set[str]:
    """A dataset, and all that it is derived from; of the same contract as it is published now."""
    own = {
        full_dataset_name(contract.id, each.name, major(contract.version)): tuple(
            one.dataset for one in (each.policy.derive.inputs if each.policy.derive else ())
        )
        for each in contract.datasets
    }
    seen, waiting = set[str](), [dataset]
    while waiting and len(seen) <= MOST_CHAINED:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += own[name] if name in own else lookup("", name) or ()
    return seen


IN_PLANS: Final = PublishedPlans(_published, _verified)
