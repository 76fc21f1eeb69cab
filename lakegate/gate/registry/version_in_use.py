"""The version of a contract by which deliveries are judged now, what its status decides, and the versions beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lakegate.contract.contract_model import DATASET_KEY, parts_of
from lakegate.gate.datasets.dataset_states import DatasetState, DatasetStatus, strictest
from lakegate.gate.datasets.lifecycle import refusal, replacement, warning
from lakegate.gate.registry.named_contract import chosen
from lakegate.gate.registry.next_dataset import takes_effect
from lakegate.gate.registry.registry_rows import Publication, RegistrySnapshot
from lakegate.gate.registry.routes import leading

if TYPE_CHECKING:
    from lakegate.gate.dependencies import Dependencies


@dataclass(frozen=True, slots=True)
class StatusDecision:
    """The decision of the gate about a delivery to a dataset by its status, whatever it contains."""

    dataset: str = field(metadata=DATASET_KEY)
    refused: tuple[str, ...]
    """The reasons of the refusal; empty: it is judged by the rules."""
    warning: str
    """The warning of an accepted delivery; empty: nothing."""


@dataclass(frozen=True, slots=True)
class VersionBeside:
    """A version that does not judge what is delivered now: it takes effect later, or other prefixes deliver to it."""

    version: str
    takes_effect: str | None
    """The time from which it is in force (RFC 3339, UTC); null: it is."""
    prefixes: tuple[str, ...]
    """Prefixes that deliver to it."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    """The current version of a major number, with its datasets as they are now."""

    version: Publication
    states: tuple[DatasetState, ...]
    prefixes: tuple[str, ...]
    now: str

    @property
    def statuses(self) -> set[DatasetStatus]:
        return {strictest(self.version.status, state.status_at(self.now)) for state in self.states}

    @property
    def is_in_force(self) -> bool:
        return not self.statuses <= {DatasetStatus.DRAFT, DatasetStatus.RETIRED}

    @property
    def rank(self) -> tuple[bool, bool, bool, object]:
        """Greater for what judges: in force, rather than a draft, rather than retired; what has a route; the newest."""
        is_draft = DatasetStatus.DRAFT in self.statuses
        return self.is_in_force, is_draft, bool(self.prefixes), self.version.precedence

    @property
    def takes_effect(self) -> str | None:
        """The earliest time from which a draft is active; None where it is none, or no time is planned."""
        return takes_effect(self.states, self.now)


def version_in_use(dependencies: Dependencies, snapshot: RegistrySnapshot, name: str) -> Publication:
    """The version of a contract by which deliveries are judged now; by the id of a version's document it is that version.

    Raises InputError as `chosen`.
    """
    newest = chosen(snapshot, name)
    found = () if newest.document_id == name else _candidates(dependencies, snapshot, newest.contract)
    return max(found, key=lambda each: each.rank).version if found else newest


def versions_beside(
    dependencies: Dependencies, snapshot: RegistrySnapshot, used: Publication
) -> tuple[VersionBeside, ...]:
    """The other versions of the contract that take effect at a time, that prefixes deliver to, or that are newer, by number."""
    others = (each for each in _candidates(dependencies, snapshot, used.contract) if each.version.major != used.major)
    listed = [
        each
        for each in others
        if each.takes_effect or (each.is_in_force and (each.prefixes or each.version.major > used.major))
    ]
    return tuple(VersionBeside(each.version.version, each.takes_effect, each.prefixes) for each in listed)


def labels_of_dataset(dependencies: Dependencies, name: str) -> dict[str, str]:
    """Name and owner, and other labels with one value, by the current version of a dataset; empty where it has none."""
    if name.startswith("_"):
        return {}  # of deliveries without a contract
    contract, _, number = parts_of(name)
    current = leading(dependencies.registry.contract(contract), contract, number)
    return dict(current.labels) if current else {}


def status_decisions(
    dependencies: Dependencies, snapshot: RegistrySnapshot, version: Publication
) -> tuple[StatusDecision, ...]:
    """Decisions of statuses about deliveries to the datasets of a version.

    In sunset a producer is known where a delivery below any prefix of the dataset was accepted.
    """
    return tuple(
        _decision(dependencies, version, dataset, plan, _prefixes(snapshot, version, dataset))
        for dataset, plan in version.plans
    )


def _decision(
    dependencies: Dependencies, version: Publication, dataset: str, plan: str, prefixes: Sequence[str]
) -> StatusDecision:
    name = version.full_name(dataset)
    state = dependencies.datasets.get(name)
    status = strictest(version.status, state.status_at(dependencies.moment))
    observed = status is DatasetStatus.DRAFT and dependencies.terms_at(plan, name).observed
    known = status is not DatasetStatus.SUNSET or any(dependencies.workloads.knows(name, each) for each in prefixes)
    refused = refusal(status, known=known, observed=observed)
    if refused:
        return StatusDecision(name, (refused, *replacement(state, refused)), "")
    return StatusDecision(name, (), warning(state, status))


def _candidates(dependencies: Dependencies, snapshot: RegistrySnapshot, contract: str) -> Iterator[_Candidate]:
    """The current version of each major number of a contract, the lowest first."""
    now = dependencies.moment
    for number in sorted({each.major for each in snapshot.standing if each.contract == contract}):
        version = leading(snapshot, contract, number)
        assert version is not None  # the number is that of one
        states = tuple(dependencies.datasets.get(version.full_name(each)) for each in version.datasets)
        prefixes = tuple(prefix for each in version.datasets for prefix in _prefixes(snapshot, version, each))
        yield _Candidate(version, states, prefixes, now)


def _prefixes(snapshot: RegistrySnapshot, version: Publication, dataset: str) -> tuple[str, ...]:
    """The prefixes that deliver to a dataset of a version, sorted."""
    own = (version.contract, version.version, dataset)
    return tuple(sorted(each.prefix for each in snapshot.routes if (each.contract, each.version, each.dataset) == own))
