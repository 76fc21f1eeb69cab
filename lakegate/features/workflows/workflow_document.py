"""Workflow documents: read, linted, published, in a plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final, TypeAlias

from lakegate.base.errors import ContractError, InputError, Problem
from lakegate.base.text import join_words, quote
from lakegate.contract.contract_model import Contract, Dataset
from lakegate.contract.delivery_policy import PublishAs
from lakegate.contract.documents.document_tree import Notes, Place
from lakegate.contract.documents.read_document import parse
from lakegate.contract.documents.schema_validation import schema_problems
from lakegate.gate.datasets.dataset_states import DatasetStatus
from lakegate.gate.delivery.protocol import (
    CALLBACK,
    DEFAULT_ATTEMPTS,
    DEFAULT_WAIT_DAYS,
    OUTCOMES,
    PASSIVE_STATES,
    PUSH,
    State,
    choices,
)
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
from lakegate.plan.planned_workflow import PlannedTransition, PlannedWorkflow

# ---- Reading of a workflow ----


UNKNOWN: Final = "workflow-transition"
REPEATED: Final = "workflow-repeated"
DATE: Final = "workflow-date"
WAIT: Final = "workflow-wait"


def read_workflow(text: bytes) -> PlannedWorkflow:
    """The workflow of a document, which fits `lakegate/schemas/workflow.json`. Raises ContractError with every problem."""
    document = parse(text)
    notes, rows = Notes(), document.top["transitions"]
    transitions = tuple(_transitions(rows, notes))
    if problems := schema_problems(document, "workflow"):
        formless = {problem.path for problem in problems}
        errors = notes.errors if rows.path not in formless else ()
        found = (error for error in errors if not any(path.startswith(error.path) for path in formless))
        raise ContractError((*problems, *found))
    planned = PlannedWorkflow(
        f"{document.top['workflow'].written}@{document.top['version'].written}",
        int(document.top["attempts"].number or DEFAULT_ATTEMPTS),
        transitions,
        int(document.top["waitDays"].number or DEFAULT_WAIT_DAYS),
        document.top["publishAt"].written,
        int(document.top["delayHours"].number or 0),
        document.top["waitsFor"].written or PUSH.waits_for,
    )
    _check_date(document.top, planned, notes)
    if planned.waits_for == CALLBACK and all(transition.to != State.AWAITING for transition in planned.transitions):
        notes.error(WAIT, document.top["waitsFor"], "It has no effect: no transition leads to AWAITING.")
    if notes.errors:
        raise ContractError(tuple(notes.errors))
    return planned


def _check_date(top: Place, planned: PlannedWorkflow, notes: Notes) -> None:
    times = bool(planned.publish_at) + bool(planned.delay_hours)
    is_scheduled = any(transition.to == State.SCHEDULED for transition in planned.transitions)
    if is_scheduled and times != 1:
        notes.error(
            DATE, top["transitions"], "A transition leads to SCHEDULED: say when by publishAt or by delayHours, one."
        )
    elif times and not is_scheduled:
        given = top["publishAt" if planned.publish_at else "delayHours"]
        notes.error(DATE, given, "It has no effect: no transition leads to SCHEDULED.")


def _transitions(rows: Place, notes: Notes) -> Iterator[PlannedTransition]:
    lines: dict[tuple[str, str], int] = {}
    """Of the first transition for an observation."""
    for row in rows.items:
        source, when, to = (row[key].written for key in ("from", "when", "to"))
        known = [str(choice.to) for choice in choices(source, when)]
        if not known:
            notes.error(UNKNOWN, row, f"{quote(source)} has no observation {quote(when)}.{_hint(source)}")
        elif to not in known:
            notes.error(UNKNOWN, row, f"{source} leads to {join_words(known)} when {when}, and not to {quote(to)}.")
        elif (source, when) in lines:
            notes.error(
                REPEATED, row, f"Line {lines[source, when]} has a transition from {source} when {when}: keep one."
            )
        lines.setdefault((source, when), row.mark.line)
        yield PlannedTransition(source, when, to)


def _hint(source: str) -> str:
    by_state = {str(state): sorted(map(str, outcomes)) for state, outcomes in OUTCOMES.items()}
    known = by_state.get(source)
    return f" It has {join_words(known)}." if known else f" States are {join_words(by_state)}."


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


def _workflows_of(dependencies: Dependencies, before: Publication | None) -> Workflows:
    """The workflows of a document to publish: the newest, or, if it was published `before`, those that it had then."""
    if before is None:
        return lambda _, name: workflow_named(dependencies, name)
    plans = dict(before.plans)
    return lambda dataset, _: Plan.from_bytes(dependencies.plan_at(plans[dataset], "")).workflow


def _with_workflow(_contract: Contract, dataset: Dataset, plan: Plan, workflows: Workflows) -> Plan:
    """The plan with the workflow that its dataset names, as it is published."""
    name = dataset.policy.workflow
    workflow = None if name == PUSH.name else workflows(dataset.name, name)
    waits = (
        sorted({transition.when for transition in workflow.transitions if transition.to in PASSIVE_STATES})
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
