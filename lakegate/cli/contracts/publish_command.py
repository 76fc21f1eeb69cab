"""lakegate publish."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from lakegate.aws.open_stack import DEFAULT_STACK, opened
from lakegate.cli import terminal
from lakegate.cli.command_runner import confirm, refuse_options
from lakegate.cli.contracts.diff_command import print_comparison
from lakegate.cli.contracts.lint_command import REFUSED, show
from lakegate.cli.datasets.lifecycle_command import day_of
from lakegate.cli.options import ApiUrl, AsJson, Local, StackName, Yes
from lakegate.contract_files import InputDocument, registry_documents
from lakegate.errors import ContractError, Problem
from lakegate.extension_points import loaded
from lakegate.gate.datasets.dataset_lines import LineStatus
from lakegate.gate.effects import run
from lakegate.gate.registry.publish_contract import (
    DocumentRefused,
    IncompatibleVersion,
    compile_document,
    drafts_of,
    effects_of,
    planned,
)
from lakegate.gate.registry.publish_contract import publish as make_valid
from lakegate.gate.registry.registry_rows import PROPOSALS
from lakegate.inheritance import identity_of
from lakegate.lints.linter import Examined, as_document, examine
from lakegate.stack import Refused, known_form, remote_stack
from lakegate.text import counted, listed
from lakegate.text import printable as escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from lakegate.gate.datasets.dataset_lines import Line
    from lakegate.gate.dependencies import Dependencies
    from lakegate.gate.registry.contract_versions import CompiledContract
    from lakegate.gate.registry.parent_contracts import BrokenChild
    from lakegate.gate.registry.publish_contract import PlannedChange, ReferredDocuments
    from lakegate.gate.registry.registry_rows import Publication, Route
    from lakegate.stack import RemoteStack

# ---- Parents, children and workflows in the registry ----


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
    """Print the places where a document is weaker than an announced version of its parent; JSON has them in the response."""
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


# ---- `lakegate publish` ----


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
    if api:
        refuse_options(local=local, dry_run=dry_run)
        RemotePublication(remote_stack(api), file, allow_unmeasured, inherited_from, yes, as_json).publish()
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
    """Print the effects of publishing, by the registry as it is."""
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


# ---- Publishing through the HTTP API ----


@dataclass(frozen=True, slots=True)
class RemotePublication:
    """A document that is to be published through an API."""

    api: RemoteStack
    file: str
    allow_unmeasured: bool
    inherited_from: str | None
    yes: bool
    as_json: bool

    @known_form()
    def publish(self) -> None:
        """Publish it or leave a proposal, after its effects were confirmed; refusals are shown, and end the command."""
        body = InputDocument(self.file).read()
        contract, version = _remote_identity(body)
        try:
            found = self._sent(body, contract)
        except Refused as refused:
            self._show(refused, body)
            raise typer.Exit(REFUSED) from None
        is_proposal = isinstance(found, dict)
        warnings = examine(body).warnings  # as the header of the answer has them
        if self.as_json:
            answer = found if is_proposal else {"contract": found, "version": version}
            terminal.print_json({**answer, "warnings": [asdict(each) for each in warnings]})
            return
        text = f"Proposed {contract} {version}" if is_proposal else f"Published {found} {version}."
        if is_proposal:
            text += f": proposal {found['proposal']}. It becomes valid when another person approves it."
        _print_texts([text])
        if warnings:
            show({self.file: Examined((), warnings, tuple(body.decode(errors="replace").splitlines()))})

    def _sent(self, body: bytes, contract: str) -> Any:  # noqa: ANN401 - JSON
        """The answer, once its effects are confirmed."""
        query = {"allowUnmeasured": "true"} if self.allow_unmeasured else {}
        query |= {} if self.inherited_from is None else {"from": self.inherited_from}
        confirmed = {**query, "confirm": "true"}
        try:
            return self.api.publish(body, contract, confirmed if self.yes else query)
        except Refused as refused:
            if refused.kind != "confirmation-needed":
                raise
            for child in refused.problem.get("children", ()):
                lines = (f"  line {each.line}: {each.message}" for each in _remote_problems(child["errors"]))
                for line in (f"{child['contract']} {child['version']} is weaker:", *lines):
                    terminal.errors().print(escaped(line), markup=False, soft_wrap=True)
            confirm([str(each) for each in refused.problem.get("effects", ())], yes=False)
        return self.api.publish(body, contract, confirmed)

    def _show(self, refused: Refused, body: bytes) -> None:
        """Show the problems of the document; raises other refusals."""
        problem = refused.problem
        if refused.kind not in {"invalid-contract", "incompatible-version"}:
            raise refused
        if self.as_json:
            names = ("errors", "warnings", "comparison")
            terminal.print_json({"valid": False, **{name: problem[name] for name in names if name in problem}})
        elif refused.kind == "invalid-contract":
            errors, warnings = _remote_problems(refused.errors), _remote_problems(problem.get("warnings", ()))
            lines = tuple(body.decode(errors="replace").splitlines())
            show({self.file: Examined(errors, warnings, lines)})
        else:
            _print_texts(_remote_changes(problem.get("comparison", {}).get("changes", ())))
        terminal.errors().print(escaped(f"lakegate: {refused}"), markup=False, soft_wrap=True)


def _remote_identity(body: bytes) -> tuple[str, str]:
    """The id and the version of the document; empty where there is none, which the API refuses with the place."""
    try:
        return identity_of(body)
    except ContractError:
        return "", ""


def _remote_problems(found: Iterable[Mapping[str, Any]]) -> tuple[Problem, ...]:
    return tuple(
        Problem(each["code"], each["path"], each.get("line"), each["message"], each.get("column")) for each in found
    )


def _remote_changes(found: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Each change with what it needs and why."""
    for each in found:
        yield f"{each['bump']:<5}  {each['path']}  {each['kind']}: {each['because']}"


def _print_texts(texts: Iterable[str]) -> None:
    for text in texts:
        terminal.answers().print(escaped(text), markup=False, soft_wrap=True)
