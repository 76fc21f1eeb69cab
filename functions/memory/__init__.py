"""The ports in memory, as strict as AWS: every condition that S3 and DynamoDB enforce is enforced here.

The emulators of AWS accept conditional copies that AWS refuses; a protocol tested on them alone would pass with its
conditions missing. Single-threaded on purpose: whoever interleaves, does so between calls.
"""

from __future__ import annotations

from dataclasses import dataclass

from functions.memory.jobs import MemoryJobs
from functions.memory.ledger import MemoryLedger
from functions.memory.objects import MemoryObjects
from functions.memory.registry import MemoryRegistry
from functions.memory.rows import MemoryRows
from functions.memory.surroundings import MemoryNotifier, VirtualClock, Weather

__all__ = [
    "Memory",
    "MemoryJobs",
    "MemoryLedger",
    "MemoryNotifier",
    "MemoryObjects",
    "MemoryRegistry",
    "MemoryRows",
    "VirtualClock",
    "Weather",
]


@dataclass(frozen=True, slots=True)
class Memory:
    """All twins of one world."""

    clock: VirtualClock
    weather: Weather
    objects: MemoryObjects
    rows: MemoryRows
    ledger: MemoryLedger
    registry: MemoryRegistry
    jobs: MemoryJobs
    notifier: MemoryNotifier

    @staticmethod
    def of(*buckets: str, lag: float = 0.0) -> Memory:
        """An empty world with these versioned buckets; `lag`: seconds an index stays behind its rows."""
        clock, weather = VirtualClock(), Weather()
        rows = MemoryRows(clock, weather, lag)
        return Memory(
            clock,
            weather,
            MemoryObjects(clock, weather, buckets),
            rows,
            MemoryLedger(rows),
            MemoryRegistry(weather),
            MemoryJobs(weather),
            MemoryNotifier(weather),
        )
