"""A promise of a contract about time, as a plan has it. The gate reads promises without the module of plans."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Promise:
    """How long after an accepted delivery the next one is accepted at the latest: a service level of the contract."""

    name: str
    """`frequency` or `freshness`."""
    seconds: int
