"""What a line promises about time, and when it is missed: pure functions.

A promise of frequency or freshness begins with an accepted delivery: within `seconds` after it, the next one has to be accepted.
A promise of latency begins with the oldest delivery that was taken in and not accepted: no row of it is younger than that. A
promise is missed at the end of its time, also if nothing arrives at all, and kept again with the next accepted delivery.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from lakegate.contracts.lake.lifecycle import instant_of, moment

if TYPE_CHECKING:
    from lakegate.contracts.plan.promise import Promise

LATENCY: Final = "latency"


@dataclass(frozen=True, slots=True)
class Pledge:
    """A promise of the version by which the latest delivery was accepted."""

    name: str
    """`frequency`, `freshness` or `latency`."""
    seconds: int
    missed: bool = False
    """Whether it was reported as missed."""
    since: str = ""
    """When it began; empty: with the latest accepted delivery."""


@dataclass(frozen=True, slots=True)
class PromisingLine:
    """The promises of a line since its latest accepted delivery."""

    line: str
    last: str = ""
    """When the latest delivery was accepted, as `moment` writes it."""
    version: str = ""
    """Of the contract."""
    pledges: tuple[Pledge, ...] = ()
    revision: int = 0

    def end_of(self, pledge: Pledge) -> str:
        """When a promise is missed unless a delivery is accepted before."""
        return moment(instant_of(pledge.since or self.last) + timedelta(seconds=pledge.seconds))

    @property
    def due(self) -> str:
        """When the next promise is missed; empty if there is none that was not reported."""
        return min((self.end_of(each) for each in self.pledges if not each.missed), default="")


def accepted(line: PromisingLine, at: str, version: str, promises: tuple[Promise, ...], taken_in: str) -> PromisingLine:
    """The line after an accepted delivery; the same line if a later one is known or nothing is promised.

    `taken_in`: when the delivery was. If that is too long ago, its latency is missed at once.
    """
    if at <= line.last or not (promises or line.pledges):
        return line
    began = {LATENCY: taken_in}
    pledges = (Pledge(each.name, each.seconds, since=began.get(each.name, "")) for each in promises)
    after = replace(line, last=at, version=version, revision=line.revision + 1)
    kept = tuple(each for each in pledges if each.name != LATENCY or after.end_of(each) < at)
    return replace(after, pledges=kept)


def not_accepted(
    line: PromisingLine, at: str, version: str, promises: tuple[Promise, ...], taken_in: str
) -> PromisingLine:
    """The line after a delivery that was not accepted; the same line unless a promise of latency begins with it."""
    latency = next((each for each in promises if each.name == LATENCY), None)
    if latency is None or at <= line.last or LATENCY in {each.name for each in line.pledges}:
        return line
    pledge = Pledge(LATENCY, latency.seconds, since=taken_in)
    version = line.version or version
    return replace(line, version=version, pledges=(*line.pledges, pledge), revision=line.revision + 1)


def missed(line: PromisingLine, now: str) -> tuple[Pledge, ...]:
    """The promises that are missed by now and were not reported."""
    return tuple(each for each in line.pledges if not each.missed and line.end_of(each) <= now)


def reported(line: PromisingLine, pledges: tuple[Pledge, ...]) -> PromisingLine:
    """The line after some promises were reported as missed."""
    after = tuple(replace(each, missed=True) if each in pledges else each for each in line.pledges)
    return replace(line, pledges=after, revision=line.revision + 1)
