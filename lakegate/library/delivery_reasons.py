"""A delivery with every check, as `reasons` prints it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lakegate.base.json_codec import select_fields
from lakegate.library.described_deliveries import DeliveryStatus
from lakegate.local_check.check_result import checks


@dataclass(frozen=True, slots=True)
class DeliveryReasons(DeliveryStatus):
    """A delivery with every check, as `check --json` has it."""

    checks: tuple[Any, ...]
    timings: dict[str, Any]


def reasons_of(one: DeliveryStatus) -> DeliveryReasons:
    """A delivery with its checks; none, if it was not measured."""
    measured = one.measured
    return select_fields(
        DeliveryReasons,
        one,
        checks=tuple(checks(measured) if measured else ()),
        timings=dict(measured.result.timings) if measured else {},
    )
