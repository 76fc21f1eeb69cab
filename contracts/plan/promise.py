"""A promise of a contract about time, as a plan has it. The gate reads promises without the module of plans."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Promise:
    """A service level of the contract: how long it takes at most until a delivery is accepted."""

    name: str
    """`frequency` or `freshness`: after an accepted delivery; `latency`: after what is delivered was taken in."""
    seconds: int
