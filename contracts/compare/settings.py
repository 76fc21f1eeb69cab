"""Compares the `lakegate` extension of datasets: the policy for deliveries, the file format and the CSV dialect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.contracts.compare.change import Change
from lakegate.contracts.compare.texts import text_of
from lakegate.contracts.documents.extension import CSV, POLICY, STORAGE
from lakegate.contracts.model.contract import Severity
from lakegate.contracts.model.policy import Additional, Duplicates, Mode, OnReject, Treatment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from decimal import Decimal
    from typing import Any

    from lakegate.contracts.model.contract import Dataset

STRICTNESS: dict[str, Callable[[Any], Decimal | int]] = {
    "mode": lambda mode: mode is Mode.ENFORCE,
    "onReject": lambda unit: unit is OnReject.FILE,
    "maxRejectedShare": lambda share: -share,
    "additionalFields": lambda treatment: treatment is Additional.FORBID,
    "allowEmpty": lambda is_allowed: not is_allowed,
    "lateEvents": lambda treatment: treatment is Treatment.REJECT,
    "changedRows": lambda treatment: treatment is Treatment.REJECT,
    "vanishedRows": lambda treatment: treatment is Treatment.REJECT,
    "duplicates": lambda treatment: treatment is Duplicates.REFUSE,
    "critical": lambda is_critical: is_critical,
    "multiLine": lambda is_allowed: not is_allowed,
}
"""How strict the value of a key is; the larger, the less is accepted."""
PUBLISHED = frozenset({"publishAs", "eventTime", "mergeStrategy"})
"""The keys of the policy that change what consumers read."""
UNBOUNDED = float("inf")


def compare_settings(old: Dataset, new: Dataset) -> Iterator[Change]:
    """The changes of the extension, with its defaults."""
    sides = ((POLICY, old.policy, new.policy), (STORAGE, old.storage, new.storage), (CSV, old.csv, new.csv))
    for table, before, after in sides:
        for key, (name, _) in table.items():
            was, now = (getattr(each, name) if name else None for each in (before, after))
            if was != now:
                stem = "csv." if table is CSV else ""
                yield Change(f"{new.name}.lakegate.{stem}{key}", _kind(key, was, now), text_of(was), text_of(now))
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
    if key == "maxBytes":
        return "limit-lowered" if (now or UNBOUNDED) < (was or UNBOUNDED) else "limit-raised"
    if key == "quarantineDays":
        return "quarantine-shortened" if (now or UNBOUNDED) < (was or UNBOUNDED) else "quarantine-lengthened"
    if key == "snapshotTime":
        return "snapshot-time"
    return "policy-changed" if key in POLICY and key not in PUBLISHED else "file-format"
