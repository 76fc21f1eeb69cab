"""Aggregates of numbers: each is computed of a share, and merged over the shares of a delivery."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakegate.engine.measure.partial import Moments

START = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate of the numbers of a share."""

    merge: str
    """How those of shares are combined: by their `sum`, `minimum` or `maximum`."""
    of: Callable[[Moments, Moments, int], float | int | None]
    """Its value, given the numbers of the share, those of all shares, and the judging time (microseconds since 1970)."""
    is_float: bool = False
    """Whether it is a float also of whole numbers."""


def _squares(own: Moments, everything: Moments, _: int) -> float:
    distance = own.mean - everything.mean
    return own.squares + own.count * distance * distance


AGGREGATES: dict[str, Aggregate] = {
    "total": Aggregate("sum", lambda own, _, __: own.total),
    "squares": Aggregate("sum", _squares, is_float=True),
    "least": Aggregate("minimum", lambda own, _, __: own.least),
    "greatest": Aggregate("maximum", lambda own, _, __: own.greatest),
    "youngest": Aggregate("minimum", lambda own, _, judged: judged - int(own.greatest or 0)),
    "oldest": Aggregate("maximum", lambda own, _, judged: judged - int(own.least or 0)),
}
"""`squares` are those of the distances from the mean of all numbers; `youngest` and `oldest` the least and the greatest age."""


@cache
def micros(moment: str) -> int:
    """A moment in microseconds since 1970."""
    at = datetime.fromisoformat(moment)
    return ((at if at.tzinfo else at.replace(tzinfo=UTC)) - START) // timedelta(microseconds=1)
