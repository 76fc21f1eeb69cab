"""Messages that name objects: the queue says whose contracts a message is for, and the folders of contracts say which.

Nothing in a message proves who sent it. The queue of the stack is for senders that are believed for every contract, and for
events that only S3 can send. A queue that `tenant.yaml` makes for one owner has the contracts of that owner in a tag.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from lakegate.aws.clients import port_errors
from lakegate.base.errors import InputError, Unfinished
from lakegate.contract.contract_model import parts_of
from lakegate.contract.delivery_policy import Pull
from lakegate.features.pull.named_objects import datasets_of, is_in, name_object
from lakegate.features.pull.naming_messages import ObjectsNamed
from lakegate.features.pull.pull_task import policy_of, published_pulls
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Alarm, Steps
from lakegate.gate.registry.contract_owners import are_named

TAG: Final = "lakegate:contract"
"""Of a queue of one owner: the id of its contract, or the beginning of its ids and a slash, because no tag has a star."""
KEPT: Final = timedelta(minutes=1)
"""The owner of a queue, and the folders of all contracts, are read again after so long."""
PAUSE: Final = timedelta(seconds=5)
"""Between two readings of the folders, where none has the object of a message that is newer than the first reading: its contract
may just have been published, and a message that fails comes again after twelve minutes."""
READINGS: Final = 3
"""The most for one message."""
SKEW: Final = timedelta(seconds=1)
"""Between the clock of SQS and that of the function."""
SECONDS_OF_NAMING: Final = 30.0
"""Seconds: with less than this left no further plan is read, and no further dataset gets an object."""
_QUEUE: Final = re.compile(r"arn:aws[a-z-]*:sqs:[a-z0-9-]+:(?P<account>\d{12}):(?P<name>[A-Za-z0-9_-]{1,80})")


@dataclass(slots=True)
class NamingQueues:
    """The queues of a stack in which objects are named."""

    stack: str
    account: str
    client: Any
    """Of SQS."""
    _owners: dict[str, tuple[datetime, str]] = field(default_factory=dict)
    _folders: tuple[datetime, tuple[tuple[Pull, str], ...]] | None = None
    """Folder and dataset of each contract that has one."""
    _pulls: dict[str, Pull | None] = field(default_factory=dict)
    """By the digest of a plan: of others than those that were just published nothing is read again."""

    def name(self, dependencies: Dependencies, named: ObjectsNamed) -> Steps[None]:
        """Let every dataset whose folder has an object of the message deliver it, once.

        Raises InputError where there is none among the contracts of the queue, and Unfinished where time is short: a function
        whose time is over would fail the other messages of its batch.
        """
        contracts = self._contracts(named.queue, dependencies.now)
        for seen in named.objects:
            source, is_named = f"s3://{seen.bucket}/{seen.key}", False
            for dataset in self._datasets(dependencies, contracts, named, source):
                if dependencies.remaining() < SECONDS_OF_NAMING:
                    raise Unfinished("datasets")
                with suppress(InputError):  # its contract has given up the folder meanwhile
                    yield from name_object(dependencies, dataset, source, seen.version)
                    is_named = True
            if not is_named:
                raise InputError("no contract that the queue is for has a folder with the object")

    def _contracts(self, queue: str, now: datetime) -> str:
        """The contracts that a queue is for: an id, or the beginning of ids and a star."""
        match = _QUEUE.fullmatch(queue)
        own = f"{self.stack}-named"
        if match is None or match["account"] != self.account:
            raise InputError("the queue is none of this stack")
        if match["name"] == own:
            return "*"
        if not match["name"].startswith(f"{own}-"):
            raise InputError("the queue is none of this stack")
        read, contracts = self._owners.get(queue, (datetime.min.replace(tzinfo=now.tzinfo), ""))
        if now - read > KEPT:
            with port_errors():
                address = self.client.get_queue_url(QueueName=match["name"])["QueueUrl"]
                contracts = self.client.list_queue_tags(QueueUrl=address).get("Tags", {}).get(TAG, "")
            self._owners[queue] = (now, contracts)
        if not contracts:
            raise InputError(f"the queue has no tag {TAG}")
        return f"{contracts[:-1]}*" if contracts.endswith("/") else contracts

    def _datasets(self, dependencies: Dependencies, contracts: str, named: ObjectsNamed, source: str) -> Iterator[str]:
        """Datasets whose folder has an object, of one contract if there is only one to look at."""
        wanted = named.contract or ("" if contracts.endswith("*") else contracts)
        if wanted:
            return datasets_of(dependencies, wanted, source) if are_named((contracts,), wanted) else iter(())
        with_folder = self._with_folder(dependencies, source, named.sent)
        return iter([each for each in with_folder if are_named((contracts,), parts_of(each)[0])])

    def _with_folder(self, dependencies: Dependencies, source: str, sent: datetime | None) -> list[str]:
        clock = dependencies.clock
        newest, datasets = (sent or clock.now()) + SKEW, list[str]()
        for _ in range(READINGS):
            if self._folders is None or clock.now() - self._folders[0] > KEPT:
                self._folders = clock.now(), tuple(self._read_folders(dependencies))
            read, folders = self._folders
            datasets = [dataset for folder, dataset in folders if is_in(source, folder)]
            if datasets or read > newest:
                break
            clock.sleep(max(0.0, (read + PAUSE - clock.now()).total_seconds()))
            self._folders = None
        return datasets

    def _read_folders(self, dependencies: Dependencies) -> Iterator[tuple[Pull, str]]:
        """Folder and dataset of each contract whose objects are named; one whose plan is damaged is left to the tick to report.

        Raises Unfinished where time is short: the next message goes on with those that were not read.
        """
        seen = set[str]()
        for dataset in published_pulls(dependencies):
            if dataset.plan not in self._pulls:
                if dependencies.remaining() < SECONDS_OF_NAMING:
                    raise Unfinished("folders")
                with suppress(Alarm):
                    self._pulls[dataset.plan] = policy_of(dependencies, dataset.dataset, dataset.plan).pull
            seen.add(dataset.plan)
            pull = self._pulls.get(dataset.plan)
            if pull is not None and pull.is_folder:
                yield pull, dataset.dataset
        self._pulls = {plan: pull for plan, pull in self._pulls.items() if plan in seen}
