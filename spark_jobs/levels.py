"""Which checks are measured over records, and which over the elements of a list or a map."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from contracts.check import Check
    from contracts.plan import Plan


def by_level(plan: Plan, checks: Iterable[Check]) -> dict[tuple[str, ...], tuple[Check, ...]]:
    """The checks of each level, those of records (without a level) first, even where there are none."""
    parted: dict[tuple[str, ...], list[Check]] = {(): []}
    for check in checks:
        level = plan.field(check.fields[0]).level if check.of_elements else ()
        parted.setdefault(level, []).append(check)
    return {level: tuple(own) for level, own in parted.items()}
