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
class CheckFinding:
    """A check of the earlier delivery."""

    status: Status
    rows: int | None = None
    """Failing rows; None where they are not known, or not counted."""


@dataclass(frozen=True, slots=True)
class CheckChange:
    """A check that was broken, or is."""

    id: str
    before: CheckFinding | None
    """None where it was not measured."""
    after: CheckFinding | None
    """Likewise."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Every check that was broken, or is, in one of four groups; in each, in the order of the plan."""

    fixed: tuple[CheckChange, ...]
    still_broken: tuple[CheckChange, ...]
    newly_broken: tuple[CheckChange, ...]
    not_measured: tuple[CheckChange, ...]
    """Broken before; now skipped, or no check of the contract any more."""


def progress(before: Mapping[str, CheckFinding], outcomes: Iterable[CheckOutcome]) -> Progress:
    """Compare by the ids of checks. What was skipped counts as not measured."""
    found = {each.id: CheckFinding(each.status, each.failing_rows) for each in outcomes}
    fixed: list[CheckChange] = []
    still: list[CheckChange] = []
    newly: list[CheckChange] = []
    unmeasured: list[CheckChange] = []
    for name in dict.fromkeys((*found, *before)):
        change = CheckChange(name, _measured(before.get(name)), _measured(found.get(name)))
        was_broken = change.before is not None and change.before.status in BROKEN
        if change.after is not None and change.after.status in BROKEN:
            (still if was_broken else newly).append(change)
        elif was_broken:
            is_fixed = change.after is not None or (name.startswith(OF_FILE) and name not in found)
            (fixed if is_fixed else unmeasured).append(change)
    return Progress(tuple(fixed), tuple(still), tuple(newly), tuple(unmeasured))


def _measured(finding: CheckFinding | None) -> CheckFinding | None:
    return None if finding is None or finding.status is Status.SKIP else finding
