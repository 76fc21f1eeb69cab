"""lakegate publish."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from lakegate.aws.open_stack import DEFAULT_STACK, opened
from lakegate.cli import terminal
from lakegate.cli.command_runner import ApiUrl, AsJson, Local, StackName, Yes, confirm
from lakegate.cli.contracts.diff_command import print_comparison
from lakegate.cli.contracts.lint_command import REFUSED, show
from lakegate.cli.datasets.lifecycle_command import day_of
from lakegate.contract_files import InputDocument, registry_documents
from lakegate.extension_points import loaded
from lakegate.gate.datasets.lifecycle import LineStatus
from lakegate.gate.effects import run
from lakegate.gate.registry.contract_versions import PROPOSALS
from lakegate.gate.registry.publish_contract import (
    DocumentRefused,
    IncompatibleVersion,
    compile_document,
    drafts_of,
    effects_of,
    planned,
)
from lakegate.gate.registry.publish_contract import publish as make_valid
from lakegate.lints.linter import Examined, as_document
from lakegate.text import counted, listed
from lakegate.text import printable as escaped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.errors import Problem
    from lakegate.gate.datasets.lifecycle import Line
    from lakegate.gate.dependencies import Dependencies
    from lakegate.gate.registry.contract_versions import CompiledContract, Publication, Route
    from lakegate.gate.registry.parent_contracts import BrokenChild
    from lakegate.gate.registry.publish_contract import PlannedChange, ReferredDocuments

# ---- Parents and workflows of contracts in the registry, and the children that are weaker than a new version of
# their parent


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


# ---- `lakegate publish`: a contract version becomes valid ----------------------------------------------------------


def publish(  # noqa: PLR0913 - a command has these options
    file: Annotated[str, typer.Argument(help="The contract document, or - for standard input.", show_default=False)],
    *,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    allow_unmeasured: Annotated[
        bool, typer.Option("--allow-unmeasured", help="Publish rules that can never be measured; recorded.")
    ] = False,
    inherited_from: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="DAY",
            help="Contracts inherit from it from this day on; owners of weaker ones get notice.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Write nothing: say what would change, for pull requests.")
    ] = False,
    yes: Yes = False,
    api: ApiUrl = None,
    as_json: AsJson = False,
) -> None:
    """Make a contract version valid: it is linted and compiled, and the routes of its line carry it from then on.

    Example: lakegate publish contracts/examples/weather.dcm.yaml

    A document that is not active yet, and a retired one that closes routes, must be confirmed. Rules that can never be
    measured refuse the document, unless they are allowed. A number that is too low for the changes since the version that
    it follows is refused, with the changes and the number that would do (`lakegate diff`).

    Published contracts that inherit and are weaker than the version keep the parent that they have, and their lines get notice.
    With --from 2027-01-01 it is inherited later: until the day, contracts are published with the version before.

    Where the stack requires approval (RequireApproval), this leaves a proposal, which another person approves
    (`lakegate approve`).

    Exit code: 0 published or proposed (twice is once), 1 the document is refused, 2 it cannot be published, or was not confirmed.
    """
    from lakegate.features.http_api.api_client import (  # noqa: PLC0415 - a feature
        Api,
        RemotePublication,
        refuse_options,
    )

    if api:
        refuse_options(local=local, dry_run=dry_run)
        RemotePublication(Api(api), file, allow_unmeasured, inherited_from, yes, as_json).publish()
        return
    body = InputDocument(file).read()
    referred = registry_documents(stack, body, local=local)
    compiled = compiled_document(file, body, referred, allow_unmeasured=allow_unmeasured, as_json=as_json)
    compiled = replace(compiled, inherited_from=day_of(inherited_from))
    with opened(stack, local=local) as there:
        dependencies = there.dependencies()
        try:
            change = planned(dependencies, compiled)
            if dry_run:
                _print_plan(compiled, change, as_json=as_json)
                print_warnings(file, compiled, change.warnings, as_json=as_json)
                return
            if not yes:
                print_weaker(change.announced)
            confirm(effects_of(compiled, change), yes=yes)
            if there.requires_approval and not change.is_done:
                loaded(PROPOSALS, "publish")(dependencies, compiled, change.warnings, as_json=as_json)
                print_warnings(file, compiled, change.warnings, as_json=as_json)
                return
            published = run(make_valid(dependencies, compiled), dependencies.clock)
        except IncompatibleVersion as refused:
            refuse_number(refused, as_json=as_json)
        print_without_notice(dependencies, published, change.announced)
        routes = list(dependencies.registry.contract(compiled.contract).routes)
        drafts = drafts_of(dependencies, published)
    print_published(published, routes, drafts, change.warnings, as_json=as_json)
    print_warnings(file, compiled, change.warnings, as_json=as_json)


def print_published(
    published: Publication,
    routes: list[Route],
    drafts: list[Line],
    warnings: tuple[Problem, ...],
    *,
    as_json: bool,
) -> None:
    """The version that is valid now, the routes of its contract, and those of its lines that are drafts."""
    if as_json:
        found = {"drafts": [each.name for each in drafts], "warnings": [asdict(each) for each in warnings]}
        terminal.print_json(_publication_document(published, routes) | found)
        return
    _print(published, routes)
    for each in drafts:
        state = f"takes effect on {each.expected(LineStatus.ACTIVE)[:10]}" if each.notice else "is a draft"
        text = (
            f"  {each.name} {state}: until it is active, deliveries are refused or, with mode: observe, only observed."
        )
        terminal.answers().print(escaped(text), markup=False, soft_wrap=True)


def compiled_document(
    name: str, body: bytes, referred: ReferredDocuments, *, allow_unmeasured: bool, as_json: bool
) -> CompiledContract:
    """The compiled document; what is wrong with it is shown as `lint` shows it, and ends the command."""
    try:
        return compile_document(body, referred, allow_unmeasured=allow_unmeasured)
    except DocumentRefused as refused:
        if refused.unmeasured:
            count, it = refused.unmeasured, "it" if refused.unmeasured == 1 else "them"
            remedy = f"{counted(count, 'rule')} can never be measured: correct {it}, or give --allow-unmeasured"
            terminal.errors().print(f"lakegate: {remedy}")
        _refuse(name, refused.examined, as_json=as_json)


def refuse_number(refused: IncompatibleVersion, *, as_json: bool) -> NoReturn:
    """Show the changes that need a higher number."""
    if as_json:
        terminal.print_json({"valid": False, "comparison": refused.comparison.to_json()})
    else:
        print_comparison(refused.comparison)
    raise typer.Exit(REFUSED)


def _print_plan(compiled: CompiledContract, change: PlannedChange, *, as_json: bool) -> None:
    """What publishing would do, by the registry as it is."""
    effects = list(effects_of(compiled, change))
    comparison = change.comparison
    if as_json:
        compared = None if comparison is None else comparison.to_json()
        warnings = [asdict(each) for each in change.warnings]
        plan = {"valid": True, "new": change.is_new, "confirm": effects, "comparison": compared, "warnings": warnings}
        terminal.print_json(plan | {"children": [child_document(each) for each in change.announced]})
        return
    if comparison is not None:
        print_comparison(comparison)
    print_weaker(change.announced)
    name = f"{compiled.contract} {compiled.version}"
    text = f"{name} could be published." if change.is_new else f"{name} is published already."
    for line in (*(f"To confirm: {each}." for each in effects), f"{text} Nothing was written."):
        terminal.answers().print(escaped(line), markup=False, soft_wrap=True)


def _refuse(name: str, examined: Examined, *, as_json: bool) -> NoReturn:
    if as_json:
        terminal.print_json(as_document({name: examined}))
    else:
        show({name: examined})
    raise typer.Exit(REFUSED)


def _publication_document(published: Publication, routes: list[Route]) -> dict[str, object]:
    return {
        "contract": published.contract,
        "version": published.version,
        "status": published.status,
        "document": published.document,
        "inherited_from": published.inherited_from or None,
        "unmeasured_rules": published.unmeasured_rules,
        "datasets": [{"dataset": dataset, "plan": plan} for dataset, plan in published.plans],
        "routes": [{"prefix": each.prefix, "line": each.line, "version": each.version} for each in routes],
    }


def _print(published: Publication, routes: list[Route]) -> None:
    console = terminal.answers()
    text = f"Published {published.contract} {published.version} ({published.status})."
    if published.unmeasured_rules:
        text += f" {counted(published.unmeasured_rules, 'rule')} can never be measured."
    console.print(escaped(text), markup=False, soft_wrap=True)
    for dataset, plan in published.plans:
        console.print(escaped(f"  {dataset}: plan {plan[:12]}"), markup=False, soft_wrap=True)
    for route in routes:
        console.print(escaped(f"  {route.prefix} → {route.line} {route.version}"), markup=False, soft_wrap=True)
    if published.inherited_from:
        console.print(f"  Contracts inherit from it from {published.inherited_from[:10]} on.", soft_wrap=True)
    if not routes:
        console.print("No prefix delivers to it yet:", soft_wrap=True)
        console.print(escaped(f"  lakegate route add PREFIX/ {published.contract}"), markup=False, soft_wrap=True)
