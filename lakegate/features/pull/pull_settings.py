"""The setting `pull`: its lints, those of DCM's `eventType`, and the schedule that a plan has of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from lakegate.base.text import quote
from lakegate.contract.contract_model import Contract, Dataset, Rule
from lakegate.contract.delivery_policy import ADDED, DeliveryUnit, MergeStrategy, OnReject, Pull
from lakegate.contract.documents.document_tree import Document, Place
from lakegate.contract.file_formats import Format
from lakegate.contract.schedules import MIN_MINUTES, ScheduleError, schedule
from lakegate.contract.service_levels import FREQUENCY, MINUTE, service_levels_of
from lakegate.lints.findings import Finding, Lint, LintLevel, extensions_of
from lakegate.plan.plan import Plan

KEYS: Final = frozenset({"primaryKey", "unique", "duplicateValues", "distinct"})
"""The kinds of rules that say that no two rows are alike."""


def plan_data(_contract: Contract, dataset: Dataset, plan: Plan) -> Plan:
    """The plan with the schedule of what is pulled, also where only a service level names it."""
    pull = plan.policy.pull
    if pull is None or pull.schedule or pull.is_folder or pull.is_table:
        return plan
    return replace(plan, policy=replace(plan.policy, pull=replace(pull, schedule=pull_schedule(dataset.rules))))


def pull_schedule(rules: Iterable[Rule]) -> str:
    """The schedule of a pull that has a frequency as service level, as an interval or in five fields of cron.

    Empty if none does, or a shorter one than a schedule may be.
    """
    frequency = next((level for level in service_levels_of(rules) if level.name == FREQUENCY), None)
    if frequency is None or frequency.schedule:
        return frequency.schedule if frequency else ""
    minutes = frequency.seconds // MINUTE
    return f"rate({minutes} minutes)" if minutes >= MIN_MINUTES else ""


# ---- Lints ----


def without_schedule(contract: Contract, document: Document) -> Iterator[Finding]:
    """A pull has a schedule that EventBridge knows, or a service level `frequency` of 5 minutes at least."""
    for place in _places(document):
        text = place["schedule"].text
        try:
            schedule(text or "rate(5 minutes)")
        except ScheduleError as wrong:
            yield place["schedule"].path, f"{quote(text)} is no schedule: {wrong}."
    idle = [
        dataset
        for dataset, pull in _pulled(contract)
        if not (pull.schedule or pull.is_folder or pull.is_table or pull_schedule(dataset.rules))
    ]
    if idle:
        words = f"Nothing says how often {quote(idle[0].name)} is fetched"
        for place in _places(document):
            if not place["schedule"].present:
                yield place.path, f"{words}: write `schedule: rate(1 hour)`, or a `frequency` of at least 5 minutes."


def in_folder(contract: Contract, document: Document) -> Iterator[Finding]:
    """The objects of a folder are delivered when they are named: it has no schedule, and is no archive."""
    if any(pull.is_folder and (pull.schedule or pull.member) for _, pull in _pulled(contract)):
        for place in _places(document):
            text = place["source"].text or ""
            for key in ("schedule", "member"):
                if place[key].present and text.endswith("/"):
                    yield (
                        place[key].path,
                        f"A folder has no `{key}`: each object is delivered when its producer names it.",
                    )


def in_parts(contract: Contract, document: Document) -> Iterator[Finding]:
    """A pull fetches one object, which is one delivery."""
    if any(dataset.policy.delivery is not DeliveryUnit.OBJECT for dataset, _ in _pulled(contract)):
        for place in _places(document):
            yield place.path, "A pull fetches one object: remove `pull`, or say `delivery: object`."


def of_table(contract: Contract, document: Document) -> Iterator[Finding]:
    """What is judged of a table is a copy of one snapshot, in Parquet and as a whole: only that can become `main`."""
    tables = [dataset for dataset, pull in _pulled(contract) if pull.is_table]
    for place in _places(document):
        is_table = Pull(place["source"].text or "").is_table
        for key in ("secret", "unencrypted", "member") if is_table else ("rows",):
            if place[key].present:
                yield (
                    place[key].path,
                    f"{'A branch' if is_table else 'What is no branch'} of a table takes no `{key}`: remove it.",
                )
    for at, dataset in enumerate(tables):
        if _tables(tables[at : at + 1]) & _tables(tables[:at]):
            yield dataset.origin.path, "A table has one dataset: another one of this document names it, too."
        if dataset.storage.format is not Format.PARQUET:
            yield dataset.origin.path, "A snapshot of a table is judged as Parquet: say `format: parquet`."
        if dataset.policy.on_reject is OnReject.ROWS:
            yield dataset.origin.path, "A snapshot becomes `main` whole or not at all: remove `onReject: rows`."
        if dataset.policy.merge_strategy is MergeStrategy.SNAPSHOT and _is_added(dataset):
            yield (
                dataset.origin.path,
                "`mergeStrategy: snapshot` needs all rows in each delivery: remove `rows: added`.",
            )


def of_added_rows(contract: Contract, document: Document) -> Iterator[Finding]:
    """With `rows: added` the keys of a delivery are compared with each other, and not with rows that are in the table already."""
    for dataset, _ in _pulled(contract):
        keys = [rule for rule in dataset.rules if rule.kind in KEYS]
        if _is_added(dataset) and keys and not any(rule.schedule for rule in keys):
            for place in _places(document):
                if place["rows"].present:
                    words = "The key of a row is compared with the other added rows alone"
                    yield (
                        place["rows"].path,
                        f"{words}: write a rule `duplicateValues` with a `schedule` for all rows, too.",
                    )


def _is_added(dataset: Dataset) -> bool:
    return dataset.policy.pull is not None and dataset.policy.pull.rows == ADDED


def _tables(datasets: Iterable[Dataset]) -> set[str]:
    """The tables of datasets, without branches."""
    return {dataset.policy.pull.source.partition("?")[0] for dataset in datasets if dataset.policy.pull}


def without_source(contract: Contract, document: Document) -> Iterator[Finding]:
    """DCM's `access.eventType: pull` needs a source, and `event` a folder of S3 whose objects are named."""
    place = document.top["access"]["eventType"]
    words = "Nothing says where this is fetched from, so that deliveries have to be brought"
    if place.text == "pull" and not list(_pulled(contract)):
        yield place.path, f"{words}: write `pull: {{source: …, schedule: …}}` in `specific.lakegate`."
    if place.text == "event" and not any(pull.is_folder for _, pull in _pulled(contract)):
        yield place.path, f"{words}: write `pull: {{source: s3://BUCKET/FOLDER/}}` in `specific.lakegate`."


def by_stream(_contract: Contract, document: Document) -> Iterator[Finding]:
    """DCM's `access.eventType: stream` is not built: a document that says so would wait for data that nothing takes."""
    place = document.top["access"]["eventType"]
    if place.text == "stream":
        yield place.path, "Streams are not taken in: write `push`, and let the stream write files to landing."


def _places(document: Document) -> Iterator[Place]:
    return (place["pull"] for place in extensions_of(document) if place["pull"].entries)


def _pulled(contract: Contract) -> Iterator[tuple[Dataset, Pull]]:
    return ((dataset, dataset.policy.pull) for dataset in contract.datasets if dataset.policy.pull)


LINTS: Final[Mapping[str, Lint]] = {
    "pull-schedule": Lint(LintLevel.ERROR, without_schedule),
    "pull-folder": Lint(LintLevel.ERROR, in_folder),
    "pull-in-parts": Lint(LintLevel.ERROR, in_parts),
    "pull-table": Lint(LintLevel.ERROR, of_table),
    "pull-added-rows": Lint(LintLevel.WARNING, of_added_rows),
    "pull-without-source": Lint(LintLevel.WARNING, without_source),
    "stream-not-taken": Lint(LintLevel.ERROR, by_stream),
}
