"""Reads the `lakegate` extension of a document: the policy for deliveries, the file format and the CSV dialect.

Each key is one row of a table. An unknown key or an unsupported value is an error: no setting is ignored silently.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lakegate.contracts.documents.setting_values import (
    InvalidValueError,
    Parser,
    character,
    column,
    count,
    count_to,
    days,
    encoding,
    flag,
    one_character_of,
    one_of,
    only,
    parent,
    pull,
    requirements,
    share,
    shared_with,
    texts,
    texts_by_column,
    time_in_name,
    workflow,
)
from lakegate.contracts.model.contract import NOTICE_DAYS, Severity
from lakegate.contracts.model.policy import (
    MAX_BATCH_BYTES,
    MAX_BATCH_FILES,
    MAX_BATCH_SECONDS,
    MAX_WATERMARK_MINUTES,
    Additional,
    DeliveryUnit,
    Duplicates,
    MergeStrategy,
    Mode,
    OnReject,
    Policy,
    PublishAs,
    Treatment,
)
from lakegate.contracts.model.storage import (
    DECIMAL_SEPARATORS,
    THOUSANDS_SEPARATORS,
    Compression,
    Csv,
    Format,
    Storage,
)
from lakegate.contracts.words import did_you_mean, listed, shown

if TYPE_CHECKING:
    from lakegate.contracts.documents.nodes import Place
    from lakegate.contracts.documents.notes import Notes
    from lakegate.contracts.model.contract import Rule

EXTENSION = "lakegate"
"""The key of the extension in documents."""
POLICY: dict[str, tuple[str, Parser]] = {
    "mode": ("mode", one_of(Mode)),
    "onReject": ("on_reject", one_of(OnReject)),
    "maxRejectedShare": ("max_rejected_share", share),
    "additionalFields": ("additional_fields", one_of(Additional)),
    "allowEmpty": ("allow_empty", flag),
    "duplicates": ("duplicates", one_of(Duplicates)),
    "samples": ("samples", flag),
    "maxBytes": ("max_bytes", count),
    "delivery": ("delivery", one_of(DeliveryUnit)),
    "quietMinutes": ("quiet_minutes", count_to(24 * 60, " of minutes")),
    "partsWithinMinutes": ("parts_within_minutes", count_to(7 * 24 * 60, " of minutes")),
    "batchFiles": ("batch_files", count_to(MAX_BATCH_FILES)),
    "batchBytes": ("batch_bytes", count_to(MAX_BATCH_BYTES)),
    "batchSeconds": ("batch_seconds", count_to(MAX_BATCH_SECONDS)),
    "quarantineDays": ("quarantine_days", days),
    "notifyProducers": ("notify_producers", flag),
    "publishAs": ("publish_as", one_of(PublishAs)),
    "eventTime": ("event_time", column),
    "watermarkMinutes": ("watermark_minutes", count_to(MAX_WATERMARK_MINUTES, " of minutes", least=0)),
    "lateEvents": ("late_events", one_of(Treatment)),
    "mergeStrategy": ("merge_strategy", one_of(MergeStrategy)),
    "changedRows": ("changed_rows", one_of(Treatment)),
    "vanishedRows": ("vanished_rows", one_of(Treatment)),
    "snapshotTime": ("snapshot_time", time_in_name),
    "workflow": ("workflow", workflow),
    "pull": ("pull", pull),
}
STORAGE: dict[str, tuple[str, Parser]] = {
    "format": ("format", one_of(Format, Format.UNKNOWN)),
    "compression": ("compression", one_of(Compression)),
}
OTHER: dict[str, tuple[str, Parser]] = {
    "critical": ("critical", flag),
    "noticePeriod": ("notice_days", count),
}
OF_CONTRACTS: dict[str, tuple[str, Parser]] = {
    "inherits": ("inherits", parent),
    "require": ("require", requirements),
    "sharedWith": ("shared_with", shared_with),
}
"""The keys of a whole contract."""
OF_DATASETS = ("schema", "models")
"""The keys of the root below which the extension belongs to one dataset."""
CSV: dict[str, tuple[str, Parser]] = {
    "delimiter": ("delimiter", character),
    "quote": ("quote", character),
    "escape": ("", only('"')),
    "header": ("header", flag),
    "encoding": ("encoding", encoding),
    "nullValues": ("null_values", texts),
    "nullValuesByColumn": ("null_values_by_column", texts_by_column),
    "multiLine": ("multi_line", flag),
    "decimalSeparator": ("decimal_separator", one_character_of(*DECIMAL_SEPARATORS)),
    "thousandsSeparator": ("thousands_separator", one_character_of(*THOUSANDS_SEPARATORS)),
}


class Extension:
    """The extension of a dataset: later places override earlier ones (the dataset's override the contract's).

    `served` and `delimiter` are those of the document's servers; the extension overrides them.
    """

    def __init__(
        self, places: list[Place], notes: Notes, served: Format | None = None, delimiter: str | None = None
    ) -> None:
        settings: dict[str, Any] = {}
        csv: dict[str, Any] = {} if delimiter is None else {"delimiter": delimiter}
        for place in places:
            settings |= _read(place, POLICY | STORAGE | OTHER, notes, other_keys=("csv", *_of_contracts(place)))
            csv |= _read(place["csv"], CSV, notes)
        self.declared = frozenset(settings) | frozenset(csv)
        """The settings that the document sets."""
        storage = {name: settings.pop(name) for name in tuple(STORAGE) if name in settings}
        self.critical = bool(settings.pop("critical", True))
        """Whether a broken rule may reject a delivery."""
        self.notice_days = settings.pop("notice_days", NOTICE_DAYS)
        """How long subscribers have before a new major version takes effect."""
        self.policy = Policy(**settings)
        self.csv = Csv(**csv)
        is_csv = served is None or (served is Format.UNKNOWN and bool(csv))
        self.storage = Storage(**({"format": Format.CSV if is_csv else served} | storage))

    def graded(self, rules: Iterable[Rule]) -> tuple[Rule, ...]:
        """The rules of the dataset; all are warnings if the dataset is not critical."""
        return tuple(rules if self.critical else (replace(rule, severity=Severity.WARN) for rule in rules))


def inheritance(places: Iterable[Place], notes: Notes) -> dict[str, Any]:
    """The fields `inherits`, `require` and `shared_with` of `Contract`, from the extension of the whole contract."""
    found: dict[str, Any] = {}
    for place in places:
        found |= _read(place, OF_CONTRACTS, notes, other_keys=(*POLICY, *STORAGE, *OTHER, "csv"))
    return found


def _of_contracts(place: Place) -> Iterable[str]:
    return () if place.steps[0] in OF_DATASETS else OF_CONTRACTS


def _read(
    place: Place, table: dict[str, tuple[str, Parser]], notes: Notes, other_keys: Collection[str] = ()
) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    if place.node is not None and place.node.content is not None and not isinstance(place.node.content, Mapping):
        notes.error("extension-value", place, "Write a mapping of keys here.")
    for key, value in place.entries.items():
        if key in table:
            name, parse = table[key]
            try:
                settings[name] = parse(value)
            except InvalidValueError as wrong:
                notes.error("extension-value", wrong.at or value, f"`{key}` takes {wrong}.")
        elif key not in other_keys:
            known = [*table, *other_keys]
            hint = did_you_mean(key, known) or f" Known are {listed(known)}."
            notes.error("extension-key", value, f"The key {shown(key)} is unknown in the extension.{hint}")
    settings.pop("", None)
    return settings
