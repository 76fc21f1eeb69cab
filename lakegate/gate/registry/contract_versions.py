"""A contract version becomes valid: its files, then version, routes and record in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lakegate.base.errors import ConditionFailed, ContractError, InputError, Problem
from lakegate.base.json_codec import encode, select_fields, sha256_of
from lakegate.contract.contract_model import refuse_unusable
from lakegate.contract.semantic_versions import is_release
from lakegate.gate.datasets.dataset_states import Ending
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Effect, Steps, perform
from lakegate.gate.ledger.blocks import contract_chain
from lakegate.gate.ledger.commit import record_at_head
from lakegate.gate.ledger.record_contents import PlanOfDataset, PublicationContent
from lakegate.gate.ports import Address
from lakegate.gate.registry.contract_owners import EVERY_CONTRACT
from lakegate.gate.registry.registry_rows import NumberedVersion, Proposal, Publication, RegistrySnapshot, SeenParent
from lakegate.gate.table import ConditionName

if TYPE_CHECKING:
    from lakegate.diff.compared_versions import ContractVersion
    from lakegate.inheritance.inherited_documents import Parents, PinnedDocument


# ---- Pinned parents ----


def document_key(text: bytes) -> str:
    """The key of a document in the lake bucket."""
    return f"contracts/{sha256_of(text)}"


def newest_release(snapshot: RegistrySnapshot, number: int) -> Publication | None:
    """The highest published release of a major number that was not withdrawn; None if there is none."""
    found = (each for each in snapshot.standing if is_release(each.version) and each.major == number)
    return max(found, key=lambda each: each.precedence, default=None)


def pinned_parents(dependencies: Dependencies, needs: tuple[tuple[str, str], ...]) -> Parents:
    """The parents that a version was published with; `needs`: of its publication."""
    from lakegate.inheritance.inherited_documents import parents_by_name  # noqa: PLC0415 - what compiles contracts, for documents that inherit alone

    return parents_by_name({name: dependencies.read_lake(key) for name, key in needs})


# ---- Files of a contract version in the lake ----


def store(dependencies: Dependencies, compiled: CompiledContract) -> Steps[None]:
    """Write document and plans, each at the digest of its bytes. Raises InputError for a name that cannot be a folder."""
    for name in (compiled.contract, *compiled.plans):
        refuse_unusable(name)
    yield from store_document(dependencies, compiled.document)
    for plan in compiled.plans.values():
        where = dependencies.in_lake(f"plans/{sha256_of(plan)}.json")
        yield from _write_once(dependencies, Effect.WRITE_PLAN, where, plan)


def store_document(dependencies: Dependencies, text: bytes) -> Steps[None]:
    """Write a document at the digest of its bytes."""
    where = dependencies.in_lake(document_key(text))
    yield from _write_once(dependencies, Effect.WRITE_DOCUMENT, where, text)


def _write_once(dependencies: Dependencies, effect: Effect, where: Address, body: bytes) -> Steps[None]:
    """Write what is addressed by its content; being there before, with the same bytes, is being written."""
    try:
        yield from perform(effect, dependencies.objects.put, where, body, absent=True)
    except ConditionFailed:
        return


# ---- The transaction of a publication ----


MAX_ROUTES = 93
"""A transaction holds 100 items: version, list of the contract, parent, proposal, three of the record, and the routes."""
MAX_CHILDREN = 1_000
"""The item of a parent lists them beside its own versions, for which room has to stay."""
MAX_TRIES = 20
"""Repetitions of a decision because somebody else has written the contract."""
ANOTHER_CONTENT = "this version is published with another content: give the changed one a new number"
CHANGED_PROPOSAL = "the proposal was changed since it was read: read it again (lakegate proposals)"


@dataclass(frozen=True, slots=True)
class CompiledContract(NumberedVersion):
    """A contract version as its compiler leaves it."""

    contract: str
    version: str
    status: str
    document: bytes
    plans: Mapping[str, bytes]
    """By dataset."""
    written_status: str = "active"
    """The status as the document has it."""
    unmeasured_rules: int = 0
    """The number of rules that can never be measured."""
    labels: tuple[tuple[str, str], ...] = ()
    """Labels by which people find it (`lakegate.contract.contract_model`)."""
    draft: bool = False
    """Whether its document is a draft: a dataset that begins with it refuses deliveries, or only observes them."""
    needs: tuple[PinnedDocument, ...] = ()
    """The documents that it inherits from, the nearest first."""
    end: tuple[Ending, str] | None = None
    """The end that a document states which is not active, and the time of the sunset; empty if it names none."""
    inherited_from: str = ""
    """As `Publication.inherited_from`."""
    warnings: tuple[Problem, ...] = ()
    """Warnings of lint about the document."""
    shared_with: tuple[str, ...] = ()
    """As `Contract.shared_with`."""
    own: tuple[str, ...] = EVERY_CONTRACT
    """As `Publication.own`."""
    document_id: str = ""
    """As `Publication.document_id`."""

    @property
    def parent(self) -> str:
        """The id of the contract that it inherits from; empty if none."""
        return self.needs[0].name.rpartition("@")[0] if self.needs else ""


def write(
    dependencies: Dependencies,
    contract: str,
    decide: Callable[[RegistrySnapshot], Publication],
    act: Act | None = None,
    parent: str = "",
) -> Steps[Publication]:
    """Decide by the contract as it is, and write the decision in one transaction; again if somebody else has written meanwhile.

    An act is recorded in that transaction, on the chain of the contract. Nothing is written where nothing would change, or where
    somebody has written the parent since. It ends after `MAX_TRIES`.
    """
    for _ in range(MAX_TRIES):
        above = SeenParent(parent, dependencies.registry.contract(parent)) if parent else None
        try:
            seen = yield from _mended(dependencies, contract)
            publication = decide(seen)
            if not seen.has(publication):
                yield from _write(dependencies, publication, seen, act, above)
        except _ContractChanged:
            continue
        return publication
    raise InputError(f"others are changing {contract} all the time: try again")


def _mended(dependencies: Dependencies, contract: str) -> Steps[RegistrySnapshot]:
    """The contract, once each of its items is there: those that are lost are written by those that have the same.

    A route whose prefix another contract took meanwhile is none of the contract any more. Nothing of it is recorded: no version
    and no route becomes another.
    """
    seen = dependencies.registry.contract(contract)
    lost = dependencies.registry.missing(seen)
    wanted = [replace(version, routes=()) for version in lost.versions]
    for at in range(0, len(lost.routes), MAX_ROUTES):
        some = lost.routes[at : at + MAX_ROUTES]
        standing = dependencies.registry.routes(dependencies.places.landing, tuple(each.prefix for each in some))
        taken = {each.prefix for each in standing if each.contract != contract}
        seen = replace(seen, routes=tuple(route for route in seen.routes if route.prefix not in taken))
        wanted += [
            replace(version, routes=tuple(r for r in some if r.prefix not in taken)) for version in seen.versions[:1]
        ]
    if seen.revision == 0 and not wanted:
        wanted = list(seen.versions[:1])
    for each in wanted:
        yield from _write(dependencies, each, seen, None, None)
        seen = seen.after(each)
    return seen


class _ContractChanged(Exception):  # noqa: N818 - the name is what happened
    """Somebody has written the contract since it was read."""


def _write(
    dependencies: Dependencies,
    publication: Publication,
    seen: RegistrySnapshot,
    act: Act | None,
    parent: SeenParent | None,
) -> Steps[None]:
    """The transaction. A refusal becomes an InputError with its reason."""
    if len(publication.routes) > MAX_ROUTES:
        raise InputError(f"a line has at most {MAX_ROUTES} routes")
    others = set() if parent is None else {*parent.seen.children} - {publication.contract}
    if len(others) >= MAX_CHILDREN and parent is not None:
        raise InputError(
            f"{parent.contract} has {MAX_CHILDREN:,} contracts that inherit from it: inherit from another one"
        )
    record, proposal = None, None
    if act is not None:
        chain, proposal = contract_chain(publication.contract), act.proposal
        record = record_at_head(dependencies, act.kind, chain, act.content(publication))
    try:
        yield from perform(Effect.PUBLISH, dependencies.registry.publish, publication, seen, record, parent, proposal)
    except ConditionFailed as refused:
        if {ConditionName.CONTRACT, ConditionName.HEAD, ConditionName.PARENT} & set(refused.reasons):
            raise _ContractChanged from None
        if ConditionName.VERSION in refused.reasons:
            raise InputError(ANOTHER_CONTENT) from None
        if ConditionName.PROPOSAL in refused.reasons:
            raise InputError(CHANGED_PROPOSAL) from None
        raise InputError("the prefix belongs to another contract or dataset") from None


def publication_of(compiled: CompiledContract) -> Publication:
    """The version as the registry has it, without its routes."""
    return select_fields(
        Publication,
        compiled,
        document=document_key(compiled.document),
        plans=tuple(sorted((dataset, sha256_of(plan)) for dataset, plan in compiled.plans.items())),
        needs=tuple((need.name, document_key(need.text)) for need in compiled.needs),
    )


# ---- Acts, and published documents ----


@dataclass(frozen=True, slots=True)
class Act:
    """The act that the ledger records when the registry is written."""

    kind: str
    """Of the record."""
    content: Callable[[Publication], Mapping[str, Any]]
    proposal: Proposal | None = None
    """The proposal that the act approves, and removes."""


def published_by(proposal: Proposal | None = None) -> Act:
    """The act of publishing; the record names the approver as its actor, and who proposed."""

    def content(publication: Publication) -> Mapping[str, Any]:
        plans = tuple(PlanOfDataset(*plan) for plan in publication.plans)
        proposer = proposal and proposal.proposer
        written: Mapping[str, Any] = encode(
            select_fields(PublicationContent, publication, plans=plans, proposed_by=proposer)
        )
        return written

    return Act("publication", content, proposal)


def read_published(dependencies: Dependencies, publication: Publication) -> ContractVersion:
    """A published version with what it inherits. Raises InputError if it cannot be read any more."""
    from lakegate.diff.compared_versions import read_version  # noqa: PLC0415 - what compiles contracts, as above
    from lakegate.inheritance.inherited_documents import Resolver  # noqa: PLC0415 - likewise

    text = dependencies.read_lake(publication.document)
    try:
        inherited = Resolver(pinned_parents(dependencies, publication.needs))
        return read_version(text, published=True, complete=inherited.complete)
    except ContractError as error:
        raise InputError(f"the published version {publication.version} cannot be read any more: {error}") from error
