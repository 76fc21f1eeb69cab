"""What a later delivery replaces: settings that cannot work, and keys whose rows would count twice."""

from __future__ import annotations

from collections.abc import Iterator

from lakegate.contract.contract_model import Contract, Dataset
from lakegate.contract.delivery_policy import MergeStrategy, Replaces
from lakegate.contract.documents.document_tree import Document
from lakegate.contract.service_levels import service_levels_of
from lakegate.lints.findings import Finding, settings_of

KEY_RULES = ("primaryKey", "unique", "duplicateValues")
"""Kinds of rules that no two rows share a key."""


def idle_replacement(contract: Contract, document: Document) -> Iterator[Finding]:
    """`replaces` finds deliveries again: they are not merged, and `delivery` needs names that come again."""
    for place, datasets in settings_of(contract, document, "replaces"):
        for dataset in datasets:
            wrong = _misfit(dataset)
            if wrong:
                yield place.path, f"`replaces: {dataset.policy.replaces.value}` of {dataset.name} {wrong}."


def _misfit(dataset: Dataset) -> str:
    """The reason why no delivery can be replaced, with the remedy; empty where one can."""
    policy = dataset.policy
    if policy.replaces is Replaces.NOTHING:
        return ""
    if policy.merge_strategy is not MergeStrategy.APPEND:
        return (
            f"cannot be combined with `mergeStrategy: {policy.merge_strategy.value}`, whose later slices correct earlier ones:"
            " remove one of the two"
        )
    if policy.pull is not None:
        return "has no effect with `pull`, because each fetch has a name of its own: remove it"
    return ""


def rows_count_twice(contract: Contract, document: Document) -> Iterator[Finding]:
    """A dataset with a primary key that is delivered again and again says what becomes of rows that come again."""
    declared = {dataset.name for _, datasets in settings_of(contract, document, "replaces") for dataset in datasets}
    for dataset in contract.datasets:
        key = next((rule for rule in dataset.rules if rule.kind == "primaryKey"), None)
        if key is not None and dataset.name not in declared and _accumulates(dataset):
            yield (
                dataset.origin.path,
                (
                    f"Two deliveries of {dataset.name} may have the same primary key, which is compared within one alone: what is"
                    " delivered again counts twice. Declare `replaces: delivery` (a file of the same name), `publishAs: parquet`"
                    " with a `mergeStrategy`, or `replaces: nothing` if no row comes again."
                ),
            )


def _accumulates(dataset: Dataset) -> bool:
    """Whether the contract says that deliveries follow each other, and nothing compares their keys."""
    policy = dataset.policy
    comes_again = policy.pull is not None or any(
        level.name == "frequency" for level in service_levels_of(dataset.rules)
    )
    is_compared = any(rule.schedule and rule.kind in KEY_RULES for rule in dataset.rules)
    return comes_again and policy.merge_strategy is MergeStrategy.APPEND and not is_compared
