"""Published workflows: documents in the registry, beside contracts and in the same way.

A workflow has versions as a contract has; its id in the registry begins with an underscore, which no contract's does. A contract
names a workflow with its major number. The newest release is written into the plans of the contract's version when that is
published: a delivery is pinned to it with its plan, and a later version of the workflow changes nothing that is published.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from lakegate.contracts.errors import InputError
from lakegate.contracts.inherit.resolve import Parents  # noqa: TC001 - a NamedTuple's annotation
from lakegate.contracts.lake.lifecycle import LineStatus
from lakegate.contracts.lake.owners import EVERY_CONTRACT
from lakegate.contracts.lint.workflow import read_workflow
from lakegate.contracts.plan.plan import Plan
from lakegate.contracts.plan.workflow import PlannedWorkflow
from lakegate.functions.ports.objects import Address
from lakegate.functions.ports.registry import Publication
from lakegate.functions.usecases.contract_files import store_document
from lakegate.functions.usecases.parents import document_key, newest_release, parents_of, published_before
from lakegate.functions.usecases.publish_contract import ANOTHER_CONTENT, write
from lakegate.functions.usecases.recording import published_by
from lakegate.functions.usecases.registering import Validators, validators_of

if TYPE_CHECKING:
    from lakegate.functions.ports.registry import RegistrySnapshot
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.steps import Steps

PREFIX: Final = "_workflow:"
"""Of the ids of workflows in the registry."""
Workflows: TypeAlias = Callable[[str, str], PlannedWorkflow | None]
"""Finds the workflow of a dataset by the name in its contract, e.g. `strict@1`; None where there is none."""


class ReferredDocuments(NamedTuple):
    """Finds the documents that a contract refers to, and who answers its rules."""

    parents: Parents
    workflows: Workflows
    validators: Validators
    own: tuple[str, ...] = EVERY_CONTRACT
    """The contracts of the publisher."""


def referred_of(dependencies: Dependencies, text: bytes, own: tuple[str, ...] = EVERY_CONTRACT) -> ReferredDocuments:
    """Finds in the registry what a document to publish refers to: the newest, or what it was published with.

    Contracts that are neither the publisher's `own` nor shared with the document's are not there.
    """
    before = published_before(dependencies, text)
    return ReferredDocuments(
        parents_of(dependencies, text, before, own),
        _workflows_of(dependencies, before),
        validators_of(dependencies, before),
        own,
    )


def publish_workflow(dependencies: Dependencies, text: bytes) -> Steps[Publication]:
    """Publish a version of a workflow; the same document again changes nothing.

    Raises ContractError with every problem of the document, and InputError for another content under a published number.
    """
    name, _, version = read_workflow(text).name.partition("@")
    publication = Publication(f"{PREFIX}{name}", version, LineStatus.ACTIVE.value, document_key(text), ())

    def decide(seen: RegistrySnapshot) -> Publication:
        if any(each.version == version and each.document != publication.document for each in seen.versions):
            raise InputError(ANOTHER_CONTENT)
        return publication

    decide(dependencies.registry.contract(publication.contract))
    yield from store_document(dependencies, text)
    return (yield from write(dependencies, publication.contract, decide, published_by()))


def published_workflows(dependencies: Dependencies) -> tuple[PlannedWorkflow, ...]:
    """Every version of every published workflow, in the order of their names and then as they were published."""
    found = dependencies.registry.snapshot(PREFIX).versions
    return tuple(_read(dependencies, each) for each in sorted(found, key=lambda each: each.contract))


def workflow_named(dependencies: Dependencies, name: str) -> PlannedWorkflow | None:
    """The newest release of a workflow with its major number, e.g. of `strict@1`; None if none is published."""
    workflow, _, line = name.partition("@")
    found = newest_release(dependencies.registry.contract(f"{PREFIX}{workflow}"), int(line))
    return _read(dependencies, found) if found else None


def _workflows_of(dependencies: Dependencies, before: Publication | None) -> Workflows:
    """The workflows of a document to publish: the newest, or, if it was published `before`, those that it had then."""
    if before is None:
        return lambda _, name: workflow_named(dependencies, name)
    plans = dict(before.plans)
    return lambda dataset, _: Plan.from_bytes(dependencies.plan_at(plans[dataset], "")).workflow


def _read(dependencies: Dependencies, publication: Publication) -> PlannedWorkflow:
    return read_workflow(dependencies.objects.read(Address(dependencies.places.lake, publication.document)))
