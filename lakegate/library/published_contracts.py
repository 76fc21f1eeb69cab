"""Published contract versions, publications and proposals, as commands print them and the HTTP API has them with `details`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from lakegate.base.errors import Problem
from lakegate.base.extension_points import load_extension
from lakegate.base.json_codec import OMITTED, UNWRITTEN, omit_default, select_fields
from lakegate.base.text import is_one_of, join_words
from lakegate.base.timestamps import beginning_of
from lakegate.contract.contract_model import COMMON, DATASET_KEY, NAMES
from lakegate.gate.datasets.dataset_states import DatasetStatus
from lakegate.gate.datasets.lifecycle import PlannedStatus
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.registry.contract_versions import CompiledContract
from lakegate.gate.registry.registry_rows import Proposal, Publication, RegistrySnapshot, WeakerChild
from lakegate.gate.registry.routes import states_of, status_of
from lakegate.gate.registry.version_in_use import StatusDecision, VersionBeside, status_decisions, versions_beside

if TYPE_CHECKING:
    from lakegate.diff.change_kinds import VersionComparison
    from lakegate.gate.registry.publish_contract import PlannedChange


@dataclass(frozen=True, slots=True)
class DatasetOfVersion:
    """A dataset of a contract version."""

    dataset: str
    full_name: str = field(metadata=DATASET_KEY)
    status: str
    """By which deliveries are judged now: of the dataset or of the version's document, whichever is stricter."""
    plan: str
    prefixes: tuple[str, ...]
    """Prefixes that deliver to it."""
    planned: tuple[PlannedStatus, ...] = omit_default(())
    """The statuses that the dataset gets later, by time."""


@dataclass(frozen=True, slots=True)
class DescribedVersion:
    """A published version of a contract."""

    contract: str
    version: str
    status: str
    document: str
    """Its key in the lake bucket."""
    inherited_from: str | None
    unmeasured_rules: int
    labels: dict[str, tuple[str, ...]]
    datasets: tuple[DatasetOfVersion, ...]
    """None of a version that has only what others inherit."""
    common: tuple[str, tuple[str, ...]] | None = field(default=None, kw_only=True, metadata=UNWRITTEN)
    """Status and prefixes of a version without datasets."""

    def has(self, wanted: Mapping[str, Sequence[str] | None]) -> bool:
        """Whether it has labels, in upper or lower case: several values of one are alternatives."""
        return all(is_one_of(values, self.labels[name]) for name, values in wanted.items())

    def is_of(self, statuses: Sequence[str] | None) -> bool:
        """Whether a dataset of it has one of the statuses; without a status, any."""
        own = {dataset.status for dataset in self.datasets} or {self.common[0] if self.common else self.status}
        return not statuses or not own.isdisjoint(statuses)


@dataclass(frozen=True, slots=True)
class DescribedVersions:
    """Published versions, by contract and number."""

    contracts: tuple[DescribedVersion, ...]
    is_empty: bool = field(default=False, kw_only=True, metadata=UNWRITTEN)
    """Whether no contract at all is published."""


@dataclass(frozen=True, slots=True)
class ContractDocument(DescribedVersion):
    """A published version with its document as it was published."""

    text: str
    decisions: tuple[StatusDecision, ...] = field(default=(), kw_only=True, metadata={OMITTED: True})
    """What statuses decide about deliveries; of the version in use alone."""
    beside: tuple[VersionBeside, ...] = field(default=(), kw_only=True, metadata={OMITTED: True})
    """The versions that take effect later or judge what lands below other prefixes; beside the version in use alone."""

    proposal: ProposedVersion | None = field(default=None, kw_only=True, metadata={OMITTED: True})
    """By which it waits for approval; None: it is published."""
    needs: tuple[tuple[str, str], ...] = field(default=(), kw_only=True, metadata=UNWRITTEN)
    """As `Publication.needs`."""

    def notes(self) -> Iterator[str]:
        """A sentence about each version beside this one, which ends without a period."""
        for each in self.beside:
            if each.takes_effect is not None:
                yield f"{each.version} takes effect on {each.takes_effect[:10]}"
            elif each.prefixes:
                yield f"{each.version} judges what lands below {join_words(each.prefixes)}"
            else:
                yield f"{each.version} is in force, but no route delivers to it (lakegate route add)"


def described(
    dependencies: Dependencies, snapshot: RegistrySnapshot, wanted: Mapping[str, Sequence[str] | None]
) -> tuple[DescribedVersion, ...]:
    """The versions of a snapshot that have the labels, with the prefixes and statuses of their datasets as they are now."""
    versions = [
        each
        for each in sorted(snapshot.versions, key=lambda each: (each.contract, each.precedence))
        if all(each.has_label(name, values) for name, values in wanted.items())
    ]
    states, prefixes = states_of(dependencies, versions), _by_dataset(snapshot)
    now = dependencies.moment

    def one(version: Publication) -> DescribedVersion:
        datasets = tuple(
            DatasetOfVersion(
                dataset,
                version.full_name(dataset),
                status_of(states[version.full_name(dataset)], version, now),
                plan,
                tuple(prefixes[version.contract, version.version, dataset]),
                tuple(PlannedStatus(each.status, each.at) for each in states[version.full_name(dataset)].planned(now)),
            )
            for dataset, plan in version.plans
        )
        of_common = tuple(prefixes[version.contract, version.version, COMMON])
        return select_fields(
            DescribedVersion,
            version,
            labels={name: _values(version, name) for name in NAMES},
            datasets=datasets,
            common=None if datasets else (status_of(states[version.full_name(COMMON)], version, now), of_common),
        )

    return tuple(map(one, versions))


def versions_with(
    dependencies: Dependencies, labels: Mapping[str, Sequence[str] | None], statuses: Sequence[str] | None
) -> DescribedVersions:
    """The published versions with labels and statuses."""
    snapshot = dependencies.registry.snapshot()
    found = (each for each in described(dependencies, snapshot, labels) if each.is_of(statuses))
    return DescribedVersions(tuple(found), is_empty=not snapshot.versions)


def document_in(
    dependencies: Dependencies,
    snapshot: RegistrySnapshot,
    version: Publication,
    *,
    is_used: bool = False,
    proposal: Proposal | None = None,
) -> ContractDocument:
    """A version of a snapshot with its document; bytes that are no UTF-8 are escapes.

    `is_used`: it is the one by which deliveries are judged, so that statuses decide, too. `proposal`: whose version it is.
    """
    (one,) = described(dependencies, replace(snapshot, versions=(version,)), {})
    text = dependencies.read_lake(version.document).decode(errors="backslashreplace")
    used = (dependencies, snapshot, version)
    decisions, beside = (status_decisions(*used), versions_beside(*used)) if is_used else ((), ())
    return select_fields(
        ContractDocument,
        one,
        text=text,
        decisions=decisions,
        beside=beside,
        proposal=proposal and proposed_version(proposal, dependencies.now),
        needs=version.needs,
    )


def _values(version: Publication, name: str) -> tuple[str, ...]:
    return tuple(value for label, value in version.labels if label == name)


def _by_dataset(snapshot: RegistrySnapshot) -> defaultdict[tuple[str, str, str], list[str]]:
    """The prefixes that deliver to each dataset of a version."""
    found: defaultdict[tuple[str, str, str], list[str]] = defaultdict(list)
    for route in sorted(snapshot.routes, key=lambda each: each.prefix):
        found[route.contract, route.version, route.dataset].append(route.prefix)
    return found


# ---- Publications and proposals ----


@dataclass(frozen=True, slots=True)
class PublishedPlan:
    """The digest of the plan of a dataset."""

    dataset: str
    plan: str


@dataclass(frozen=True, slots=True)
class DatasetRoute:
    """A route: objects below a prefix belong to a dataset, and are judged by a version."""

    prefix: str
    full_name: str = field(metadata=DATASET_KEY)
    """Of the dataset."""
    version: str


@dataclass(frozen=True, slots=True)
class DraftStart:
    """The day on which a draft takes effect."""

    dataset: str = field(metadata=DATASET_KEY)
    day: str


@dataclass(frozen=True, slots=True)
class PublishedVersion:
    """A version that is valid now, and the routes of its contract."""

    contract: str
    version: str
    status: str
    document: str
    inherited_from: str | None
    unmeasured_rules: int
    datasets: tuple[PublishedPlan, ...]
    routes: tuple[DatasetRoute, ...]
    drafts: tuple[str, ...]
    """Its datasets that are drafts."""
    warnings: tuple[Problem, ...]
    starts: tuple[DraftStart, ...] = field(default=(), kw_only=True, metadata={OMITTED: True})
    """Of the drafts that take effect by themselves."""
    proposed: str = field(default="", kw_only=True, metadata={OMITTED: True})
    """The prefix that the document proposes (`access.location` of DCM), where no route delivers to the contract."""
    without_notice: tuple[str, ...] = field(default=(), kw_only=True, metadata={OMITTED: True})
    """Weaker contracts whose datasets got no notice, because the caller may not write them."""


@dataclass(frozen=True, slots=True)
class ProposedVersion:
    """A version that waits for a second person."""

    proposal: str
    contract: str
    version: str
    status: str
    document: str
    proposer: str
    proposed_at: str
    expires_at: str
    expired: bool


@dataclass(frozen=True, slots=True)
class NewProposal(ProposedVersion):
    """A version that was proposed now."""

    warnings: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class RefusedNumber:
    """A version whose number is too low for its changes."""

    valid: bool
    comparison: dict[str, Any]
    """The changes, as `lakegate diff --json` has them."""


@dataclass(frozen=True, slots=True)
class PublicationEffects:
    """The effects of a publication that have to be confirmed."""

    effects: tuple[str, ...]
    children: tuple[WeakerChild, ...]


@dataclass(frozen=True, slots=True)
class PlannedPublication:
    """A preview of a publication (`--dry-run`)."""

    valid: bool
    new: bool
    confirm: tuple[str, ...]
    comparison: dict[str, Any] | None
    warnings: tuple[Problem, ...]
    children: tuple[WeakerChild, ...]
    name: str = field(default="", kw_only=True, metadata=UNWRITTEN)
    """Contract and version."""


@dataclass(frozen=True, slots=True)
class DocumentToPublish:
    """A contract document, and how a person wants it to be published."""

    text: bytes
    allow_unmeasured: bool = False
    """Whether rules that can never be measured are published."""
    inherited_from: str | None = None
    """The day from which contracts inherit from it; None: at once."""


Confirm: TypeAlias = Callable[[PublicationEffects], None]
"""Returns where every effect is confirmed, or there is none; raises otherwise."""
ConfirmApproval: TypeAlias = "Callable[[PublicationEffects, VersionComparison | None], None]"
"""The same for a proposed version, with the changes since the version that it follows, if there is one."""


def compiled_document(opened: Callable[[], Dependencies], document: DocumentToPublish) -> CompiledContract:
    """The compiled document, as `publish` takes it; what it refers to is read from the stack, which is opened for nothing else.

    Raises DocumentRefused, and InputError.
    """
    from lakegate.gate.registry.publish_contract import (  # noqa: PLC0415 - the compiler, for publishing alone
        compile_document,
        referred_in,
    )

    referred, day = referred_in(opened, document.text), document.inherited_from
    found = compile_document(document.text, referred, allow_unmeasured=document.allow_unmeasured)
    return replace(found, inherited_from="" if day is None else beginning_of(day, datetime.now(UTC)))


def publish(
    dependencies: Dependencies, compiled: CompiledContract, confirm: Confirm | None, holder: str = ""
) -> PublishedVersion | NewProposal:
    """Make a version valid, or propose it where the stack requires approval, once its effects are confirmed.

    `confirm`: None, every effect is confirmed. `holder`: the ARN of the person who has the caller's token. Raises
    IncompatibleVersion, and InputError.
    """
    from lakegate.gate.registry import publish_contract  # noqa: PLC0415 - as above

    change = publish_contract.plan_publication(dependencies, compiled)
    if confirm is not None:
        confirm(effects_of_publication(compiled, change))
    if dependencies.places.needs_approval and not change.is_done:
        proposed = load_extension("version approval", "propose")(dependencies, compiled, holder)
        return new_proposal(dependencies.run(proposed), change.warnings)
    found = published_version(dependencies, dependencies.run(publish_contract.publish(dependencies, compiled)), change)
    if found.routes or not compiled.plans:
        return found
    from lakegate.library.published_routes import proposed_prefix  # noqa: PLC0415 - for a contract without a route alone

    return replace(found, proposed=proposed_prefix(compiled.document, compiled.contract, dependencies.places))


def planned_publication(dependencies: Dependencies, compiled: CompiledContract) -> PlannedPublication:
    """A preview of a publication, by the registry as it is. Raises as `publish`."""
    from lakegate.gate.registry.publish_contract import plan_publication  # noqa: PLC0415 - as above

    change = plan_publication(dependencies, compiled)
    found = effects_of_publication(compiled, change)
    return PlannedPublication(
        valid=True,
        new=change.is_new,
        confirm=found.effects,
        comparison=None if change.comparison is None else change.comparison.to_json(),
        warnings=change.warnings,
        children=found.children,
        name=f"{compiled.contract} {compiled.version}",
    )


def effects_of_publication(compiled: CompiledContract, change: PlannedChange) -> PublicationEffects:
    """The effects of a planned change."""
    from lakegate.gate.registry.publish_contract import effects_of  # noqa: PLC0415 - as above

    return PublicationEffects(tuple(effects_of(compiled, change)), change.announced)


def published_version(dependencies: Dependencies, published: Publication, change: PlannedChange) -> PublishedVersion:
    """A version that was published now: the routes of its contract, and those of its datasets that are drafts."""
    from lakegate.gate.registry.publish_contract import drafts_of  # noqa: PLC0415 - as above

    drafts = drafts_of(dependencies, published)
    return select_fields(
        PublishedVersion,
        published,
        datasets=tuple(PublishedPlan(dataset, plan) for dataset, plan in published.plans),
        routes=dependencies.registry.contract(published.contract).routes,
        drafts=tuple(draft.name for draft in drafts),
        warnings=change.warnings,
        starts=tuple(
            DraftStart(draft.name, draft.expected(DatasetStatus.ACTIVE)[:10]) for draft in drafts if draft.notice
        ),
        without_notice=_without_notice(dependencies, published, change),
    )


def _without_notice(dependencies: Dependencies, published: Publication, change: PlannedChange) -> tuple[str, ...]:
    """The contracts that are weaker than a published version, and have a dataset without its notice."""
    version = f"{published.contract}@{published.version}"
    missing = (
        f"{child.contract} {child.version}"
        for child in change.announced
        for dataset in child.datasets
        if version not in {parent.version for parent in dependencies.datasets.get(dataset).parents}
    )
    return tuple(dict.fromkeys(missing))


def proposed_version(proposal: Proposal, now: datetime | None = None) -> ProposedVersion:
    """A proposal, and whether it has expired."""
    return select_fields(
        ProposedVersion,
        proposal,
        proposal.publication,
        proposal=proposal.digest,
        expired=now is not None and proposal.is_expired(now),
    )


def new_proposal(proposal: Proposal, warnings: tuple[Problem, ...]) -> NewProposal:
    """A proposal that was left now."""
    return select_fields(NewProposal, proposed_version(proposal), warnings=warnings)
