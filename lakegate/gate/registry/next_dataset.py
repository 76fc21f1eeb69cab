"""The dataset of the next major version of a contract, which replaces one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lakegate.contract.contract_model import DATASET_KEY, parts_of
from lakegate.gate.datasets.dataset_states import DatasetState, DatasetStatus, strictest
from lakegate.gate.registry.routes import leading

if TYPE_CHECKING:
    from lakegate.gate.dependencies import Dependencies


@dataclass(frozen=True, slots=True)
class NextDataset:
    """The dataset of the next major version, which replaces one."""

    dataset: str = field(metadata=DATASET_KEY)
    version: str
    status: str
    takes_effect: str | None
    """The time from which it is in force (RFC 3339, UTC); null: it is, or no time is planned."""

    def in_words(self) -> str:
        """A sentence without a period."""
        when = f"takes effect on {self.takes_effect[:10]}" if self.takes_effect else f"is {self.status}"
        return f"{self.dataset} ({self.version}), which {when}"


def next_dataset(dependencies: Dependencies, name: str) -> NextDataset | None:
    """The dataset of the next higher major version that has the same schema object and is not retired; None if there is none.

    It reads the contract's list, and the state of each dataset that it looks at.
    """
    if name.startswith("_"):
        return None  # of deliveries without a contract
    contract, dataset, number = parts_of(name)
    snapshot, now = dependencies.registry.contract(contract), dependencies.moment
    for higher in sorted(
        {each.major for each in snapshot.standing if each.contract == contract and each.major > number}
    ):
        version = leading(snapshot, contract, higher)
        assert version is not None  # the number is that of one
        if dataset in dict(version.plans):
            state = dependencies.datasets.get(version.full_name(dataset))
            status = strictest(version.status, state.status_at(now))
            if status is not DatasetStatus.RETIRED:
                return NextDataset(state.name, version.version, status, takes_effect((state,), now))
    return None


def takes_effect(states: Iterable[DatasetState], now: str) -> str | None:
    """The earliest time from which a draft among datasets is active; None where none is, or no time is planned."""
    drafts = (state for state in states if state.status_at(now) is DatasetStatus.DRAFT)
    planned = (each for state in drafts for each in state.planned(now) if each.status is DatasetStatus.ACTIVE)
    return min((each.at for each in planned), default=None)
