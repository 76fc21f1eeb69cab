"""Changes of what a contract says beside its fields and rules: names, descriptions, servers, settings and other keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

from lakegate.contract.contract_model import Contract, Dataset, Severity
from lakegate.contract.delivery_policy import (
    Derivation,
    Duplicates,
    FieldTreatment,
    Mode,
    OnReject,
    PublishAs,
    Replaces,
    Treatment,
)
from lakegate.contract.documents.document_root import DEPRECATION_KEYS
from lakegate.contract.documents.extension_settings import CSV, POLICY, STORAGE
from lakegate.diff.change_kinds import Change, meaning, text_of
from lakegate.diff.compared_versions import ALIASES, ContractVersion

# ---- Names, descriptions, servers and other keys ----


KINDS_OF_KEYS = {"physicalType": "physical-type", "description": "description", "deprecated": "deprecation"}
ABOUT = {
    "description": "description",
    "owner": "owner",
    "purpose": "description",
    "usage": "description",
    "limitations": "description",
}


class Metadata:
    """Compares the keys of two documents that the model leaves out."""

    def __init__(self, old: ContractVersion, new: ContractVersion) -> None:
        self._old, self._new = old, new
        self._is_one_format = old.family == new.family

    def of_contract(self) -> Iterator[Change]:
        """The changes of the root."""
        old, new = self._old.contract, self._new.contract
        yield from _unless_same("id", "contract-id", old.id, new.id)
        yield from _unless_same("name", "metadata", old.name, new.name)
        yield from _unless_same("status", "status", old.status, new.status)
        for key, kind in ABOUT.items():
            yield from _unless_same(key, kind, getattr(old.about, key), getattr(new.about, key))
        yield from _unless_same("lakegate.inherits", "metadata", _parent(old), _parent(new))
        yield from _unless_same("lakegate.require", "metadata", list(old.require), list(new.require))
        yield from _unless_same("lakegate.sharedWith", "metadata", list(old.shared_with), list(new.shared_with))
        for key in DEPRECATION_KEYS:
            sides = (getattr(side.about.deprecation, key, None) for side in (old, new))
            yield from _unless_same(f"deprecation.{key}", "deprecation", *sides)
        before, after = (
            {server.name: {"type": server.type, **server.settings} for server in side.about.servers}
            for side in (old, new)
        )
        for name in sorted(before.keys() | after.keys()):
            yield from _unless_same(f"servers.{name}", "server", before.get(name), after.get(name))
        yield from self.of_element("root", "", "$", "$")

    def of_element(self, element: str, path: str, old: str, new: str) -> Iterator[Change]:
        """The changes of the remaining keys of an element, at its addresses in both documents."""
        before, after = self._old.rest(element, old), self._new.rest(element, new)
        if not self._is_one_format:
            before, after = ({ALIASES.get(key, key): value for key, value in side.items()} for side in (before, after))
        keys = before.keys() | after.keys() if self._is_one_format else before.keys() & after.keys()
        for key in sorted(keys):
            kind = KINDS_OF_KEYS.get(key, "metadata")
            yield from _unless_same(f"{path}.{key}".removeprefix("."), kind, before.get(key), after.get(key))


def _unless_same(path: str, kind: str, before: object, after: object) -> Iterator[Change]:
    if meaning(before) != meaning(after):
        yield Change(path, kind, text_of(before), text_of(after))


def _parent(contract: Contract) -> str | None:
    return None if contract.inherits is None else contract.inherits.name


# ---- The `lakegate` extension ----


STRICTNESS: dict[str, Callable[[Any], Decimal | int]] = {
    "mode": lambda mode: mode is Mode.ENFORCE,
    "onReject": lambda unit: unit is OnReject.FILE,
    "maxRejectedShare": lambda share: -share,
    "additionalFields": lambda treatment: treatment is FieldTreatment.FORBID,
    "missingFields": lambda treatment: treatment is FieldTreatment.FORBID,
    "allowEmpty": lambda is_allowed: not is_allowed,
    "lateEvents": lambda treatment: treatment is Treatment.REJECT,
    "changedRows": lambda treatment: treatment is Treatment.REJECT,
    "vanishedRows": lambda treatment: treatment is Treatment.REJECT,
    "duplicates": lambda treatment: treatment is Duplicates.REFUSE,
    "critical": lambda is_critical: is_critical,
    "multiLine": lambda is_allowed: not is_allowed,
}
"""The strictness of a key's value; the larger, the less is accepted."""
PUBLISHED = frozenset({"eventTime", "mergeStrategy"})
"""The keys of the policy that change what consumers read."""
_FORMS = {
    (PublishAs.ORIGINAL, PublishAs.ICEBERG): "table-added",
    (PublishAs.ICEBERG, PublishAs.ORIGINAL): "table-removed",
}
"""The kinds of changes between forms whose files are the same."""
UNBOUNDED = float("inf")


def _end(was_absent: bool, is_absent: bool) -> str:  # noqa: FBT001 - both sides of a comparison
    """The end of the name of a change."""
    return "added" if was_absent else "removed" if is_absent else "changed"


def _kind_of_derivation(was: Derivation | None, now: Derivation | None) -> str:
    """The kind of a change of `derive`; another schedule, or other blanks in the query, change no row."""
    if was is None or now is None:
        return f"derivation-{_end(was is None, now is None)}"
    sides = [replace(each, schedule="", query=" ".join(each.query.split())) for each in (was, now)]
    return "policy-changed" if sides[0] == sides[1] else "query-changed"


KINDS_OF_SETTINGS: dict[str, Callable[[Any, Any], str]] = {
    "maxBytes": lambda was, now: "limit-lowered" if (now or UNBOUNDED) < (was or UNBOUNDED) else "limit-raised",
    "quarantineDays": lambda was, now: (
        "quarantine-shortened" if (now or UNBOUNDED) < (was or UNBOUNDED) else "quarantine-lengthened"
    ),
    "publishAs": lambda was, now: _FORMS.get((was, now), "file-format"),
    "replaces": lambda was, now: f"replacement-{_end(was is Replaces.NOTHING, now is Replaces.NOTHING)}",
    "period": lambda was, now: f"period-{_end(was is None, now is None)}",
    "snapshotTime": lambda _, __: "snapshot-time",
    "pull": lambda was, now: "policy-changed" if not (was and now) or was.rows == now.rows else "file-format",
    "derive": _kind_of_derivation,
}
"""The kinds of change of keys that have kinds of their own."""


def compare_settings(old: Dataset, new: Dataset) -> Iterator[Change]:
    """The changes of the extension, with its defaults."""
    sides = ((POLICY, old.policy, new.policy), (STORAGE, old.storage, new.storage), (CSV, old.csv, new.csv))
    for table, before, after in sides:
        for key, (name, _) in table.items():
            was, now = (getattr(side, name) if name else None for side in (before, after))
            if was != now:
                stem = "csv." if table is CSV else ""
                texts = (text_of(each.query if isinstance(each, Derivation) else each) for each in (was, now))
                yield Change(f"{new.name}.lakegate.{stem}{key}", _kind(key, was, now), *texts)
    if old.notice_days != new.notice_days:
        kind = "notice-shortened" if new.notice_days < old.notice_days else "notice-lengthened"
        yield Change(f"{new.name}.lakegate.noticePeriod", kind, str(old.notice_days), str(new.notice_days))
    critical = _critical(old), _critical(new)
    if len({*critical, None}) == len((True, False, None)):
        yield Change(f"{new.name}.lakegate.critical", _kind("critical", *critical), *map(text_of, critical))


def _critical(dataset: Dataset) -> bool | None:
    """Whether a value that is not of its type rejects; None if the types of no field are checked."""
    severities = {rule.severity for rule in dataset.rules if rule.kind == "type"}
    return Severity.FAIL in severities if severities else None


def _kind(key: str, was: Any, now: Any) -> str:  # noqa: ANN401 - the values of any key
    if key in STRICTNESS:
        before, after = STRICTNESS[key](was), STRICTNESS[key](now)
        if before == after:
            return "policy-changed"
        return "policy-stricter" if after > before else "policy-looser"
    if key in KINDS_OF_SETTINGS:
        return KINDS_OF_SETTINGS[key](was, now)
    return "policy-changed" if key in POLICY and key not in PUBLISHED else "file-format"
