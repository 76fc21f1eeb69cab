"""A contract version becomes valid; its number must fit the changes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache, partial
from typing import Any, Final, NamedTuple, TypeAlias

from lakegate.base.errors import ContractError, InputError, LakegateError, Problem
from lakegate.base.extension_points import load_extension, names
from lakegate.base.text import join_words, limit_hints, plural, quote
from lakegate.contract.contract_model import (
    NOTICE_DAYS,
    Contract,
    Dataset,
    full_dataset_name,
    is_usable,
    labels_of,
    parts_of,
    refuse_unusable,
    split_release,
)
from lakegate.contract.delivery_policy import FieldTreatment
from lakegate.contract.documents.unknown_keys import is_misspelt
from lakegate.contract.semantic_versions import is_release, major, precedence
from lakegate.diff.change_kinds import VersionComparison
from lakegate.diff.compared_versions import read_version
from lakegate.diff.diff_contracts import compare
from lakegate.gate.datasets.dataset_states import DatasetState, DatasetStatus, Ending, Notice
from lakegate.gate.datasets.lifecycle import (
    activate,
    announce_end,
    begin_draft,
    begin_with_notice,
    change,
    reactivate,
    state_end,
)
from lakegate.gate.delivery.protocol import PUSH
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Steps
from lakegate.gate.ledger.blocks import Record, contract_chain
from lakegate.gate.person_decisions import LONGEST_REASON
from lakegate.gate.registry.contract_owners import EVERY_CONTRACT
from lakegate.gate.registry.contract_versions import (
    ANOTHER_CONTENT,
    Act,
    CompiledContract,
    document_key,
    publication_of,
    published_by,
    read_published,
    store,
    write,
)
from lakegate.gate.registry.parent_contracts import (
    announce,
    children_to_notify,
    parents_of,
    published_before,
    refuse_other_parent,
    weaker_later,
)
from lakegate.gate.registry.registry_rows import RETIRED, WITHDRAWN, Publication, RegistrySnapshot, WeakerChild
from lakegate.gate.registry.routes import leading, leading_its_routes
from lakegate.inheritance.inherited_documents import (
    Parents,
    Resolver,
    parents_by_name,
    resolve,
)
from lakegate.lints.linter import Examined
from lakegate.plan.plan import Plan
from lakegate.rules.check_builder import NEVER_MEASURED
from lakegate.rules.compile_plan import compile_plan

# ---- Compilation, and what has to be confirmed ----


MOST_PLAN_BYTES = 16 << 20
"""Of one dataset: each delivery of it is judged by the plan, in functions with bounded memory."""
ACTIVE = "active"
KEPT = ("deprecated", "sunset", RETIRED)
"""Statuses of a document that publishing keeps; any other, and none, becomes active by being published."""
DRAFTS = ("proposed", "draft", "in development")
"""Statuses of a document whose dataset begins as a draft; in a dataset that has versions it becomes active by being published."""


class PublicationRefused(LakegateError):  # noqa: N818 - the name is what happened
    """A document that cannot be published: DocumentRefused or IncompatibleVersion."""


class DocumentRefused(PublicationRefused):
    """A document with errors; `examined.errors` has every problem with its position."""

    def __init__(self, examined: Examined) -> None:
        super().__init__("the contract document has errors")
        self.examined = examined

    @property
    def unmeasured(self) -> int:
        """The number of rules that can never be measured, where these are the only problems."""
        errors = self.examined.errors
        return len(errors) if all(error.code in NEVER_MEASURED for error in errors) else 0


def compile_document(body: bytes, referred: ReferredDocuments, *, allow_unmeasured: bool = False) -> CompiledContract:
    """The compiled document. A rule that can never be measured refuses it unless that is allowed.

    Raises DocumentRefused, and InputError for a name that cannot be a folder of the lake.
    """
    with limit_hints():
        return _compile_document(body, referred, allow_unmeasured=allow_unmeasured)


def _compile_document(body: bytes, referred: ReferredDocuments, *, allow_unmeasured: bool) -> CompiledContract:
    resolved = resolve(body, referred.parents)
    examined = resolved.examined
    if examined.contract is None or examined.errors:
        raise DocumentRefused(examined)
    unmeasured = _unmeasured(examined, examined.contract, referred)
    if unmeasured and not allow_unmeasured:
        others = tuple(warning for warning in examined.warnings if warning not in unmeasured)
        raise DocumentRefused(replace(examined, errors=unmeasured, warnings=others))
    for name in (examined.contract.id, *(dataset.name for dataset in examined.contract.datasets)):
        refuse_unusable(name)
    try:
        compiled = _compiled(examined.contract, body, referred)
    except ContractError as error:
        raise DocumentRefused(replace(examined, errors=error.problems)) from None
    return replace(compiled, unmeasured_rules=len(unmeasured), needs=resolved.needs, warnings=examined.warnings)


def status_of(written: str | None) -> str:
    """The status of a version, by the status of its document."""
    status = _folded(written)
    return status if status in KEPT else ACTIVE


def effects_of(compiled: CompiledContract, change: PlannedChange) -> Iterator[str]:
    """Effects that the person who publishes or approves may not expect."""
    name = f"{compiled.contract} {compiled.version}"
    if change.is_new and not change.drafted and _folded(compiled.written_status) not in {ACTIVE, *KEPT}:
        yield f"the document's status is {quote(compiled.written_status)}: publishing makes {name} active"
    for warning in filter(is_misspelt, compiled.warnings if change.is_new else ()):
        yield f"line {warning.line} ({warning.path}): {warning.message} What it holds is not checked"
    if change.is_new:
        for dataset, plan in compiled.plans.items():
            external = Plan.from_bytes(plan).external
            for validator in sorted({each.validator for each in external}):
                count = sum(each.validator == validator for each in external)
                rules = "a rule" if count == 1 else plural(count, "rule")
                yield f"the validator {validator} gets each delivery of {quote(dataset)}, to measure {rules} of it"
    for each in change.announced:
        owner = f" (owner: {quote(each.owner)})" if each.owner else ""
        since = f"from {compiled.inherited_from[:10]} on" if compiled.inherited_from else "at once"
        yield (
            f"{each.contract} {each.version}{owner} is weaker than {name}, from which new versions of it inherit {since}: its"
            " datasets get notice"
        )
    if change.closed:
        yield f"{name} is retired: every delivery below {join_words(change.closed)} would be refused"


def _unmeasured(examined: Examined, contract: Contract, referred: ReferredDocuments) -> tuple[Problem, ...]:
    """The problems of rules that nobody can ever measure, neither an engine nor a feature."""
    bound = {
        path
        for name in names(PUBLISHED_PLANS)
        for dataset in contract.datasets
        for path in _published_plans(name).measured(contract, dataset, referred.lookups[name])
    }
    return tuple(each for each in examined.unmeasured if each.path not in bound)


def _plan(contract: Contract, dataset: Dataset, referred: ReferredDocuments) -> bytes:
    if dataset.policy.missing_fields is None and referred.missing_fields is not FieldTreatment.WARN:
        dataset = replace(dataset, policy=replace(dataset.policy, missing_fields=referred.missing_fields))
    plan = compile_plan(contract, dataset)
    for name in names(PUBLISHED_PLANS):
        plan = _published_plans(name).add(contract, dataset, plan, referred.lookups[name])
    if dataset.policy.workflow != PUSH.name and plan.workflow is None:
        message = (
            f"No workflow {quote(dataset.policy.workflow)} is published: publish it (`lakegate workflow publish FILE`), or use"
            " `push`."
        )
        raise ContractError((Problem("unknown-workflow", dataset.origin.path, dataset.origin.line, message),))
    body = plan.to_bytes()
    if len(body) > MOST_PLAN_BYTES:
        size = plural(len(body), "byte")
        message = f"What it is compiled to has {size}, more than {MOST_PLAN_BYTES:,}: use fewer or shorter rules."
        raise ContractError((Problem("document-too-large", dataset.origin.path, dataset.origin.line, message),))
    return body


def _compiled(contract: Contract, body: bytes, referred: ReferredDocuments) -> CompiledContract:
    plans = {dataset.name: _plan(contract, dataset, referred) for dataset in contract.datasets}
    return CompiledContract(
        contract.id,
        contract.version,
        status_of(contract.status),
        body,
        plans,
        written_status=contract.status or ACTIVE,
        labels=labels_of(contract),
        draft=_folded(contract.status) in DRAFTS,
        end=_end(contract),
        shared_with=contract.shared_with,
        own=referred.own,
        document_id=contract.document_id
        if split_release(contract.document_id) == (contract.id, contract.version)
        else "",
    )


def _end(contract: Contract) -> tuple[Ending, str] | None:
    """The end that a document states that is not active (ADR-0029, "datacontract.yaml Deprecation Fields"), each on one line."""
    said = contract.about.deprecation
    if said is None or status_of(contract.status) == ACTIVE:
        return None
    texts = (" ".join((each or "").split()) for each in (said.reason, said.replacement, said.migration_guide))
    ending = Ending(*("".join(filter(str.isprintable, text))[:LONGEST_REASON] for text in texts))
    return ending, f"{said.sunset_date}T00:00:00.000000Z" if said.sunset_date else ""


def _folded(status: str | None) -> str:
    return (status or ACTIVE).strip().casefold()


# ---- The beginning of a dataset ----


def begin_datasets(dependencies: Dependencies, seen: RegistrySnapshot, compiled: CompiledContract) -> Steps[None]:
    """Before the first version of a dataset is published: it is a draft, or waits for the subscribers of the dataset before.

    Nothing can be delivered to a dataset without a version, so that nobody finds it active before.
    """
    number = compiled.major
    for dataset in compiled.plans:
        if not versions_of(seen, dataset, number):
            name = compiled.full_name(dataset)
            if compiled.draft:
                yield from change(dependencies, name, "draft", begin_draft)
            else:
                yield from put_in_force(dependencies, seen, name, compiled.version)
    yield from _announce_end(dependencies, seen, compiled)


def _announce_end(dependencies: Dependencies, seen: RegistrySnapshot, compiled: CompiledContract) -> Steps[None]:
    """Deprecate the datasets that a deprecated version leads, once: not when it is published again.

    Of a version in sunset, or retired, only what replaces it is kept: its status counts as it is.
    """
    is_known = any(
        (version.version, version.status) == (compiled.version, compiled.status) for version in seen.versions
    )
    if compiled.end is None or is_known:
        return
    ending, sunset_day = compiled.end
    for dataset in compiled.plans:
        known = versions_of(seen, dataset, compiled.major)
        if not known or known[-1].precedence <= compiled.precedence:
            name = compiled.full_name(dataset)
            if compiled.status == DatasetStatus.DEPRECATED:
                decide = partial(announce_end, ending=ending, sunset_day=sunset_day)
                yield from change(dependencies, name, "deprecate", decide)
            else:
                yield from change(dependencies, name, "", partial(state_end, ending=ending))


def end_drafts(dependencies: Dependencies, seen: RegistrySnapshot, compiled: CompiledContract) -> Steps[None]:
    """After a version was published that is no draft: drafts of its datasets are put in force."""
    now = dependencies.moment
    for dataset in () if compiled.draft else compiled.plans:
        state = dependencies.datasets.get(compiled.full_name(dataset))
        if state.notice is None and state.status_at(now) is DatasetStatus.DRAFT:
            yield from put_in_force(dependencies, seen, state.name, compiled.version)


def are_drafts(dependencies: Dependencies, seen: RegistrySnapshot, compiled: CompiledContract) -> bool:
    """Whether all datasets of a draft are new, or drafts themselves."""
    number, now = compiled.major, dependencies.moment
    begun = (plan for plan in compiled.plans if versions_of(seen, plan, number))
    datasets = (dependencies.datasets.get(compiled.full_name(each)) for each in begun)
    return all(dataset.status_at(now) is DatasetStatus.DRAFT for dataset in datasets)


def drafts_of(dependencies: Dependencies, published: Publication) -> list[DatasetState]:
    """The datasets of a version that are drafts now."""
    now = dependencies.moment
    names = (published.full_name(dataset) for dataset, _plan in published.plans)
    return [state for state in map(dependencies.datasets.get, names) if state.status_at(now) is DatasetStatus.DRAFT]


def reactivate_dataset(dependencies: Dependencies, name: str) -> Steps[DatasetState]:
    """The command `reactivate`: of a draft, the subscribers of the dataset before have their notice period."""
    now = dependencies.moment
    state = dependencies.datasets.get(name)
    if state.notice is not None or state.status_at(now) is not DatasetStatus.DRAFT:
        return (yield from change(dependencies, name, "reactivate", reactivate))
    contract, dataset, number = parts_of(name)
    seen = dependencies.registry.contract(contract)
    versions = versions_of(seen, dataset, number)
    if not versions:
        raise InputError(f"{name} has no published version")
    return (yield from put_in_force(dependencies, seen, name, versions[-1].version))


def put_in_force(dependencies: Dependencies, seen: RegistrySnapshot, name: str, version: str) -> Steps[DatasetState]:
    """Make a new dataset or a draft active: at once, or after the notice period of the dataset before if it has subscribers."""
    before = _dataset_before(dependencies, seen, name)
    if before is None:
        return (yield from change(dependencies, name, "reactivate", activate))
    notice = Notice(version, before.name, before.consumers)
    period = _notice_period(dependencies, seen, before.name)
    return (yield from change(dependencies, name, "notice", partial(begin_with_notice, notice=notice, period=period)))


def versions_of(seen: RegistrySnapshot, dataset: str, number: int) -> list[Publication]:
    """The published versions of a dataset, by number."""
    found = (each for each in seen.standing if each.major == number and dataset in dict(each.plans))
    return sorted(found, key=lambda each: each.precedence)


def _dataset_before(dependencies: Dependencies, seen: RegistrySnapshot, name: str) -> DatasetState | None:
    """The dataset of the highest lower major number that has subscribers and is not retired."""
    now = dependencies.moment
    contract, dataset, number = parts_of(name)
    lower = {version.major for version in seen.versions if version.major < number and dataset in dict(version.plans)}
    states = (
        dependencies.datasets.get(full_dataset_name(contract, dataset, each)) for each in sorted(lower, reverse=True)
    )
    return next(
        (state for state in states if state.consumers and state.status_at(now) is not DatasetStatus.RETIRED), None
    )


def _notice_period(dependencies: Dependencies, seen: RegistrySnapshot, before: str) -> timedelta:
    """The notice period of the current version of the dataset before, by itself or by its parents."""
    _, dataset, number = parts_of(before)
    found = read_published(dependencies, versions_of(seen, dataset, number)[-1]).contract.dataset(dataset)
    return timedelta(days=found.notice_days if found else NOTICE_DAYS)


# ---- Enforced semantic versions ----


class IncompatibleVersion(PublicationRefused, InputError):  # noqa: N818 - the name is what happened
    """The number of a version is too low for its changes."""

    def __init__(self, comparison: VersionComparison) -> None:
        changes = [f"{each.kind} at {each.path}" for each in comparison.responsible]
        super().__init__(
            f"{comparison.new} follows {comparison.old}, and its changes need {comparison.bump.value.upper()}:"
            f" use {comparison.sufficient} or higher. Responsible: {join_words(changes)}"
        )
        self.comparison = comparison


def find_followed(seen: RegistrySnapshot, version: str) -> Publication | None:
    """The version that a new one follows: the highest lower release of the same major number that was not withdrawn.

    None for the first version of a major number, which is a line of its own, and if only pre-releases precede it: they promise
    nothing (semver.org 2.0.0, 9).
    """
    lower = (
        each
        for each in seen.standing
        if is_release(each.version) and each.major == major(version) and each.precedence < precedence(version)
    )
    return max(lower, key=lambda each: each.precedence, default=None)


def compare_with_followed(
    dependencies: Dependencies, seen: RegistrySnapshot, version: str, document: bytes, parents: Parents
) -> VersionComparison | None:
    """The changes since the version that this one follows, with what both inherit; None if it follows none.

    Raises ContractError for a document that cannot be read, and InputError if the published one cannot be.
    """
    before = find_followed(seen, version)
    if before is None:
        return None
    old = read_published(dependencies, before)
    return compare(old, read_version(document, complete=Resolver(parents).complete))


def refuse_incompatible(
    dependencies: Dependencies, seen: RegistrySnapshot, version: str, document: bytes, parents: Parents
) -> VersionComparison | None:
    """The changes of a new version; None if it follows none. Raises IncompatibleVersion."""
    comparison = compare_with_followed(dependencies, seen, version, document, parents)
    if comparison is not None and not comparison.ok:
        raise IncompatibleVersion(comparison)
    return comparison


# ---- Publishing ----
# The current version of a dataset is the published one with the highest number. Every route of the dataset carries it.
#
# 1. read the contract in the registry: which version the new one follows, and which routes it takes over;
# 2. refuse a number that is too low for the changes (`lakegate.gate.registry.publish_contract`);
# 3. write what the transaction will name: content-addressed, so a retry writes the same bytes;
# 4. let datasets begin, or end as a deprecated document announces (`lakegate.gate.registry.publish_contract`);
# 5. write version, routes and record in one transaction, if nobody has written the contract since step 1; else begin again;
# 6. put drafts in force that the version ends, and give notice to contracts that inherit and are weaker.


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """The effects of publishing a version, as the registry is now."""

    is_new: bool
    """Whether this version is not published yet."""
    closed: tuple[str, ...]
    """Prefixes below which deliveries are accepted now and would all be refused."""
    is_done: bool = False
    """Whether the registry is as the version wants it."""
    comparison: VersionComparison | None = None
    """The changes since the version that this one follows; None if it follows none, or is published already."""
    drafted: bool = False
    """Whether its datasets are drafts afterwards."""
    announced: tuple[WeakerChild, ...] = ()
    """The publisher's own contracts that are weaker than this version: their datasets get notice, and so do those of others."""
    warnings: tuple[Problem, ...] = ()
    """Places where it is weaker than a version of its parent that is inherited later; datasets that it may not refer to."""


def plan_publication(dependencies: Dependencies, compiled: CompiledContract) -> PlannedChange:
    """Read only. Raises InputError as `publish`."""
    snapshot = dependencies.registry.contract(compiled.contract)
    comparison = refuse(dependencies, snapshot, compiled)
    publication = leading_its_routes(snapshot, publication_of(compiled))
    open_now = {(route.bucket, route.prefix) for route in snapshot.routes if route.status != RETIRED}
    closing = (route for route in publication.routes if route.status == RETIRED)
    return PlannedChange(
        is_new=compiled.version not in snapshot.by_number,
        closed=tuple(sorted(each.prefix for each in closing if (each.bucket, each.prefix) in open_now)),
        is_done=snapshot.has(publication),
        comparison=comparison,
        drafted=compiled.draft and are_drafts(dependencies, snapshot, compiled),
        announced=children_to_notify(dependencies, snapshot, compiled),
        warnings=(
            *compiled.warnings,
            *weaker_later(dependencies, snapshot, compiled),
            *_unknown_datasets(dependencies, compiled),
        ),
    )


def _unknown_datasets(dependencies: Dependencies, compiled: CompiledContract) -> Iterator[Problem]:
    """Datasets that no rule is compared with, because nothing is published there, or it is another owner's: both look alike."""
    for dataset in sorted(
        {dataset for plan in compiled.plans.values() for dataset in Plan.from_bytes(plan).references}
    ):
        contract, _, number = parts_of(dataset)
        found = leading(dependencies.registry.contract(contract), contract, number) if is_usable(contract) else None
        if contract != compiled.contract and not (found and found.is_open_to(compiled.contract, compiled.own)):
            message = (
                f"{quote(dataset)} is not published here, or not shared with this contract (`sharedWith`): what refers to it is"
                " not measured."
            )
            yield Problem("dangling-relationship", "$", None, message)


def publish(dependencies: Dependencies, compiled: CompiledContract) -> Steps[Publication]:
    """Make a version valid, and move the routes of its dataset to the current version. Idempotent.

    Raises IncompatibleVersion (a number too low for the changes) and InputError: another content under a published number, a
    name that is no folder, a route to a dataset that is gone, a parent with too many children.
    """

    def decide(seen: RegistrySnapshot) -> Publication:
        refuse(dependencies, seen, compiled)
        return leading_its_routes(seen, publication_of(compiled))

    decide(dependencies.registry.contract(compiled.contract))
    yield from store(dependencies, compiled)
    return (yield from write_with_datasets(dependencies, compiled, decide, published_by()))


def write_with_datasets(
    dependencies: Dependencies, compiled: CompiledContract, decide: Callable[[RegistrySnapshot], Publication], act: Act
) -> Steps[Publication]:
    """Let datasets begin, `write`, put drafts in force that the version ends, and give notice of a stricter parent."""
    yield from begin_datasets(dependencies, dependencies.registry.contract(compiled.contract), compiled)
    publication = yield from write(dependencies, compiled.contract, decide, act, compiled.parent)
    yield from end_drafts(dependencies, dependencies.registry.contract(compiled.contract), compiled)
    yield from announce(dependencies, compiled, publication)
    return publication


def refuse(dependencies: Dependencies, seen: RegistrySnapshot, compiled: CompiledContract) -> VersionComparison | None:
    """The changes of a new version. Raises InputError as `publish`; a version that is published already is not refused."""
    known = seen.by_number.get(compiled.version)
    if known and known.status == WITHDRAWN:
        raise InputError(f"{compiled.contract} {compiled.version} was withdrawn: give the document a higher number")
    if known and known.document != document_key(compiled.document):
        raise InputError(f"{ANOTHER_CONTENT}{_way_out_of_draft(dependencies, known)}")
    if known:
        return None
    if seen.revision == 0:
        _refuse_lost(dependencies, seen, compiled)
    now = dependencies.moment
    if compiled.inherited_from and compiled.inherited_from <= now:
        raise InputError(f"{compiled.inherited_from[:10]} is not in the future: contracts inherit from a later day on")
    if compiled.needs:
        refuse_other_parent(compiled.needs[0], dependencies.registry.contract(compiled.parent), now)
    parents = parents_by_name({need.name: need.text for need in compiled.needs})
    return refuse_incompatible(dependencies, seen, compiled.version, compiled.document, parents)


def _way_out_of_draft(dependencies: Dependencies, published: Publication) -> str:
    """How the draft that a version was published as is put in force; empty for a version in force."""
    names = [state.name for state in drafts_of(dependencies, published) if state.notice is None]
    if not names:
        return ""
    return f". {published.version} is a draft: `lakegate reactivate {names[0]}` puts it in force as it was published"


def _refuse_lost(dependencies: Dependencies, seen: RegistrySnapshot, compiled: CompiledContract) -> None:
    """Raise InputError where the registry has lost a lower version of the major number: the new one could not be compared."""
    number, place = compiled.major, compiled.precedence
    for block in dependencies.ledger.blocks(contract_chain(compiled.contract)):
        version = str(block.content["version"]) if isinstance(block, Record) and block.kind == "publication" else ""
        if version and version not in seen.by_number and major(version) == number and precedence(version) < place:
            text = f"the registry has lost {compiled.contract} {version}, which was published before {compiled.version}"
            raise InputError(f"{text}: publish that document again first")


PUBLISHED_PLANS: Final = "published plans"
"""The extension point of features that add to a plan what the registry has."""
Lookup: TypeAlias = Callable[..., Any]
"""Finds what the feature needs, such as a published workflow by its name. In another process its arguments are pickled."""


class PublishedPlans(NamedTuple):
    """The addition of a feature to the plan of a dataset; it has a lookup, which is made for each contract."""

    lookup: Callable[[Dependencies, Publication | None, tuple[str, ...]], Lookup]
    """Finds the newest, or, if the document was published before, what it was published with; given the publisher's contracts."""
    add: Callable[[Contract, Dataset, Plan, Lookup], Plan]
    """The plan with what the feature adds. Raises ContractError."""
    measured: Callable[[Contract, Dataset, Lookup], Collection[str]] = lambda *_: ()
    """The paths of rules that the feature measures, and no engine can."""


def _published_plans(name: str) -> PublishedPlans:
    found: PublishedPlans = load_extension(PUBLISHED_PLANS, name)
    return found


class ReferredDocuments(NamedTuple):
    """Finds what a contract refers to."""

    parents: Parents
    lookups: Mapping[str, Lookup]
    """Of features that add something to plans, by their names at the extension point."""
    own: tuple[str, ...] = EVERY_CONTRACT
    """The contracts of the publisher."""
    missing_fields: FieldTreatment = FieldTreatment.WARN
    """The stack's setting, of datasets that set none."""


def referred_of(dependencies: Dependencies, text: bytes, own: tuple[str, ...] = EVERY_CONTRACT) -> ReferredDocuments:
    """Finds in the registry what a document to publish refers to: the newest, or what it was published with.

    Contracts that are neither the publisher's `own` nor shared with the document's are not there.
    """
    before = published_before(dependencies, text)
    lookups = {name: _published_plans(name).lookup(dependencies, before, own) for name in names(PUBLISHED_PLANS)}
    return ReferredDocuments(
        parents_of(dependencies, text, before, own), lookups, own, dependencies.places.missing_fields
    )


def referred_in(opened: Callable[[], Dependencies], text: bytes) -> ReferredDocuments:
    """The same in a stack that is opened only for a document that refers to something."""
    referred = cache(lambda: referred_of(opened(), text))

    def lookup(name: str, *arguments: object) -> object:
        return referred().lookups[name](*arguments)

    return ReferredDocuments(
        lambda contract, number: referred().parents(contract, number),
        {name: partial(lookup, name) for name in names(PUBLISHED_PLANS)},
    )
