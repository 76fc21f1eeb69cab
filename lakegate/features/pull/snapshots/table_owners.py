"""A gated table belongs to one dataset: else a contract with weaker rules could publish what another one has rejected."""

from __future__ import annotations

from collections.abc import Iterator

from lakegate.contract.contract_model import GATED_TABLE, full_dataset_name
from lakegate.features.pull.pull_task import policy_of
from lakegate.features.pull.snapshots.gated_tables import branch_of
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.ledger.blocks import Record, contract_chain
from lakegate.gate.registry.registry_rows import Publication
from lakegate.gate.scheduled_tasks import is_retired


def owner_of(dependencies: Dependencies, source: str) -> str | None:
    """The dataset that has the table of a source, whatever the branch; None: none has.

    It is the one that was published with it first, by the record of the ledger. A withdrawn version counts as little as a retired
    dataset; one that names another table since does.
    """
    found = min(_named(dependencies, branch_of(source)[:2]), default=None)
    return None if found is None else found[1]


def _named(dependencies: Dependencies, table: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """The times when versions were published that name a table, with their datasets."""
    for version in dependencies.registry.snapshot().standing:
        gated = {name for label, name in version.labels if label == GATED_TABLE}
        for dataset, digest in version.plans if gated else ():
            name = full_dataset_name(version.contract, dataset, version.major)
            pull = policy_of(dependencies, name, digest).pull if dataset in gated else None
            if pull is not None and branch_of(pull.source)[:2] == table and not is_retired(dependencies, name):
                yield _published_at(dependencies, version), name


def _published_at(dependencies: Dependencies, version: Publication) -> str:
    """The time of the record of a version; of one that has none the earliest: it is older than its record's ledger."""
    records = dependencies.ledger.blocks(contract_chain(version.contract))
    times = (
        each.system_time
        for each in records
        if isinstance(each, Record) and each.kind == "publication" and each.content["version"] == version.version
    )
    return min(times, default="")
