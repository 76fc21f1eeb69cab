"""A contract version becomes valid: document and plans first, then version and routes in one transaction.

The current version of a line is the published one with the highest number. Every route of the line carries it.

1. read the contract in the registry: which version the new one follows, and which routes it takes over;
2. refuse a number that is too low for the changes (`lakegate.functions.usecases.succession`);
3. write what the transaction will name: content-addressed, so a retry writes the same bytes;
4. let lines begin, or end as a deprecated document announces (`lakegate.functions.usecases.new_lines`);
5. write version, routes and record in one transaction, if nobody has written the contract since step 1; else begin again;
6. put drafts in force that the version ends, and give notice to contracts that inherit and are weaker.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from lakegate.contracts.door.terms import referred_lines
from lakegate.contracts.errors import InputError, Problem
from lakegate.contracts.inherit.resolve import pinned
from lakegate.contracts.lake.lifecycle import moment
from lakegate.contracts.lake.owners import EVERY_CONTRACT
from lakegate.contracts.lake.records import Record, contract_chain
from lakegate.contracts.lake.routes import parts_of
from lakegate.contracts.lake.versions import major, precedence
from lakegate.contracts.words import shown
from lakegate.functions.ports.errors import ConditionFailed
from lakegate.functions.ports.registry import WITHDRAWN, Publication, SeenParent
from lakegate.functions.usecases.contract_files import store
from lakegate.functions.usecases.leading import leading, leading_its_routes
from lakegate.functions.usecases.names import is_usable
from lakegate.functions.usecases.new_lines import are_drafts, begin_lines, end_drafts
from lakegate.functions.usecases.parents import document_key, refuse_other_parent
from lakegate.functions.usecases.recording import published_by, record_at_head
from lakegate.functions.usecases.steps import Effect, perform
from lakegate.functions.usecases.stricter_parents import announce, children_to_notify, weaker_later
from lakegate.functions.usecases.succession import refuse_incompatible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from lakegate.contracts.compare.change import VersionComparison
    from lakegate.contracts.inherit.resolve import PinnedDocument
    from lakegate.contracts.lake.lifecycle import Ending
    from lakegate.functions.ports.registry import RegistrySnapshot
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.parents import BrokenChild
    from lakegate.functions.usecases.recording import Act
    from lakegate.functions.usecases.steps import Steps

MAX_ROUTES = 93
"""A transaction holds 100 items: version, list of the contract, parent, proposal, three of the record, and the routes."""
MAX_CHILDREN = 1_000
"""The item of a parent lists them beside its own versions, for which room has to stay."""
MAX_TRIES = 20
"""How often a decision is taken again because somebody else has written the contract."""
ANOTHER_CONTENT = "this version is published with another content: give the changed one a new number"
RETIRED = "retired"
"""The status of a version that accepts no delivery any more."""


@dataclass(frozen=True, slots=True)
class CompiledContract:
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
    """How many rules can never be measured."""
    labels: tuple[tuple[str, str], ...] = ()
    """What people find it by (`lakegate.contracts.model.labels`)."""
    draft: bool = False
    """Whether its document is a draft: a line that begins with it refuses deliveries, or only observes them."""
    needs: tuple[PinnedDocument, ...] = ()
    """The documents that it inherits from, the nearest first."""
    end: tuple[Ending, str] | None = None
    """What a deprecated document says about its end, and the time of the sunset; empty if it names none."""
    inherited_from: str = ""
    """As `Publication.inherited_from`."""
    warnings: tuple[Problem, ...] = ()
    """What lint warns of in the document."""
    shared_with: tuple[str, ...] = ()
    """As `Contract.shared_with`."""
    own: tuple[str, ...] = EVERY_CONTRACT
    """As `Publication.own`."""

    @property
    def parent(self) -> str:
        """The id of the contract that it inherits from; empty if none."""
        return self.needs[0].name.rpartition("@")[0] if self.needs else ""


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """What publishing a version would change, as the registry is now."""

    is_new: bool
    """Whether this version is not published yet."""
    closed: tuple[str, ...]
    """Prefixes below which deliveries are accepted now and would all be refused."""
    is_done: bool = False
    """Whether the registry is as the version wants it."""
    comparison: VersionComparison | None = None
    """The changes since the version that this one follows; None if it follows none, or is published already."""
    drafted: bool = False
    """Whether its lines are drafts afterwards."""
    announced: tuple[BrokenChild, ...] = ()
    """The publisher's own contracts that are weaker than this version: their lines get notice, and so do those of others."""
    warnings: tuple[Problem, ...] = ()
    """Where it is weaker than a version of its parent that is inherited from a later day on; lines that it may not refer to."""


def planned(dependencies: Dependencies, compiled: CompiledContract) -> PlannedChange:
    """Read only. Raises InputError as `publish`."""
    snapshot = dependencies.registry.contract(compiled.contract)
    comparison = refuse(dependencies, snapshot, compiled)
    publication = leading_its_routes(snapshot, publication_of(compiled))
    open_now = {(each.bucket, each.prefix) for each in snapshot.routes if each.status != RETIRED}
    closing = (each for each in publication.routes if each.status == RETIRED)
    return PlannedChange(
        is_new=compiled.version not in {each.version for each in snapshot.versions},
        closed=tuple(sorted(each.prefix for each in closing if (each.bucket, each.prefix) in open_now)),
        is_done=snapshot.has(publication),
        comparison=comparison,
        drafted=compiled.draft and are_drafts(dependencies, snapshot, compiled),
        announced=children_to_notify(dependencies, snapshot, compiled),
        warnings=(
            *compiled.warnings,
            *weaker_later(dependencies, snapshot, compiled),
            *_unknown_lines(dependencies, compiled),
        ),
    )


def _unknown_lines(dependencies: Dependencies, compiled: CompiledContract) -> Iterator[Problem]:
    """Lines that no rule is compared with, because nothing is published there, or it is another owner's: both read the same."""
    for line in sorted({line for plan in compiled.plans.values() for line in referred_lines(json.loads(plan))}):
        contract, _, number = parts_of(line)
        found = leading(dependencies.registry.contract(contract), contract, number) if is_usable(contract) else None
        if contract != compiled.contract and not (found and found.is_open_to(compiled.contract, compiled.own)):
            message = (
                f"{shown(line)} is not published here, or not shared with this contract (`sharedWith`): what refers to it is"
                " not measured."
            )
            yield Problem("dangling-relationship", "$", None, message)


def publish(dependencies: Dependencies, compiled: CompiledContract) -> Steps[Publication]:
    """Make a version valid, and move the routes of its line to the current version. Idempotent.

    Raises IncompatibleVersion (a number too low for the changes) and InputError: another content under a published number, a
    name that is no folder, a route to a dataset that is gone, a parent with too many children.
    """

    def decide(seen: RegistrySnapshot) -> Publication:
        refuse(dependencies, seen, compiled)
        return leading_its_routes(seen, publication_of(compiled))

    decide(dependencies.registry.contract(compiled.contract))
    yield from store(dependencies, compiled)
    return (yield from write_with_lines(dependencies, compiled, decide, published_by()))


def write_with_lines(
    dependencies: Dependencies, compiled: CompiledContract, decide: Callable[[RegistrySnapshot], Publication], act: Act
) -> Steps[Publication]:
    """Let lines begin, `write`, put drafts in force that the version ends, and give notice of a stricter parent."""
    yield from begin_lines(dependencies, dependencies.registry.contract(compiled.contract), compiled)
    publication = yield from write(dependencies, compiled.contract, decide, act, compiled.parent)
    yield from end_drafts(dependencies, dependencies.registry.contract(compiled.contract), compiled)
    yield from announce(dependencies, compiled, publication)
    return publication


def refuse(dependencies: Dependencies, seen: RegistrySnapshot, compiled: CompiledContract) -> VersionComparison | None:
    """The changes of a new version. Raises InputError as `publish`; a version that is published already is not refused."""
    known = {each.version: each.status for each in seen.versions}
    if known.get(compiled.version) == WITHDRAWN:
        raise InputError(f"{compiled.contract} {compiled.version} was withdrawn: give the document a higher number")
    if compiled.version in known:
        return None
    if seen.revision == 0:
        _refuse_lost(dependencies, seen, compiled)
    now = moment(dependencies.clock.now())
    if compiled.inherited_from and compiled.inherited_from <= now:
        raise InputError(f"{compiled.inherited_from[:10]} is not in the future: contracts inherit from a later day on")
    if compiled.needs:
        refuse_other_parent(compiled.needs[0], dependencies.registry.contract(compiled.parent), now)
    parents = pinned({each.name: each.text for each in compiled.needs})
    return refuse_incompatible(dependencies, seen, compiled.version, compiled.document, parents)


def _refuse_lost(dependencies: Dependencies, seen: RegistrySnapshot, compiled: CompiledContract) -> None:
    """Raise InputError where the registry has lost a lower version of the line: the new one could not be compared with it."""
    known = {each.version for each in seen.versions}
    line, place = major(compiled.version), precedence(compiled.version)
    for each in dependencies.ledger.blocks(contract_chain(compiled.contract)):
        version = str(each.content["version"]) if isinstance(each, Record) and each.kind == "publication" else ""
        if version and version not in known and major(version) == line and precedence(version) < place:
            text = f"the registry has lost {compiled.contract} {version}, which was published before {compiled.version}"
            raise InputError(f"{text}: publish that document again first")


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
    wanted = [replace(each, routes=()) for each in lost.versions]
    for at in range(0, len(lost.routes), MAX_ROUTES):
        some = lost.routes[at : at + MAX_ROUTES]
        standing = dependencies.registry.routes(dependencies.places.landing, tuple(each.prefix for each in some))
        taken = {each.prefix for each in standing if each.contract != contract}
        seen = replace(seen, routes=tuple(each for each in seen.routes if each.prefix not in taken))
        wanted += [replace(each, routes=tuple(r for r in some if r.prefix not in taken)) for each in seen.versions[:1]]
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
        write_once = partial(dependencies.registry.publish, publication, seen, record, parent, proposal)
        yield from perform(Effect.PUBLISH, write_once)
    except ConditionFailed as refused:
        if {"contract", "head", "parent"} & set(refused.reasons):
            raise _ContractChanged from None
        if "version" in refused.reasons:
            raise InputError(ANOTHER_CONTENT) from None
        if "proposal" in refused.reasons:
            raise InputError("the proposal was changed since it was read: read it again (lakegate proposals)") from None
        raise InputError("the prefix belongs to another contract or dataset") from None


def publication_of(compiled: CompiledContract) -> Publication:
    """The version as the registry has it, without its routes."""
    return Publication(
        contract=compiled.contract,
        version=compiled.version,
        status=compiled.status,
        document=document_key(compiled.document),
        routes=(),
        plans=tuple(sorted((dataset, hashlib.sha256(plan).hexdigest()) for dataset, plan in compiled.plans.items())),
        unmeasured_rules=compiled.unmeasured_rules,
        labels=compiled.labels,
        needs=tuple((each.name, document_key(each.text)) for each in compiled.needs),
        inherited_from=compiled.inherited_from,
        shared_with=compiled.shared_with,
        own=compiled.own,
    )
