"""A contract document compiled for publication, and what a person has to confirm before it is published."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from lakegate.contracts.compile.dataset import compile_plan
from lakegate.contracts.compile.external import bound_rules, with_validators
from lakegate.contracts.documents.unknown_keys import is_misspelt
from lakegate.contracts.errors import ContractError, LakegateError, Problem
from lakegate.contracts.inherit.resolve import resolve
from lakegate.contracts.lake.lifecycle import LONGEST_TEXT, Ending, LineStatus
from lakegate.contracts.lake.states import PASSIVE_STATES
from lakegate.contracts.lake.workflow import PUSH
from lakegate.contracts.model.labels import labels_of
from lakegate.contracts.model.policy import PublishAs
from lakegate.contracts.words import counted, limited_hints, listed, shown
from lakegate.functions.usecases.names import refuse_unusable
from lakegate.functions.usecases.publish_contract import RETIRED, CompiledContract

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lakegate.contracts.compile.external import AnsweredTechnology
    from lakegate.contracts.lint.examine import Examined
    from lakegate.contracts.model.contract import Contract, Dataset
    from lakegate.contracts.plan.workflow import PlannedWorkflow
    from lakegate.functions.usecases.publish_contract import PlannedChange
    from lakegate.functions.usecases.registering import Validators
    from lakegate.functions.usecases.workflows import ReferredDocuments, Workflows

MOST_PLAN_BYTES = 16 << 20
"""Of one dataset: each delivery of it is judged by the plan, in functions with bounded memory."""
ACTIVE = "active"
KEPT = ("deprecated", "sunset", RETIRED)
"""Statuses of a document that publishing keeps; any other, and none, becomes active by being published."""
DRAFTS = ("proposed", "draft", "in development")
"""Statuses of a document whose line begins as a draft; in a line that has versions it becomes active by being published."""


class DocumentRefused(LakegateError):  # noqa: N818 - the name is what happened
    """A document that cannot be published; `examined.errors` has every problem with its position."""

    def __init__(self, examined: Examined, unmeasured: int = 0) -> None:
        super().__init__("the contract document has errors")
        self.examined = examined
        self.unmeasured = unmeasured
        """How many rules can never be measured, where these are the only problems."""


def compile_document(body: bytes, referred: ReferredDocuments, *, allow_unmeasured: bool = False) -> CompiledContract:
    """The compiled document. A rule that can never be measured refuses it unless that is allowed.

    Raises DocumentRefused, and InputError for a name that cannot be a folder of the lake.
    """
    with limited_hints():
        return _compile_document(body, referred, allow_unmeasured=allow_unmeasured)


def _compile_document(body: bytes, referred: ReferredDocuments, *, allow_unmeasured: bool) -> CompiledContract:
    resolved = resolve(body, referred.parents)
    examined = resolved.examined
    if examined.contract is None or examined.errors:
        raise DocumentRefused(examined)
    unmeasured = _unmeasured(examined, examined.contract, referred.validators)
    if unmeasured and not allow_unmeasured:
        others = tuple(each for each in examined.warnings if each not in unmeasured)
        raise DocumentRefused(replace(examined, errors=unmeasured, warnings=others), unmeasured=len(unmeasured))
    for name in (examined.contract.id, *(each.name for each in examined.contract.datasets)):
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
    """What the person who publishes or approves may not expect."""
    name = f"{compiled.contract} {compiled.version}"
    if change.is_new and not change.drafted and _folded(compiled.written_status) not in {ACTIVE, *KEPT}:
        yield f"the document's status is {shown(compiled.written_status)}: publishing makes {name} active"
    for warning in filter(is_misspelt, compiled.warnings if change.is_new else ()):
        yield f"line {warning.line} ({warning.path}): {warning.message} What it holds is not checked"
    if change.is_new:
        for dataset, plan in compiled.plans.items():
            external = json.loads(plan).get("external", ())
            for validator in sorted({each["validator"] for each in external}):
                count = sum(each["validator"] == validator for each in external)
                rules = "a rule" if count == 1 else counted(count, "rule")
                yield f"the validator {validator} gets each delivery of {shown(dataset)}, to measure {rules} of it"
    for each in change.announced:
        owner = f" (owner: {shown(each.owner)})" if each.owner else ""
        since = f"from {compiled.inherited_from[:10]} on" if compiled.inherited_from else "at once"
        yield (
            f"{each.contract} {each.version}{owner} is weaker than {name}, from which new versions of it inherit {since}: its"
            " lines get notice"
        )
    if change.closed:
        yield f"{name} is retired: every delivery below {listed(change.closed)} would be refused"


def _unmeasured(examined: Examined, contract: Contract, validators: Validators) -> tuple[Problem, ...]:
    """The problems of rules that nobody can ever measure, neither an engine nor a registered validator."""
    bound = {path for each in contract.datasets for path in bound_rules(contract, each, _answered(each, validators))}
    return tuple(each for each in examined.unmeasured if each.path not in bound)


def _answered(dataset: Dataset, validators: Validators) -> Mapping[str, AnsweredTechnology]:
    """Who answers rules of the dataset; nobody is looked up for one without rules of other engines."""
    return validators(dataset.name) if any(rule.kind == "custom" for rule in dataset.rules) else {}


def _plan(contract: Contract, dataset: Dataset, referred: ReferredDocuments) -> bytes:
    answered = _answered(dataset, referred.validators)
    plan = with_validators(contract, dataset, compile_plan(contract, dataset), answered)
    body = replace(plan, workflow=_workflow(dataset, referred.workflows)).to_bytes()
    if len(body) > MOST_PLAN_BYTES:
        size = counted(len(body), "byte")
        message = f"What it is compiled to has {size}, more than {MOST_PLAN_BYTES:,}: use fewer or shorter rules."
        raise ContractError((Problem("document-too-large", dataset.origin.path, dataset.origin.line, message),))
    return body


def _compiled(contract: Contract, body: bytes, referred: ReferredDocuments) -> CompiledContract:
    plans = {each.name: _plan(contract, each, referred) for each in contract.datasets}
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
    )


def _workflow(dataset: Dataset, workflows: Workflows) -> PlannedWorkflow | None:
    """The workflow that a dataset names, as it is published; None for that of every delivery."""
    name = dataset.policy.workflow
    if name == PUSH.name:
        return None
    found = workflows(dataset.name, name)
    if found is None:
        message = (
            f"No workflow {shown(name)} is published: publish it (`lakegate workflow publish FILE`), or use `push`."
        )
        raise ContractError((Problem("unknown-workflow", dataset.origin.path, dataset.origin.line, message),))
    waits = sorted({each.when for each in found.transitions if each.to in PASSIVE_STATES})
    if waits and dataset.policy.publish_as is PublishAs.PARQUET:
        message = (
            f"With `publishAs: parquet` a delivery cannot wait, and {found.name} lets one wait after "
            f"{listed(waits)}: name a workflow that does not, or publish the files as they arrive (`publishAs: original`)."
        )
        raise ContractError((Problem("waiting-slices", dataset.origin.path, dataset.origin.line, message),))
    return found


def _end(contract: Contract) -> tuple[Ending, str] | None:
    """What a deprecated document says about its end (ADR-0029, "datacontract.yaml Deprecation Fields"), each on one line."""
    said = contract.about.deprecation
    if said is None or status_of(contract.status) != LineStatus.DEPRECATED:
        return None
    texts = (" ".join((each or "").split()) for each in (said.reason, said.replacement, said.migration_guide))
    ending = Ending(*("".join(filter(str.isprintable, each))[:LONGEST_TEXT] for each in texts))
    return ending, f"{said.sunset_date}T00:00:00.000000Z" if said.sunset_date else ""


def _folded(status: str | None) -> str:
    return (status or ACTIVE).strip().casefold()
