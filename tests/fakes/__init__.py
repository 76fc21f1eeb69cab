"""The ports in memory, as strict as AWS: every condition that S3 and DynamoDB enforce is enforced here.

The emulators of AWS accept conditional copies that AWS refuses; a protocol tested on them alone would pass with its
conditions missing. Single-threaded on purpose: anyone who interleaves, does so between calls.
"""

from __future__ import annotations

from dataclasses import dataclass

from lakegate.features.pull.pull_task import PullingLine
from lakegate.features.revalidation.revalidation import RevalidatedLine
from lakegate.gate.datasets.dataset_lines import PromisingLine
from tests.fakes.announcements import (
    MemoryAnnouncements,
    MemoryCallbacks,
    MemoryRequestKeys,
    MemoryUploads,
    MemoryValidations,
)
from tests.fakes.fault_injector import FaultInjector, MemoryNotifier, VirtualClock
from tests.fakes.identity import MemoryIdentity
from tests.fakes.jobs import MemoryJobs
from tests.fakes.ledger import MemoryLedger, MemoryTurns
from tests.fakes.lines import MemoryLines
from tests.fakes.notices import MemoryChannels, MemoryLineRows, MemoryNotices
from tests.fakes.objects import MemoryObjects
from tests.fakes.registry import MemoryRegistry
from tests.fakes.rows import MemoryRows
from tests.fakes.validators import MemoryValidators

__all__ = [
    "FaultInjector",
    "Memory",
    "MemoryAnnouncements",
    "MemoryCallbacks",
    "MemoryChannels",
    "MemoryIdentity",
    "MemoryJobs",
    "MemoryLedger",
    "MemoryLineRows",
    "MemoryLines",
    "MemoryNotices",
    "MemoryNotifier",
    "MemoryObjects",
    "MemoryRegistry",
    "MemoryRequestKeys",
    "MemoryRows",
    "MemoryUploads",
    "MemoryValidations",
    "MemoryValidators",
    "VirtualClock",
]


@dataclass(frozen=True, slots=True)
class Memory:
    """All in-memory doubles of one stack."""

    clock: VirtualClock
    faults: FaultInjector
    objects: MemoryObjects
    rows: MemoryRows
    ledger: MemoryLedger
    registry: MemoryRegistry
    jobs: MemoryJobs
    notifier: MemoryNotifier
    lines: MemoryLines
    notices: MemoryNotices
    promises: MemoryLineRows[PromisingLine]
    pulls: MemoryLineRows[PullingLine]
    revalidations: MemoryLineRows[RevalidatedLine]
    channels: MemoryChannels
    announcements: MemoryAnnouncements
    uploads: MemoryUploads
    requests: MemoryRequestKeys
    validations: MemoryValidations
    callbacks: MemoryCallbacks
    validators: MemoryValidators

    @property
    def turns(self) -> MemoryTurns:
        """Of lines with slices."""
        return MemoryTurns(self.rows, self.ledger)

    def adapter(self, name: str) -> object:
        """The double of what a feature registers by this name (`Dependencies.of`)."""
        return getattr(self, name)

    @staticmethod
    def of(*buckets: str, lag: float = 0.0) -> Memory:
        """An empty stack with these versioned buckets; `lag`: seconds an index stays behind its rows."""
        clock, faults = VirtualClock(), FaultInjector()
        rows = MemoryRows(clock, faults, lag)
        ledger = MemoryLedger(rows)
        return Memory(
            clock,
            faults,
            MemoryObjects(clock, faults, buckets),
            rows,
            ledger,
            MemoryRegistry(faults, ledger),
            MemoryJobs(faults),
            MemoryNotifier(faults),
            MemoryLines(rows, ledger, lag),
            MemoryNotices(clock, faults, lag),
            MemoryLineRows(faults, "promises", PromisingLine),
            MemoryLineRows(faults, "pull", PullingLine),
            MemoryLineRows(faults, "revalidation", RevalidatedLine),
            MemoryChannels(faults),
            MemoryAnnouncements(faults),
            MemoryUploads(faults),
            MemoryRequestKeys(faults),
            MemoryValidations(faults),
            MemoryCallbacks(faults),
            MemoryValidators(faults),
        )
