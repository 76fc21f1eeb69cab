"""Parents and workflows of contracts in the registry, and the children that a new version of a parent would break."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, TypeAlias

from lakegate.cli import terminal
from lakegate.cli.aws import opened
from lakegate.cli.escape import escaped
from lakegate.cli.lint import show
from lakegate.contracts.compile.rules.nested_fields import with_parts
from lakegate.contracts.inherit.resolve import resolve
from lakegate.contracts.inherit.sources import source_of
from lakegate.contracts.lint.examine import Examined
from lakegate.functions.usecases.workflows import ReferredDocuments, referred_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lakegate.contracts.compile.external import AnsweredTechnology
    from lakegate.contracts.errors import Problem
    from lakegate.contracts.inherit.resolve import ParentDocument
    from lakegate.contracts.model.contract import Contract, Dataset
    from lakegate.contracts.plan.workflow import PlannedWorkflow
    from lakegate.functions.usecases.parents import BreaksChildren, BrokenChild
    from lakegate.functions.usecases.publish_contract import CompiledContract

Inherited: TypeAlias = dict[str, list[dict[str, str]]]
"""By dataset: each inherited field and rule, with the version and the address where it is declared."""


def registry_documents(stack: str, body: bytes, *, local: bool) -> ReferredDocuments:
    """Finds in the registry what a document refers to; the stack is opened only for a document that refers to something."""

    def parent(contract: str, line: int) -> ParentDocument | None:
        with opened(stack, local=local) as there:
            return referred_of(there.dependencies(), body).parents(contract, line)

    def workflow(dataset: str, name: str) -> PlannedWorkflow | None:
        with opened(stack, local=local) as there:
            return referred_of(there.dependencies(), body).workflows(dataset, name)

    def answered(dataset: str) -> Mapping[str, AnsweredTechnology]:
        with opened(stack, local=local) as there:
            return referred_of(there.dependencies(), body).validators(dataset)

    return ReferredDocuments(parent, workflow, answered)


def print_broken(refused: BreaksChildren, *, as_json: bool) -> None:
    """Print the contracts that could not inherit from the new version, with the places in their documents."""
    if as_json:
        terminal.print_json({"valid": False, "children": [_as_document(each) for each in refused.children]})
        return
    for each in refused.children:
        for line in _lines(each):
            terminal.answers().print(escaped(line), markup=False, soft_wrap=True)
    terminal.errors().print(escaped(f"lakegate: {refused}"), markup=False, soft_wrap=True)


def print_warnings(name: str, compiled: CompiledContract, warnings: tuple[Problem, ...], *, as_json: bool) -> None:
    """Where a document is weaker than an announced version of its parent, as `lint` shows it; JSON has it in the answer."""
    if warnings and not as_json:
        show({name: Examined((), warnings, tuple(compiled.document.decode().splitlines()))})


def _as_document(child: BrokenChild) -> dict[str, object]:
    errors = [asdict(each) for each in child.problems]
    return {"contract": child.contract, "version": child.version, "owner": child.owner, "errors": errors}


def _lines(child: BrokenChild) -> Iterator[str]:
    owner = f" (owner: {child.owner})" if child.owner else ""
    yield f"{child.contract} {child.version}{owner} would be weaker:"
    yield from (f"  line {each.line}: {each.message}" for each in child.problems)


def inherited_elements(document: ParentDocument) -> Inherited:
    """What the datasets of a published document inherit; empty if it inherits nothing."""
    contract = resolve(document.text, document.parents).examined.contract
    datasets = () if contract is None or contract.inherits is None else contract.datasets
    return {each.name: list(_elements(contract, each)) for each in datasets if contract is not None}


def _elements(contract: Contract, dataset: Dataset) -> Iterator[dict[str, str]]:
    fields = [(f"field {each.name}", each.origin) for each in with_parts(dataset.fields)]
    rules = [(f"rule {each.id}", each.origin) for each in dataset.rules]
    for element, origin in (*fields, *rules):
        source = source_of(contract, origin)
        if source is not None:
            yield {"element": element, "version": source.version, "path": source.path}
