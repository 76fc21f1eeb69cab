"""Parents and workflows of contracts in the registry, and the children that are weaker than a new version of their parent."""

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
from lakegate.contracts.words import listed
from lakegate.functions.usecases.workflows import ReferredDocuments, referred_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lakegate.contracts.compile.external import AnsweredTechnology
    from lakegate.contracts.errors import Problem
    from lakegate.contracts.inherit.resolve import ParentDocument
    from lakegate.contracts.model.contract import Contract, Dataset
    from lakegate.contracts.plan.workflow import PlannedWorkflow
    from lakegate.functions.ports.registry import Publication
    from lakegate.functions.usecases.dependencies import Dependencies
    from lakegate.functions.usecases.parents import BrokenChild
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


def print_weaker(children: tuple[BrokenChild, ...]) -> None:
    """Print the contracts that are weaker than the new version, with the places in their documents; not into an answer."""
    for each in children:
        for line in _lines(each):
            terminal.errors().print(escaped(line), markup=False, soft_wrap=True)


def print_without_notice(dependencies: Dependencies, published: Publication, children: tuple[BrokenChild, ...]) -> None:
    """Print the contracts whose lines have no notice of a published version, because the caller may not write them."""
    version = f"{published.contract}@{published.version}"
    lines = [(child, line) for child in children for line in child.lines]
    told = {line for _, line in lines if version in {each.version for each in dependencies.lines.get(line).parents}}
    missing = dict.fromkeys(f"{child.contract} {child.version}" for child, line in lines if line not in told)
    if missing:
        text = (
            f"lakegate: {listed(missing)} got no notice: that needs LifecyclePolicy, and publishing the document again"
        )
        terminal.errors().print(escaped(text), markup=False, soft_wrap=True)


def print_warnings(name: str, compiled: CompiledContract, warnings: tuple[Problem, ...], *, as_json: bool) -> None:
    """Where a document is weaker than an announced version of its parent, as `lint` shows it; JSON has it in the answer."""
    if warnings and not as_json:
        show({name: Examined((), warnings, tuple(compiled.document.decode().splitlines()))})


def child_document(child: BrokenChild) -> dict[str, object]:
    """A weaker child as JSON has it."""
    errors = [asdict(each) for each in child.problems]
    return {"contract": child.contract, "version": child.version, "owner": child.owner, "errors": errors}


def _lines(child: BrokenChild) -> Iterator[str]:
    owner = f" (owner: {child.owner})" if child.owner else ""
    yield f"{child.contract} {child.version}{owner} is weaker:"
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
