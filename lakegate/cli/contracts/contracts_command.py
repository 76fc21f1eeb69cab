"""`lakegate contracts` and `show`: what is published."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

from lakegate.base.json_codec import select_fields
from lakegate.base.text import plural
from lakegate.cli import terminal
from lakegate.cli.click_commands import Argument, Option
from lakegate.cli.command_runner import CommandResult, facade_command
from lakegate.cli.contracts.plan_command import plan_in_words
from lakegate.cli.options import Filter, NamedContract
from lakegate.cli.terminal import Grid, Word
from lakegate.contract.contract_model import COMMON, Dataset, Field, Shape
from lakegate.contract.semantic_versions import major
from lakegate.gate.datasets.dataset_states import DatasetStatus
from lakegate.inheritance.inherited_documents import Inherited, ParentDocument, inherited_elements, resolve
from lakegate.library.published_contracts import ContractDocument, DatasetOfVersion, DescribedVersion, DescribedVersions
from lakegate.plan.plan import Plan

if TYPE_CHECKING:
    from lakegate.library.stack import StackFacade

COLUMNS_OF_LIST: Final = ("name", "owner", "version", "status", "line", "delivered from", "contract")
COLUMNS: Final = ("column", "type", "required", "key", "classification", "description")


@dataclass(frozen=True, slots=True)
class DescribedColumn:
    """A column of a dataset."""

    column: str
    type: str
    required: bool
    key: bool
    classification: str | None
    description: str | None


@dataclass(frozen=True, slots=True)
class ContractColumns(DescribedVersion):
    """A published version with its columns, by dataset."""

    columns: dict[str, tuple[DescribedColumn, ...]]


@dataclass(frozen=True, slots=True)
class ResolvedContract(DescribedVersion):
    """A published version with what deliveries are judged by."""

    resolved: dict[str, Any]
    """Plans by dataset."""
    inherited: dict[str, Any]
    """By dataset, what comes from other contracts."""


@facade_command
def contracts(  # noqa: PLR0913 - a filter for each label
    there: StackFacade,
    *,
    owner: Filter = None,
    domain: Filter = None,
    tag: Filter = None,
    producer: Filter = None,
    consumer: Filter = None,
    status: Annotated[
        list[DatasetStatus] | None,
        Option(help="Only versions of a dataset with this status.", case_sensitive=False),
    ] = None,
) -> CommandResult[DescribedVersions]:
    """List the published contract versions, with their datasets and the prefixes that deliver to them.

    Example: lakegate contracts --owner sales --tag hourly --status active

    Labels are those of the documents, in upper or lower case: the owner, the domain of ODCS, the tags, producer and consumer
    of DCM. Several values of one option are alternatives; several options hold together.

    The status is the one that judges deliveries now: of the dataset or of the version's document, whichever is stricter.
    """
    there.refuse(owner=owner, domain=domain, status=status)
    wanted = {"owner": owner, "domain": domain, "tag": tag, "producer": producer, "consumer": consumer}
    found = there.contracts(wanted, status)
    nothing = "No published contract has these labels and this status."
    if found.is_empty:
        nothing = "No contract is published yet: lakegate publish FILE"
    table = Grid(COLUMNS_OF_LIST, _rows(found), unbroken=("version", "line", "contract"))
    return CommandResult(found, [table if found.contracts else nothing])


def _rows(found: DescribedVersions) -> Iterator[tuple[str, ...]]:
    for contract in found.contracts:
        datasets = [(one.dataset, _status(one), one.prefixes) for one in contract.datasets]
        for dataset, status, prefixes in datasets or [(COMMON, *(contract.common or (contract.status, ())))]:
            inherited = [f"inherited from {contract.inherited_from[:10]} on"] if contract.inherited_from else []
            places = ", ".join([*prefixes, *inherited])
            name, owner = (", ".join(contract.labels.get(label, ())) for label in ("name", "owner"))
            line = f"{dataset}_v{major(contract.version)}"
            yield name or dataset, owner, contract.version, status, line, places, contract.contract


def _status(dataset: DatasetOfVersion) -> str:
    """The status of a dataset, and the next one that is planned."""
    return ", ".join([dataset.status, *(f"{each.status} from {each.at[:10]}" for each in dataset.planned[:1])])


@facade_command
def show(
    there: StackFacade,
    contract: NamedContract,
    version: Annotated[
        str | None, Argument(help="The version, or latest; by default the one by which deliveries are judged now.")
    ] = None,
    *,
    resolved: Annotated[
        bool,
        Option(help="What deliveries are judged by: definitions and variables are filled in."),
    ] = False,
    columns: Annotated[
        bool, Option(help="A table of the columns: type, required, key, classification, meaning.")
    ] = False,
) -> CommandResult[ContractDocument | ContractColumns | ResolvedContract]:
    """Print a published contract document as it was published, what it resolves to, or its columns.

    By its number also a version that is only proposed, and waits for approval (`lakegate proposals`).

    Example: lakegate show brazil-se-weather 1.0.0
    """
    there.refuse(resolved=resolved, columns=columns)
    if not columns and not resolved:
        whole = there.document(contract, version)
        _note(contract, whole)
        return CommandResult(whole, whole.text.splitlines())
    found = there.document(contract, version)
    _note(contract, found)
    document = ParentDocument(found.text.encode(), there.parents(found), is_published=True)
    if columns:
        return _columns(found, document)
    read = there.dependencies.read_lake
    plans = {each.dataset: json.loads(read(f"plans/{each.plan}.json")) for each in found.datasets}
    inherited = inherited_elements(document)
    result = select_fields(ResolvedContract, found, resolved=plans, inherited=inherited)
    return CommandResult(result, _resolved_in_words(plans, inherited))


def _note(name: str, found: ContractDocument) -> None:
    """Say on standard error which versions take effect later, or judge something else, and whether it is published."""
    if found.proposal is not None:
        of = found.proposal
        until = "has expired" if of.expired else f"waits for approval until {of.expires_at[:16]}"
        terminal.note(
            f"lakegate: this is no published version, but proposal {of.proposal[:12]} of {of.proposer}, which {until}"
        )
    for other, note in zip(found.beside, found.notes(), strict=True):
        terminal.note(f"lakegate: this is {found.version}; {note}: lakegate show {name} {other.version}")


def _columns(version: DescribedVersion, document: ParentDocument) -> CommandResult[ContractColumns]:
    """The columns of each dataset, those inside of objects and lists, too."""
    contract = resolve(document.text, document.parents).examined.contract
    assert contract is not None  # it was published
    found = {each.name: tuple(_column(each, field) for field in _flat(each.fields)) for each in contract.datasets}
    about = [f"owner: {contract.about.owner}"] if contract.about.owner else []
    purpose = " ".join((contract.about.description or contract.about.purpose or "").split())
    words: list[Word] = [", ".join([f"{contract.name or contract.id} {contract.version}", *about])]
    words += [purpose] if purpose else []
    for dataset, columns in found.items():
        words.append(f"{dataset}: {plural(len(columns), 'column')}")
        rows = (tuple(_cell(getattr(column, name)) for name in COLUMNS) for column in columns)
        words.append(Grid(COLUMNS, rows))
    return CommandResult(select_fields(ContractColumns, version, columns=found), words)


def _flat(fields: Iterable[Field]) -> Iterator[Field]:
    for each in fields:
        yield each
        yield from _flat(each.parts)


def _column(dataset: Dataset, field: Field) -> DescribedColumn:
    kinds = {rule.kind for rule in dataset.rules if field.name in rule.fields}
    is_key = "primaryKey" in kinds
    return DescribedColumn(
        field.name,
        field.type.value,
        bool(kinds & {"required", "primaryKey"}),
        is_key,
        field.classification,
        field.description,
    )


def _cell(value: object) -> str:
    return "yes" if value is True else str(value or "")


def _resolved_in_words(documents: Mapping[str, Any], inherited: Inherited) -> Iterator[Word]:
    """The plan of each dataset: its fields, its rules in words, and where inherited ones come from."""
    for dataset, document in documents.items():
        plan = Plan.from_json(document)
        yield f"{dataset}: {plural(len(plan.fields), 'field')}"
        for field in plan.fields:
            yield f"  {field.name}: {field.type.value if field.shape is Shape.VALUE else field.shape.value}"
        yield from plan_in_words(plan)
        yield from (f"  {each['element']} from {each['version']} {each['path']}" for each in inherited.get(dataset, ()))
