"""What a later delivery replaces: settings that cannot work, and keys whose rows would count twice."""

from __future__ import annotations

from collections.abc import Iterator

from lakegate.base.text import did_you_mean, quote
from lakegate.contract.contract_model import Contract, Dataset, Shape
from lakegate.contract.delivery_policy import MergeStrategy, Replaces
from lakegate.contract.documents.document_tree import Document
from lakegate.contract.logical_types import LogicalType
from lakegate.contract.service_levels import service_levels_of
from lakegate.lints.findings import Finding, settings_of
from lakegate.rules.compile_plan import plan_fields

PERIOD_TYPES = frozenset({LogicalType.DATE, LogicalType.INTEGER, LogicalType.STRING})
"""The types whose equal values have one text."""
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
    if policy.replaces is Replaces.DELIVERY and policy.pull is not None:
        return "has no effect with `pull`, because each fetch has a name of its own: write `replaces: period`, or remove it"
    return ""


def no_period(contract: Contract, document: Document) -> Iterator[Finding]:
    """`period` names a column of dates, whole numbers or texts, which `replaces: period` needs, and nothing else uses."""
    for place, datasets in settings_of(contract, document, "period"):
        for dataset in datasets:
            if dataset.policy.replaces is not Replaces.PERIOD:
                yield place.path, "`period` has an effect only with `replaces: period`: add that, or remove it."
            elif dataset.policy.period is not None and (wrong := _period_misfit(dataset, dataset.policy.period)):
                yield place.path, f"`period` of {dataset.name}: {wrong}"
    for place, datasets in settings_of(contract, document, "replaces"):
        for dataset in datasets:
            if dataset.policy.replaces is Replaces.PERIOD and dataset.policy.period is None:
                yield place.path, "`replaces: period` needs the column that has the period: add `period: COLUMN`."


def _period_misfit(dataset: Dataset, name: str) -> str:
    """The reason why a column has no periods, with the remedy; empty where it has."""
    columns = [field for field in plan_fields(dataset.fields, with_inner=True) if field.is_column]
    column = next((field for field in columns if field.column == name), None)
    if column is None:
        return f"the contract has no column {quote(name)}.{did_you_mean(name, [field.column for field in columns])}"
    if column.type not in PERIOD_TYPES or column.shape is not Shape.VALUE:
        return "its values are compared as they are: name a column of dates, whole numbers or texts."
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
                    " delivered again counts twice. Declare `replaces: delivery` (a file of the same name) or `period` (of the"
                    " same day, or the like), `publishAs: parquet` with `mergeStrategy: upsert` (rows of the same key), or"
                    " `replaces: nothing` if no row comes again."
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
