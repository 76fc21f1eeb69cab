"""`lakegate contracts` and `show`: what is published."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer
from rich.table import Table
from rich.text import Text

from lakegate.aws.open_stack import DEFAULT_STACK, opened
from lakegate.cli import terminal
from lakegate.cli.command_runner import refuse_options
from lakegate.cli.contracts.plan_command import print_explained
from lakegate.cli.options import ApiUrl, AsJson, Local, StackName
from lakegate.contract.contract_model import NAMES, Shape, line_of
from lakegate.contract.semantic_versions import major, precedence
from lakegate.contract_files import chosen, snapshot_of
from lakegate.gate.datasets.dataset_lines import LineStatus
from lakegate.gate.ports import Address
from lakegate.gate.registry.parent_contracts import document_of
from lakegate.gate.registry.routes import status_of, statuses_of
from lakegate.inheritance import inherited_elements, resolve
from lakegate.plan.plan import Plan
from lakegate.stack import known_form, remote_stack
from lakegate.text import counted
from lakegate.text import printable as escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from lakegate.contract.contract_model import Dataset, Field
    from lakegate.gate.registry.registry_rows import Publication, RegistrySnapshot
    from lakegate.gate.registry.routes import Statuses
    from lakegate.inheritance import Inherited, ParentDocument
    from lakegate.stack import RemoteStack

Prefixes: TypeAlias = defaultdict[tuple[str, str, str], list[str]]
REMOTE_COLUMNS: Final = ("contract", "version", "status", "tags", "producer", "consumer")
Filter: TypeAlias = Annotated[list[str] | None, typer.Option(help="Only contracts with this label.", metavar="NAME")]


def contracts(  # noqa: PLR0913 - a filter for each label
    *,
    owner: Filter = None,
    domain: Filter = None,
    tag: Filter = None,
    producer: Filter = None,
    consumer: Filter = None,
    status: Annotated[
        list[LineStatus] | None,
        typer.Option(help="Only versions of a line with this status.", case_sensitive=False),
    ] = None,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    api: ApiUrl = None,
    as_json: AsJson = False,
) -> None:
    """List the published contract versions, with their datasets and the prefixes that deliver to them.

    Example: lakegate contracts --owner sales --tag hourly --status active

    Labels are those of the documents, in upper or lower case: the owner, the domain of ODCS, the tags, producer and consumer
    of DCM. Several values of one option are alternatives; several options hold together.

    The status is the one that judges deliveries now: of the line or of the version's document, whichever is stricter.
    """
    if api:
        refuse_options(local=local, owner=owner, domain=domain, status=status)
        _list_remote(remote_stack(api), {"tag": tag, "producer": producer, "consumer": consumer}, as_json=as_json)
        return
    wanted = {"owner": owner, "domain": domain, "tag": tag, "producer": producer, "consumer": consumer}
    with opened(stack, local=local) as there:
        dependencies = there.dependencies()
        snapshot = dependencies.registry.snapshot()
        labelled = [
            each
            for each in _in_order(snapshot)
            if all(_is_one_of(values, *_values(each, name)) for name, values in wanted.items())
        ]
        statuses = statuses_of(dependencies, labelled)
    versions = [
        each
        for each in labelled
        if not status or any(status_of(statuses, each, dataset) in status for dataset in each.datasets)
    ]
    prefixes = _by_dataset(snapshot)
    if as_json:
        terminal.print_json({"contracts": [_as_document(prefixes, statuses, each) for each in versions]})
    elif versions:
        terminal.answers().print(_table(prefixes, statuses, versions))
    elif snapshot.versions:
        terminal.answers().print("No published contract has these labels and this status.")
    else:
        terminal.answers().print("No contract is published yet: lakegate publish FILE")


def show(  # noqa: PLR0913 - a command has these options
    contract: Annotated[str, typer.Argument(help="The contract's id, or the beginning of it.", show_default=False)],
    version: Annotated[
        str | None, typer.Argument(help="The version; by default the newest.", show_default=False)
    ] = None,
    *,
    resolved: Annotated[
        bool,
        typer.Option("--resolved", help="What deliveries are judged by: definitions and variables are filled in."),
    ] = False,
    columns: Annotated[
        bool, typer.Option("--columns", help="A table of the columns: type, required, key, classification, meaning.")
    ] = False,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    api: ApiUrl = None,
    as_json: AsJson = False,
) -> None:
    """Print a published contract document as it was published, what it resolves to, or its columns.

    Example: lakegate show brazil-se-weather 1.0.0
    """
    if api:
        refuse_options(local=local, resolved=resolved, columns=columns)
        _show_remote(remote_stack(api), contract, version, as_json=as_json)
        return
    with opened(stack, local=local) as there:
        dependencies = there.dependencies()
        snapshot = snapshot_of(dependencies.registry, contract)
        found = chosen(snapshot, contract, version)
        places = {dataset: f"plans/{plan}.json" for dataset, plan in found.plans} if resolved else {}
        plans = {
            dataset: dependencies.objects.read(Address(dependencies.places.lake, place))
            for dataset, place in places.items()
        }
        document = document_of(dependencies, found)
        text = document.text.decode(errors="backslashreplace")
        version_document = _as_document(_by_dataset(snapshot), statuses_of(dependencies, [found]), found)
    if columns:
        _show_columns(version_document, document, as_json=as_json)
    elif resolved:
        _show_resolved(version_document, plans, inherited_elements(document), as_json=as_json)
    elif as_json:
        terminal.print_json({**version_document, "text": text})
    else:
        console = terminal.answers()
        for line in text.splitlines():
            console.print(escaped(line), markup=False, soft_wrap=True)


@known_form()
def _list_remote(there: RemoteStack, wanted: Mapping[str, Sequence[str] | None], *, as_json: bool) -> None:
    """The highest versions of the contracts that have the labels; several values of a label are alternatives."""
    query = {name: values[0] for name, values in wanted.items() if values and len(values) == 1}
    found = [
        each for each in there.contracts(query) if all(_has(each, name, values) for name, values in wanted.items())
    ]
    if as_json:
        terminal.print_json({"contracts": found})
    elif found:
        terminal.wide().print(_remote_table(found))
    else:
        terminal.answers().print("No published contract has these labels.")


@known_form()
def _show_remote(there: RemoteStack, contract: str, version: str | None, *, as_json: bool) -> None:
    found = there.contract(contract, version)
    if as_json:
        terminal.print_json(found)
        return
    for line in str(found["content"]).splitlines():
        terminal.answers().print(escaped(line), markup=False, soft_wrap=True)


def _has(contract: Mapping[str, Any], name: str, values: Sequence[str] | None) -> bool:
    own = contract["tags"] if name == "tag" else [(contract[name] or {}).get("name", "")]
    return not values or not {each.casefold() for each in own}.isdisjoint(each.casefold() for each in values)


def _remote_table(found: Iterable[Mapping[str, Any]]) -> Table:
    grid = Table(box=None, header_style="bold", pad_edge=False)
    for name in REMOTE_COLUMNS:
        grid.add_column(name, overflow="fold")
    for each in found:
        actors = ((each[name] or {}).get("name", "") for name in REMOTE_COLUMNS[4:])
        cells = (each["id"], each["version"], each["status"], ", ".join(each["tags"]), *actors)
        grid.add_row(*(Text(escaped(cell)) for cell in cells))
    return grid


def _show_columns(version: dict[str, object], document: ParentDocument, *, as_json: bool) -> None:
    """The columns of each dataset, those inside of objects and lists, too."""
    contract = resolve(document.text, document.parents).examined.contract
    assert contract is not None  # it was published
    described = {each.name: [_column(each, field) for field in _flat(each.fields)] for each in contract.datasets}
    if as_json:
        terminal.print_json({**version, "columns": described})
        return
    for dataset, found in described.items():
        terminal.answers().print(escaped(f"{dataset}: {counted(len(found), 'column')}"), markup=False, soft_wrap=True)
        table = Table(box=None, header_style="bold", pad_edge=False)
        for name in ("column", "type", "required", "key", "classification", "description"):
            table.add_column(name, overflow="fold")
        for each in found:
            table.add_row(*(Text(escaped(_cell(value))) for value in each.values()))
        terminal.wide().print(table)


def _flat(fields: Iterable[Field]) -> Iterator[Field]:
    for each in fields:
        yield each
        yield from _flat(each.parts)


def _column(dataset: Dataset, field: Field) -> dict[str, object]:
    kinds = {rule.kind for rule in dataset.rules if field.name in rule.fields}
    return {
        "column": field.name,
        "type": field.type.value,
        "required": bool(kinds & {"required", "primaryKey"}),
        "key": "primaryKey" in kinds,
        "classification": field.classification,
        "description": field.description,
    }


def _cell(value: object) -> str:
    return "yes" if value is True else str(value or "")


def _show_resolved(version: dict[str, object], plans: dict[str, bytes], inherited: Inherited, *, as_json: bool) -> None:
    """The plan of each dataset: its fields, its rules in words, and where inherited ones come from."""
    documents = {dataset: json.loads(plan) for dataset, plan in plans.items()}
    if as_json:
        terminal.print_json({**version, "resolved": documents, "inherited": inherited})
        return
    for dataset, document in documents.items():
        plan = Plan.from_json(document)
        terminal.answers().print(
            escaped(f"{dataset}: {counted(len(plan.fields), 'field')}"), markup=False, soft_wrap=True
        )
        for field in plan.fields:
            kind = field.type.value if field.shape is Shape.VALUE else field.shape.value
            terminal.answers().print(escaped(f"  {field.name}: {kind}"), markup=False, soft_wrap=True)
        print_explained(plan)
        for each in inherited.get(dataset, ()):
            line = f"  {each['element']} from {each['version']} {each['path']}"
            terminal.answers().print(escaped(line), markup=False, soft_wrap=True)


def _as_document(prefixes: Prefixes, statuses: Statuses, version: Publication) -> dict[str, object]:
    """One version for machines."""
    datasets = [
        {
            "dataset": dataset,
            "line": line_of(version.contract, dataset, major(version.version)),
            "status": status_of(statuses, version, dataset),
            "plan": plan,
            "prefixes": prefixes[version.contract, version.version, dataset],
        }
        for dataset, plan in version.plans
    ]
    return {
        "contract": version.contract,
        "version": version.version,
        "status": version.status,
        "document": version.document,
        "inherited_from": version.inherited_from or None,
        "unmeasured_rules": version.unmeasured_rules,
        "labels": {name: list(_values(version, name)) for name in NAMES},
        "datasets": datasets,
    }


def _in_order(snapshot: RegistrySnapshot) -> list[Publication]:
    return sorted(snapshot.versions, key=lambda each: (each.contract, precedence(each.version)))


def _values(version: Publication, name: str) -> tuple[str, ...]:
    """The values of a label."""
    return tuple(value for label, value in version.labels if label == name)


def _is_one_of(wanted: list[str] | None, *values: str) -> bool:
    """Whether a value is wanted; without a filter, any is."""
    folded = {each.casefold() for each in values}
    return not wanted or any(each.casefold() in folded for each in wanted)


def _by_dataset(snapshot: RegistrySnapshot) -> Prefixes:
    """The prefixes that deliver to each dataset of a version."""
    found: Prefixes = defaultdict(list)
    for each in sorted(snapshot.routes, key=lambda each: each.prefix):
        found[each.contract, each.version, each.dataset].append(each.prefix)
    return found


def _table(prefixes: Prefixes, statuses: Statuses, versions: list[Publication]) -> Table:
    grid = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("contract", "version", "status", "line", "delivered from"):
        grid.add_column(name, overflow="fold")
    for each in versions:
        for dataset in each.datasets:
            status, line = status_of(statuses, each, dataset), f"{dataset}_v{major(each.version)}"
            inherited = [f"inherited from {each.inherited_from[:10]} on"] if each.inherited_from else []
            places = ", ".join([*prefixes[each.contract, each.version, dataset], *inherited])
            grid.add_row(*(Text(escaped(cell)) for cell in (each.contract, each.version, status, line, places)))
    return grid
