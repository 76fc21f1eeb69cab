"""Published workflows: stored in the registry, and written into plans."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeAlias

from lakegate.base.errors import ContractError, InputError, Problem
from lakegate.base.text import join_words
from lakegate.contract.contract_model import Contract, Dataset
from lakegate.contract.delivery_policy import PublishAs
from lakegate.features.workflows.workflow_document import read_workflow
from lakegate.gate.datasets.dataset_states import DatasetStatus
from lakegate.gate.delivery.protocol import PASSIVE_STATES, PUSH, State
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Steps
from lakegate.gate.registry.contract_versions import (
    ANOTHER_CONTENT,
    document_key,
    newest_release,
    published_by,
    store_document,
    write,
)
from lakegate.gate.registry.publish_contract import PublishedPlans
from lakegate.gate.registry.registry_rows import Publication, RegistrySnapshot
from lakegate.plan.plan import Plan
from lakegate.plan.planned_workflow import PlannedWorkflow

# ---- Published workflows ----
# A workflow has versions as a contract has; its id in the registry begins with an underscore, which no contract's does. A
# contract names a workflow with its major number. The newest release is written into the plans of the contract's version when
# that is published: a delivery is pinned to it with its plan, and a later version of the workflow changes nothing that is
# published.


PREFIX: Final = "_workflow:"
"""Of the ids of workflows in the registry."""


def publish_workflow(dependencies: Dependencies, text: bytes) -> Steps[Publication]:
    """Publish a version of a workflow; the same document again changes nothing.

    Raises ContractError with every problem of the document, and InputError for another content under a published number.
    """
    name, _, version = read_workflow(text).name.partition("@")
    publication = Publication(f"{PREFIX}{name}", version, DatasetStatus.ACTIVE.value, document_key(text), ())

    def decide(seen: RegistrySnapshot) -> Publication:
        if any(each.version == version and each.document != publication.document for each in seen.versions):
            raise InputError(ANOTHER_CONTENT)
        return publication

    decide(dependencies.registry.contract(publication.contract))
    yield from store_document(dependencies, text)
    return (yield from write(dependencies, publication.contract, decide, published_by()))


def published_workflows(dependencies: Dependencies) -> tuple[PlannedWorkflow, ...]:
    """Every version of every published workflow, in the order of their names and then as they were published."""
    publications = dependencies.registry.snapshot(PREFIX).versions
    return tuple(
        _read(dependencies, publication)
        for publication in sorted(publications, key=lambda publication: publication.contract)
    )


def workflow_named(dependencies: Dependencies, name: str) -> PlannedWorkflow | None:
    """The newest release of a workflow with its major number, e.g. of `strict@1`; None if none is published."""
    workflow, _, number = name.partition("@")
    publication = newest_release(dependencies.registry.contract(f"{PREFIX}{workflow}"), int(number))
    return _read(dependencies, publication) if publication else None


def _read(dependencies: Dependencies, publication: Publication) -> PlannedWorkflow:
    return read_workflow(dependencies.read_lake(publication.document))


# ---- The workflow of a dataset ----


Workflows: TypeAlias = Callable[[str, str], PlannedWorkflow | None]
"""Finds the workflow of a dataset by the name in its contract, e.g. `strict@1`; None where there is none."""


def _workflows_of(dependencies: Dependencies, before: Publication | None, _own: tuple[str, ...]) -> Workflows:
    """The workflows of a document to publish: the newest, or, if it was published `before`, those that it had then."""
    if before is None:
        return lambda _, name: workflow_named(dependencies, name)
    plans = dict(before.plans)
    return lambda dataset, _: Plan.from_bytes(dependencies.plan_at(plans[dataset], "")).workflow


def _with_workflow(_contract: Contract, dataset: Dataset, plan: Plan, workflows: Workflows) -> Plan:
    """The plan with the workflow that its dataset names, as it is published."""
    name = dataset.policy.workflow
    workflow = None if name == PUSH.name else workflows(dataset.name, name)
    own = {*PASSIVE_STATES, *(state.name for state in workflow.states)} if workflow else frozenset()
    waits = (
        sorted({each.when for each in workflow.transitions if each.to in own and each.source == State.VALIDATING})
        if workflow
        else []
    )
    if workflow and waits and dataset.policy.publish_as is PublishAs.PARQUET:
        message = (
            f"With `publishAs: parquet` a delivery cannot wait, and {workflow.name} lets one wait after "
            f"{join_words(waits)}: name a workflow that does not, or publish the files as they arrive (`publishAs: original`)."
        )
        raise ContractError((Problem("waiting-slices", dataset.origin.path, dataset.origin.line, message),))
    return replace(plan, workflow=workflow)


IN_PLANS: Final = PublishedPlans(_workflows_of, _with_workflow)
