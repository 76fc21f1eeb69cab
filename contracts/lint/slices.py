"""Slices of Open Data Fabric: fields that none can have, times of events that are none, and watermarks without an effect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.contracts.compile.rules.nested_fields import planned
from lakegate.contracts.compile.slices import event_time_misfit, misfits
from lakegate.contracts.lint.walk import extensions_of
from lakegate.contracts.model.policy import LateEvents, PublishAs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.contracts.documents.document import Document
    from lakegate.contracts.lint.finding import Finding
    from lakegate.contracts.model.contract import Contract, Dataset


def no_slice(contract: Contract, _document: Document) -> Iterator[Finding]:
    """With `publishAs: parquet`, each field has a name and a type that a slice can have."""
    for dataset in _published(contract):
        for name, reason in misfits(dataset):
            field = dataset.field(name)
            assert field is not None
            yield field.origin.path, f"With `publishAs: parquet` {reason}."


def no_event_time(contract: Contract, document: Document) -> Iterator[Finding]:
    """`eventTime` names a column with dates or timestamps, and has an effect only on slices."""
    named = [place["eventTime"] for place in extensions_of(document) if place["eventTime"].text]
    if named and not list(_published(contract)):
        yield named[-1].path, "`eventTime` has an effect only with `publishAs: parquet`: add that, or remove it."
    for dataset in _published(contract):
        wanted = dataset.policy.event_time
        wrong = wanted and event_time_misfit(planned(dataset.fields, with_inner=True), wanted)
        if wrong:
            yield named[-1].path, f"`eventTime` of {dataset.name}: {wrong}. Name a column with dates or timestamps."


def idle_watermark(contract: Contract, document: Document) -> Iterator[Finding]:
    """A watermark needs times of events, and late events need a watermark; else neither has an effect."""
    places = extensions_of(document)
    for dataset in contract.datasets:
        policy = dataset.policy
        if policy.watermark_minutes is not None and policy.event_time is None:
            for each in [place["watermarkMinutes"] for place in places if place["watermarkMinutes"].number is not None]:
                yield each.path, "`watermarkMinutes` has an effect only with `eventTime`: add that, or remove it."
        if policy.late_events is not LateEvents.ACCEPT and policy.watermark_minutes is None:
            for each in [place["lateEvents"] for place in places if place["lateEvents"].text]:
                yield each.path, "`lateEvents` has an effect only with `watermarkMinutes`: add that, or remove it."


def _published(contract: Contract) -> Iterator[Dataset]:
    return (each for each in contract.datasets if each.policy.publish_as is PublishAs.PARQUET)
