"""The ports in memory, as strict as AWS: every condition that S3 and DynamoDB enforce is enforced here.

The emulators of AWS accept conditional copies that AWS refuses; a protocol tested on them alone would pass with its
conditions missing. Single-threaded on purpose: anyone who interleaves, does so between calls.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, cast

from lakegate.features.announcements.announced_delivery import Announcement, Announcements
from lakegate.features.notifications.notices import ChannelNotice
from lakegate.features.notifications.notices import notices as notices_of
from lakegate.features.odf.slice_turns import Turns, turn_key
from lakegate.features.pull.pull_task import PullState
from lakegate.features.revalidation.revalidation import RevalidationState
from lakegate.features.validator_api.validation_run import Validation, Validations
from lakegate.features.workflows.callbacks import Callbacks, CallbackToken
from lakegate.gate.datasets.dataset_states import (
    DatasetDeadlines,
    DatasetRowStore,
    DatasetState,
    dataset_deadlines,
    dataset_lifecycles,
)
from lakegate.gate.delivery.delivery_row import Workload, workload_of, workload_row
from lakegate.gate.delivery_store import Batch, Batches, Pause, Pauses, message_of, message_row
from lakegate.gate.ledger.blocks import AnyBlock, Head
from lakegate.gate.ledger.ledger_store import Ledger, block_writes, head_key
from lakegate.gate.ports import UNSIGNED, Message, SigningKeys
from lakegate.gate.registry.registry_store import Registry
from lakegate.gate.table import Row, TableName
from tests.fakes.channels import MemoryChannels
from tests.fakes.fault_injector import FaultInjector, MemoryNotifier, VirtualClock
from tests.fakes.identity import MemoryIdentity
from tests.fakes.jobs import MemoryJobs
from tests.fakes.landing import MemoryUploads
from tests.fakes.objects import MemoryObjects
from tests.fakes.stored import Stored, StoredChains
from tests.fakes.table import Change, MemoryTable
from tests.fakes.validators import MemoryValidators

if TYPE_CHECKING:
    from lakegate.gate.dependencies import Dependencies

T = TypeVar("T")
"""The mark of a registry whose contracts are all listed."""

__all__ = [
    "FaultInjector",
    "Memory",
    "MemoryChannels",
    "MemoryIdentity",
    "MemoryJobs",
    "MemoryNotifier",
    "MemoryObjects",
    "MemoryTable",
    "MemoryUploads",
    "MemoryValidators",
    "VirtualClock",
]


@dataclass
class Memory:
    """All in-memory doubles of one stack, and what is stored in its tables."""

    clock: VirtualClock
    faults: FaultInjector
    objects: MemoryObjects
    table: MemoryTable
    jobs: MemoryJobs
    notifier: MemoryNotifier
    channels: MemoryChannels
    uploads: MemoryUploads
    validators: MemoryValidators
    signing: SigningKeys = UNSIGNED
    _datasets_written: list[tuple[datetime, DatasetState]] = field(default_factory=list, init=False)

    @staticmethod
    def of(*buckets: str, lag: float = 0.0) -> Memory:
        """An empty stack with these versioned buckets; `lag`: seconds an index stays behind its rows."""
        clock, faults = VirtualClock(), FaultInjector()
        table = MemoryTable(clock, faults, lag)
        return Memory(
            clock,
            faults,
            MemoryObjects(clock, faults, buckets),
            table,
            MemoryJobs(faults),
            MemoryNotifier(faults),
            MemoryChannels(faults),
            MemoryUploads(faults),
            MemoryValidators(faults),
        )

    def adapter(self, name: str) -> object:
        """The double of what a feature registers by this name (`Dependencies.of`)."""
        return getattr(self, name)

    @property
    def registry(self) -> Registry:
        """Contracts."""
        return Registry(self.table, "landing")

    @property
    def ledger(self) -> Ledger:
        """Chains."""
        return Ledger(self.table, self.signing)

    @property
    def datasets(self) -> DatasetRowStore[DatasetState]:
        """Lifecycle and subscriptions."""
        return dataset_lifecycles(self.table)

    def put_turn(self, line: str, following: int, writer: str = "") -> None:
        """Set the turn of a dataset, as nobody does."""
        values = {"following": following, **({"writer": writer} if writer else {})}
        self.table.put(Row(turn_key(line), values))

    @property
    def turns(self) -> Turns:
        """Of datasets with slices."""
        return Turns(self.table)

    @property
    def deadlines(self) -> DatasetRowStore[DatasetDeadlines]:
        """By dataset."""
        return dataset_deadlines(self.table)

    @property
    def pulls(self) -> DatasetRowStore[PullState]:
        """By dataset."""
        return DatasetRowStore(self.table, "pull", "pull", PullState)

    @property
    def revalidations(self) -> DatasetRowStore[RevalidationState]:
        """By dataset."""
        return DatasetRowStore(self.table, "revalidation", "revalidation", RevalidationState)

    @cached_property
    def workloads(self) -> Stored[Workload]:
        """Rows of deliveries."""
        return Stored(self.table, "workload", workload_of, workload_row)

    def write(self, workload: Workload) -> None:
        """Replace the row of a delivery without a condition."""
        self.table.put(workload_row(workload))

    @cached_property
    def chains(self) -> StoredChains:
        """Blocks."""
        return StoredChains(self.table)

    def put_block(self, block: AnyBlock) -> None:
        """Write a block or record at its height, whatever is there and whatever the head of its chain is."""
        self.table.put(block_writes(block)[2].row)

    def put_head(self, chain: str, head: Head) -> None:
        """Set the head of a chain."""
        self.table.put(Row(head_key(chain), {"top": head.height, "digest": head.digest}))

    def cut(self, chain: str, height: int) -> None:
        """Remove the rows of a chain from a height on."""
        for each in list(self.table.heights(chain, height - 1)):
            self.table.remove(each.key)

    @property
    def versions(self) -> Collection[object]:
        """The contracts and versions that are published, each as `contract#version`."""
        return self.table.rows[TableName.REGISTRY, "version"].keys()

    @property
    def events(self) -> Collection[object]:
        """Of records."""
        return self.table.rows[TableName.LEDGER, "event"].keys()

    @property
    def messages(self) -> dict[str, Message]:
        """Messages not yet sent, by id."""
        rows = self.table.rows[TableName.WORKLOADS, "message"].items()
        return {str(name): self._messages[str(name)] for name, row in rows if row.has("at")}

    @cached_property
    def _messages(self) -> Stored[Message]:
        return Stored(self.table, "message", message_of)

    def post(self, message: Message) -> None:
        """Put a message into the outbox."""
        self.table.put(message_row(message))

    @cached_property
    def contents(self) -> Stored[str]:
        """Who claimed each content."""
        return Stored(self.table, "content", lambda row: row.text("owner"))

    @cached_property
    def pauses(self) -> Stored[Pause]:
        """By dataset."""
        return self._kept("pause", Pauses(self.table).pause_of)

    @cached_property
    def batches(self) -> Stored[Batch]:
        """By id."""
        return self._kept("batch", Batches(self.table).get)

    @cached_property
    def stored_datasets(self) -> Stored[DatasetState]:
        """Those that somebody has written."""
        return self._kept("line", self.datasets.get)

    @property
    def datasets_written(self) -> list[tuple[datetime, DatasetState]]:
        """Every write of a dataset with its time: for tests that compare what was in force."""
        for each in self.changes("line")[len(self._datasets_written) :]:
            assert each.row is not None
            self._datasets_written.append((each.at, cast("DatasetState", each.row.values["line"].record)))
        return self._datasets_written

    def changes(self, kind: str) -> list[Change]:
        """Every write of a row of a kind, in order; the list grows."""
        return self.table.changes[TableName.WORKLOADS, kind]

    @cached_property
    def announcements(self) -> Stored[Announcement]:
        """By id."""
        return self._kept("announcement", Announcements(self.table).get)

    @cached_property
    def callbacks(self) -> Stored[CallbackToken]:
        """By the hashes of tokens."""
        return self._kept("callback", Callbacks(self.table).get)

    @cached_property
    def notices(self) -> Stored[ChannelNotice]:
        """By id."""
        return self._kept("notice", notices_of(cast("Dependencies", self)).get)

    @cached_property
    def validations(self) -> Stored[Validation]:
        """By id."""
        return self._kept("validation", Validations(self.table).get)

    @property
    def requests(self) -> Mapping[str | int, Row]:
        """By the keys of requests."""
        return self.table.rows[TableName.WORKLOADS, "request"]

    def _kept(self, kind: str, get: Callable[[str], T | None]) -> Stored[T]:
        return Stored(self.table, kind, lambda row: cast("T", get(row.key.identity)))
