"""publishAs, eventTime, mergeStrategy: settings, lints, plan data, checks of the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from lakegate.contract.contract_model import About, Contract, Dataset, Shape
from lakegate.contract.delivery_policy import Duplicates, MergeStrategy, OnReject, PublishAs, Treatment
from lakegate.contract.documents.document_tree import Document
from lakegate.contract.file_formats import Format
from lakegate.contract.logical_types import LogicalType
from lakegate.features.odf.format.odf_names import COMMON
from lakegate.lints.findings import Finding, Lint, LintLevel, settings_of
from lakegate.plan.dataset_about import (
    LONGEST_ADDRESS,
    LONGEST_NAME,
    DatasetAbout,
    License,
    described,
)
from lakegate.plan.plan import Plan, PlanField
from lakegate.rules.compile_plan import plan_fields

# ---- Description, keywords and licence ----
# A document names its licence in one of these places:
#
# * `license`, a text or a mapping of `name`, `shortName`, `spdx` and `url`: a key of the root, or a custom property of ODCS.
# * ODCS: an authoritative definition of the type `license`, whose `url` has the terms.
# * DCS: the policy `license` of `terms.policies`, with `description` and `url`; `links.license`.


LICENSE: Final = frozenset({"license", "licence"})


def dataset_about(about: About) -> DatasetAbout | None:
    """None where the document states nothing of it."""
    found = replace(described(about), license=_license(about.sections))
    return None if found == DatasetAbout() else found


def _license(sections: Mapping[str, object]) -> License | None:
    """The first name that is stated, and the first address."""
    names, addresses = list(_list_licenses(sections)), list(_addresses(sections))
    if not names:
        return License(addresses[0], url=addresses[0]) if addresses else None
    name = names[0]
    url = next((each for each in (name.url, *addresses) if each), "")
    return License(name.name, name.short_name, name.spdx, url)


def _list_licenses(sections: Mapping[str, object]) -> Iterator[License]:
    custom = (
        mapping.get("value")
        for mapping in _mappings(sections.get("customProperties"))
        if _is_license(mapping, "property")
    )
    for value in (*(sections.get(key) for key in sorted(LICENSE)), *custom):
        if isinstance(value, Mapping) and (name := _text(value, "name") or _text(value, "spdx")):
            yield License(name, _text(value, "shortName"), _text(value, "spdx"), _text(value, "url", LONGEST_ADDRESS))
        elif isinstance(value, str) and value:
            yield License(value[:LONGEST_NAME])
    for policy in _policies(sections):
        if name := _text(policy, "description"):
            yield License(name, url=_text(policy, "url", LONGEST_ADDRESS))


def _addresses(sections: Mapping[str, object]) -> Iterator[str]:
    links = sections.get("links")
    stated = [links.get(key) for key in sorted(LICENSE)] if isinstance(links, Mapping) else []
    yield from (each[:LONGEST_ADDRESS] for each in stated if isinstance(each, str) and each)
    definitions = (
        mapping for mapping in _mappings(sections.get("authoritativeDefinitions")) if _is_license(mapping, "type")
    )
    for each in (*definitions, *_policies(sections)):
        if url := _text(each, "url", LONGEST_ADDRESS):
            yield url


def _policies(sections: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    terms = sections.get("terms")
    if isinstance(terms, Mapping):
        yield from (mapping for mapping in _mappings(terms.get("policies")) if _is_license(mapping, "name"))


def _mappings(value: object) -> Iterable[Mapping[str, object]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list | tuple) else ()


def _is_license(value: Mapping[str, object], key: str) -> bool:
    return _text(value, key).lower() in LICENSE


def _text(value: Mapping[str, object], key: str, longest: int = LONGEST_NAME) -> str:
    found = value.get(key)
    return found[:longest] if isinstance(found, str) else ""


# ---- Whether rows can be slices ----


TIMES = {LogicalType.DATE, LogicalType.TIMESTAMP}


def misfits(dataset: Dataset) -> Iterator[tuple[str, str]]:
    """The fields that no slice can have, each with the reason and the remedy."""
    fields = plan_fields(dataset.fields, with_inner=True)
    opened = {field.path[:-1] for field in fields if not field.is_column}
    for each in fields:
        if each.is_column and each.column.lower() in COMMON:
            yield each.name, "every slice has a column of this name: rename the field"
        elif each.shape is not Shape.VALUE and dataset.storage.format is Format.CSV:
            yield each.name, "a CSV file has no parts of values: declare a text, or say which `format` is delivered"
        elif each.shape is Shape.MAP:
            yield each.name, "ODF's logical hash does not know maps: declare a record, or a list of texts"
        elif each.shape is Shape.RECORD and each.level:
            yield each.name, "ODF's logical hash does not know records in lists: declare lists of plain values"
        elif each.shape is Shape.ANY or (each.shape is not Shape.VALUE and each.place not in opened):
            yield each.name, "a column of a slice has one type: declare the fields, or the items, of the values"


def merge_key(dataset: Dataset) -> tuple[str, ...]:
    """The columns by which rows are merged: those of the primary key; none where parts of values are in it."""
    keys = [rule.fields for rule in dataset.rules if rule.kind == "primaryKey"]
    columns = (field for field in plan_fields(dataset.fields, with_inner=True) if field.is_column)
    names = {column.name: column.column for column in columns if column.shape is Shape.VALUE}
    return tuple(names[path] for path in keys[0]) if len(keys) == 1 and set(keys[0]) <= names.keys() else ()


def event_time_misfit(fields: tuple[PlanField, ...], name: str) -> str | None:
    """The reason why a column has no times of events; None if it has."""
    field = next((each for each in fields if each.is_column and each.column == name), None)
    if field is None:
        return "the contract has no such column"
    if field.type not in TIMES or field.shape is not Shape.VALUE:
        return "it is neither a date nor a timestamp"
    return None


# ---- Lints ----

_SETTINGS = ("watermarkMinutes", "lateEvents", "changedRows", "vanishedRows", "duplicates", "snapshotTime")


def no_slice(contract: Contract, _document: Document) -> Iterator[Finding]:
    """With `publishAs: parquet`, each field has a name and a type that a slice can have."""
    for dataset in (each for each in contract.datasets if each.policy.publish_as is PublishAs.PARQUET):
        for name, reason in misfits(dataset):
            field = dataset.field(name)
            assert field is not None
            yield field.origin.path, f"With `publishAs: parquet` {reason}."


def no_event_time(contract: Contract, document: Document) -> Iterator[Finding]:
    """`eventTime` names a column with dates or timestamps, and has an effect only on slices."""
    for place, datasets in settings_of(contract, document, "eventTime"):
        published = [each for each in datasets if each.policy.publish_as is PublishAs.PARQUET]
        if place.text and not published:
            yield place.path, "`eventTime` has an effect only with `publishAs: parquet`: add that, or remove it."
        for dataset in published:
            wanted = dataset.policy.event_time
            wrong = wanted and event_time_misfit(plan_fields(dataset.fields, with_inner=True), wanted)
            if wrong:
                yield place.path, f"`eventTime` of {dataset.name}: {wrong}. Name a column with dates or timestamps."


def idle_setting(contract: Contract, document: Document) -> Iterator[Finding]:
    """A watermark needs times of events, late events need slices, and changed rows a merge strategy."""
    for key in _SETTINGS:
        for place, datasets in settings_of(contract, document, key):
            reasons = [dict(_idle(dataset)).get(key) for dataset in datasets]
            if None not in reasons:  # one of them needs it
                yield place.path, f"`{key}` of {', '.join(dataset.name for dataset in datasets)} {reasons[0]}."


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
    """The reason why the rows of a dataset cannot be merged, with the remedy; empty where they can."""
    policy, key = dataset.policy, merge_key(dataset)
    if policy.publish_as is not PublishAs.PARQUET:
        return "needs `publishAs: parquet`: files as they arrived are not merged"
    if not key:
        return "needs a primary key of plain values: declare one whose columns are neither objects, lists nor maps"
    if policy.merge_strategy is MergeStrategy.SNAPSHOT and policy.on_reject is OnReject.ROWS:
        return "needs `onReject: file`: the key of a rejected row would be retracted"
    if policy.merge_strategy is MergeStrategy.SNAPSHOT and policy.event_time in key:
        return f"cannot have {policy.event_time} (`eventTime`) in the primary key: each snapshot would have other keys"
    return _upsert_misfit(dataset) if policy.merge_strategy is MergeStrategy.UPSERT else ""


def _upsert_misfit(dataset: Dataset) -> str:
    if dataset.policy.event_time is not None:
        return "cannot have `eventTime`, because a change is of the time when it was accepted: remove `eventTime`"
    if any(rule.schedule for rule in dataset.rules):
        return "cannot have rules with a schedule, which would read former values, too: remove their schedules"
    return ""


LINTS: Final = {
    "no-slice": Lint(LintLevel.ERROR, no_slice),
    "no-event-time": Lint(LintLevel.ERROR, no_event_time),
    "no-merge-key": Lint(LintLevel.ERROR, no_merge_key),
    "idle-slice-setting": Lint(LintLevel.WARNING, idle_setting),
}


# ---- The plan ----


def plan_data(contract: Contract, dataset: Dataset, plan: Plan) -> Plan:
    """The plan with the key by which rows are merged, and with what the contract says of a dataset of slices.

    A snapshot may have the content of an earlier one.
    """
    policy = plan.policy
    if policy.merge_strategy is not MergeStrategy.APPEND:
        policy = replace(policy, merge_key=merge_key(dataset))
    if policy.merge_strategy is MergeStrategy.SNAPSHOT:
        policy = replace(policy, duplicates=Duplicates.ACCEPT)
    about = dataset_about(contract.about) if policy.publish_as is PublishAs.PARQUET else None
    return replace(plan, policy=policy, about=about)
