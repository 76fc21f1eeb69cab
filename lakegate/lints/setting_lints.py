"""What is pulled: when, from where, and that it is one object."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.contract.delivery_policy import DeliveryUnit, Duplicates, MergeStrategy, OnReject, PublishAs, Treatment
from lakegate.contract.schedules import ScheduleError, schedule
from lakegate.lints.findings import extensions_of, settings_of
from lakegate.rules.compile_plan import planned
from lakegate.text import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.contract.contract_model import Contract, Dataset
    from lakegate.contract.delivery_policy import Pull
    from lakegate.contract.documents.document_tree import Document, Place
    from lakegate.lints.findings import Finding

# ---- What is pulled: when, from where, and that it is one object ---------------------------------------------------


def without_schedule(contract: Contract, document: Document) -> Iterator[Finding]:
    """What is pulled has a schedule that EventBridge knows, or a service level `frequency` of 5 minutes at least."""
    from lakegate.features.pull.pull_settings import pull_schedule  # noqa: PLC0415 - a feature

    for place in _places(document):
        text = place["schedule"].text
        try:
            schedule(text or "rate(5 minutes)")
        except ScheduleError as wrong:
            yield place["schedule"].path, f"{shown(text)} is no schedule: {wrong}."
    idle = [each for each, pull in _pulled(contract) if not (pull.schedule or pull_schedule(each.rules))]
    if idle:
        words = f"Nothing says how often {shown(idle[0].name)} is fetched"
        for place in _places(document):
            if not place["schedule"].present:
                yield place.path, f"{words}: write `schedule: rate(1 hour)`, or a `frequency` of at least 5 minutes."


def in_parts(contract: Contract, document: Document) -> Iterator[Finding]:
    """A pull fetches one object, which is one delivery."""
    if any(each.policy.delivery is not DeliveryUnit.OBJECT for each, _ in _pulled(contract)):
        for place in _places(document):
            yield place.path, "A pull fetches one object: remove `pull`, or say `delivery: object`."


def without_source(contract: Contract, document: Document) -> Iterator[Finding]:
    """DCM's `access.eventType: pull` needs a source."""
    place = document.top["access"]["eventType"]
    if place.text == "pull" and not list(_pulled(contract)):
        words = "Nothing says where this is fetched from, so that deliveries have to be brought"
        yield place.path, f"{words}: write `pull: {{source: …, schedule: …}}` in `specific.lakegate`."


def _places(document: Document) -> Iterator[Place]:
    return (place["pull"] for place in extensions_of(document) if place["pull"].entries)


def _pulled(contract: Contract) -> Iterator[tuple[Dataset, Pull]]:
    return ((each, each.policy.pull) for each in contract.datasets if each.policy.pull)


# ---- Slices of Open Data Fabric: fields that none can have, times of events that are none, and settings without
# an effect


_SETTINGS = ("watermarkMinutes", "lateEvents", "changedRows", "vanishedRows", "duplicates", "snapshotTime")


def no_slice(contract: Contract, _document: Document) -> Iterator[Finding]:
    """With `publishAs: parquet`, each field has a name and a type that a slice can have."""
    from lakegate.features.odf.odf_settings import misfits  # noqa: PLC0415 - a feature

    for dataset in _published(contract):
        for name, reason in misfits(dataset):
            field = dataset.field(name)
            assert field is not None
            yield field.origin.path, f"With `publishAs: parquet` {reason}."


def no_event_time(contract: Contract, document: Document) -> Iterator[Finding]:
    """`eventTime` names a column with dates or timestamps, and has an effect only on slices."""
    from lakegate.features.odf.odf_settings import event_time_misfit  # noqa: PLC0415 - a feature

    for place, datasets in settings_of(contract, document, "eventTime"):
        published = [each for each in datasets if each.policy.publish_as is PublishAs.PARQUET]
        if place.text and not published:
            yield place.path, "`eventTime` has an effect only with `publishAs: parquet`: add that, or remove it."
        for dataset in published:
            wanted = dataset.policy.event_time
            wrong = wanted and event_time_misfit(planned(dataset.fields, with_inner=True), wanted)
            if wrong:
                yield place.path, f"`eventTime` of {dataset.name}: {wrong}. Name a column with dates or timestamps."


def idle_setting(contract: Contract, document: Document) -> Iterator[Finding]:
    """A watermark needs times of events, late events need slices, and changed rows a merge strategy."""
    for key in _SETTINGS:
        for place, datasets in settings_of(contract, document, key):
            reasons = [dict(_idle(each)).get(key) for each in datasets]
            if None not in reasons:  # one of them needs it
                yield place.path, f"`{key}` of {', '.join(each.name for each in datasets)} {reasons[0]}."


def _idle(dataset: Dataset) -> Iterator[tuple[str, str]]:
    """The settings of a dataset without an effect, each with the reason and the remedy."""
    policy = dataset.policy
    has_times = policy.event_time is not None or policy.merge_strategy is MergeStrategy.SNAPSHOT
    if policy.watermark_minutes is not None and not has_times:
        yield "watermarkMinutes", "has an effect only with `eventTime`: add that, or remove it"
    if policy.late_events is not Treatment.ACCEPT and policy.publish_as is not PublishAs.PARQUET:
        yield "lateEvents", "has an effect only with `publishAs: parquet`: add that, or remove it"
    if policy.merge_strategy is not MergeStrategy.LEDGER:
        for key, treatment, default in (
            ("changedRows", policy.changed_rows, Treatment.WARN),
            ("vanishedRows", policy.vanished_rows, Treatment.ACCEPT),
        ):
            if treatment is not default:
                yield key, "has an effect only with `mergeStrategy: ledger`: add that, or remove it"
    if policy.merge_strategy is MergeStrategy.SNAPSHOT and policy.duplicates is Duplicates.REFUSE:
        yield "duplicates", "has no effect, because a snapshot may have the content of an earlier one: remove it"
    if policy.snapshot_time is not None and policy.merge_strategy is not MergeStrategy.SNAPSHOT:
        yield "snapshotTime", "has an effect only with `mergeStrategy: snapshot`: add that, or remove it"
    elif policy.snapshot_time is not None and policy.event_time is not None:
        yield "snapshotTime", "has no effect, because the column of `eventTime` has the time: remove one of the two"


def no_merge_key(contract: Contract, document: Document) -> Iterator[Finding]:
    """A merge strategy has slices, and a primary key of columns with plain values; a snapshot is accepted as a whole."""
    for place, datasets in settings_of(contract, document, "mergeStrategy"):
        for dataset in datasets:
            strategy, wrong = dataset.policy.merge_strategy, _strategy_misfit(dataset)
            if strategy is not MergeStrategy.APPEND and wrong:
                yield place.path, f"`mergeStrategy: {strategy.value}` of {dataset.name} {wrong}."


def _strategy_misfit(dataset: Dataset) -> str:
    """Why the rows of a dataset cannot be merged, with the remedy; empty where they can."""
    from lakegate.features.odf.odf_settings import merge_key  # noqa: PLC0415 - a feature

    policy, key = dataset.policy, merge_key(dataset)
    if policy.publish_as is not PublishAs.PARQUET:
        return "needs `publishAs: parquet`: files as they arrived are not merged"
    if not key:
        return "needs a primary key of plain values: declare one whose columns are neither objects, lists nor maps"
    if policy.merge_strategy is MergeStrategy.SNAPSHOT and policy.on_reject is OnReject.ROWS:
        return "needs `onReject: file`: the key of a rejected row would be retracted"
    if policy.merge_strategy is MergeStrategy.SNAPSHOT and policy.event_time in key:
        return f"cannot have {policy.event_time} (`eventTime`) in the primary key: each snapshot would have other keys"
    return ""


def _published(contract: Contract) -> Iterator[Dataset]:
    return (each for each in contract.datasets if each.policy.publish_as is PublishAs.PARQUET)
