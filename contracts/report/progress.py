"""What a corrected delivery improves: its checks beside those of an earlier one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lakegate.contracts.judge.outcomes import Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lakegate.contracts.judge.outcomes import CheckOutcome

BROKEN: Final = frozenset({Status.FAIL, Status.WARN, Status.ERROR})
OF_FILE: Final = "file/"
"""How the ids of properties of the file begin, which are listed only where they are broken."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A check of the earlier delivery."""

    status: Status
    rows: int | None = None
    """Failing rows; None where they are not known, or not counted."""


@dataclass(frozen=True, slots=True)
class Change:
    """A check that was broken, or is."""

    id: str
    before: Finding | None
    """None where it was not measured."""
    now: Finding | None
    """Likewise."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Every check that was broken, or is, in one of four groups; in each, in the order of the plan."""

    fixed: tuple[Change, ...]
    still_broken: tuple[Change, ...]
    newly_broken: tuple[Change, ...]
    not_measured: tuple[Change, ...]
    """Broken before; now skipped, or no check of the contract any more."""


def progress(before: Mapping[str, Finding], outcomes: Iterable[CheckOutcome]) -> Progress:
    """Compare by the ids of checks. What was skipped counts as not measured."""
    found = {each.id: Finding(each.status, each.failing_rows) for each in outcomes}
    fixed: list[Change] = []
    still: list[Change] = []
    newly: list[Change] = []
    unmeasured: list[Change] = []
    for name in dict.fromkeys((*found, *before)):
        change = Change(name, _measured(before.get(name)), _measured(found.get(name)))
        was_broken = change.before is not None and change.before.status in BROKEN
        if change.now is not None and change.now.status in BROKEN:
            (still if was_broken else newly).append(change)
        elif was_broken:
            is_fixed = change.now is not None or (name.startswith(OF_FILE) and name not in found)
            (fixed if is_fixed else unmeasured).append(change)
    return Progress(tuple(fixed), tuple(still), tuple(newly), tuple(unmeasured))


def _measured(finding: Finding | None) -> Finding | None:
    return None if finding is None or finding.status is Status.SKIP else finding
