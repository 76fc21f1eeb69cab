"""Publishing the contract of a gated table: no other dataset has the table."""

from __future__ import annotations

from typing import Final

from lakegate.base.errors import ContractError, Problem
from lakegate.contract.contract_model import Contract, Dataset, full_dataset_name
from lakegate.contract.semantic_versions import major
from lakegate.features.pull.snapshots.table_owners import owner_of
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.registry.publish_contract import Lookup, PublishedPlans
from lakegate.gate.registry.registry_rows import Publication
from lakegate.plan.plan import Plan


def _owners(dependencies: Dependencies, before: Publication | None, *_: object) -> Lookup:
    """Says whether a source is of a table that another dataset than a given one has; of a published document never."""

    def is_taken(dataset: str, source: str) -> bool:
        return before is None and owner_of(dependencies, source) not in {None, dataset}

    return is_taken


def _verified(contract: Contract, dataset: Dataset, plan: Plan, lookup: Lookup) -> Plan:
    pull, own = dataset.policy.pull, full_dataset_name(contract.id, dataset.name, major(contract.version))
    if pull is not None and pull.is_table and lookup(own, pull.source):
        message = "A table has one dataset, and another one has this table: name another table, or retire that dataset."
        raise ContractError((Problem("pull-table", dataset.origin.path, dataset.origin.line, message),))
    return plan


IN_PLANS: Final = PublishedPlans(_owners, _verified)
