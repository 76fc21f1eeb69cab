"""Quotas of an account: calls a second, runs that wait, vCPUs. A call beyond one of them is refused as AWS refuses it.

The defaults are those of a new account (EMR Serverless User Guide, "Endpoints and quotas"); an account may have others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from local_emr.api_shapes import StartError, ThrottlingError


class CallRate(NamedTuple):
    """Calls of an operation: a bucket of `burst` tokens, refilled by `per_second`."""

    per_second: float
    burst: int


SLOW: Final = CallRate(1, 25)
QUICK: Final = CallRate(10, 50)
RATES: Final[Mapping[str, CallRate]] = {
    "CreateApplication": SLOW,
    "GetApplication": QUICK,
    "ListApplications": QUICK,
    "UpdateApplication": SLOW,
    "StartApplication": SLOW,
    "StopApplication": SLOW,
    "DeleteApplication": SLOW,
    "StartJobRun": SLOW,
    "GetJobRun": QUICK,
    "ListJobRuns": SLOW,
    "CancelJobRun": SLOW,
}
"""Per region of an account, by operation; the others have none."""
VCPUS: Final = 16
QUEUED: Final = 2000
UNLIMITED: Final = 1 << 30
_RATE: Final = re.compile(r"(\w+)=([0-9]+(?:\.[0-9]+)?)/([1-9][0-9]*)")


@dataclass(frozen=True, slots=True)
class Quotas:
    """The quotas of the account that is played."""

    vcpus: int = VCPUS
    """Of all runs together."""
    queued: int = QUEUED
    """Runs that wait at the same time."""
    rates: Mapping[str, CallRate] = field(default_factory=lambda: RATES)


NONE: Final = Quotas(UNLIMITED, UNLIMITED, {})


def read_rates(words: Iterable[str]) -> dict[str, CallRate]:
    """The rates of an account: the defaults, but for operations in words such as `StartJobRun=5/50`. StartError if unreadable."""
    rates = dict(RATES)
    for word in words:
        match = _RATE.fullmatch(word)
        if match is None or match[1] not in RATES:
            raise StartError(f"a rate is OPERATION=PER_SECOND/BURST, of one of {', '.join(RATES)}: not {word}")
        rates[match[1]] = CallRate(float(match[2]), int(match[3]))
    return rates


class TokenBuckets:
    """A bucket of tokens for each operation that has a rate. The caller holds the service's lock."""

    def __init__(self, rates: Mapping[str, CallRate], clock: Callable[[], float]) -> None:
        self._rates = rates
        self._clock = clock
        self._tokens: dict[str, tuple[float, float]] = {}

    def take(self, operation: str) -> None:
        """Take a token for a call; ThrottlingError where there is none."""
        rate = self._rates.get(operation)
        if rate is None:
            return
        now = self._clock()
        left, since = self._tokens.get(operation, (float(rate.burst), now))
        left = min(float(rate.burst), left + (now - since) * rate.per_second)
        if left < 1:
            self._tokens[operation] = left, now
            raise ThrottlingError("Rate exceeded")
        self._tokens[operation] = left - 1, now
