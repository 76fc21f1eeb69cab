"""lakegate publish."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Annotated, Any, NoReturn

import typer

from lakegate.aws.open_stack import DEFAULT_STACK
from lakegate.cli import terminal
from lakegate.cli.command_runner import CommandResult, confirm, facade_command, render
from lakegate.cli.contracts.diff_command import print_comparison
from lakegate.cli.contracts.lint_command import REFUSED, problems_in_words
from lakegate.cli.datasets.lifecycle_command import day_of
from lakegate.cli.options import AsJson, Local, StackName, Yes
from lakegate.cli.terminal import Word
from lakegate.contract_files import InputDocument, registry_documents
from lakegate.errors import Problem
from lakegate.extension_points import loaded
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import run
from lakegate.gate.registry.contract_versions import CompiledContract
from lakegate.gate.registry.parent_contracts import BrokenChild, identity
from lakegate.gate.registry.publish_contract import (
    DocumentRefused,
    IncompatibleVersion,
    PlannedChange,
    ReferredDocuments,
    compile_document,
    drafts_of,
    effects_of,
    planned,
)
from lakegate.gate.registry.publish_contract import publish as make_valid
from lakegate.gate.registry.registry_rows import PROPOSALS, Publication
from lakegate.lints.linter import Examined, lint_report
from lakegate.published_contracts import NewProposal, ProposedVersion, PublishedVersion, published_version
from lakegate.stack import Refused, RemoteStack, StackFacade, known_form
from lakegate.text import counted, listed

# ---- Parents, children and workflows in the registry ----


def print_weaker(children: tuple[BrokenChild, ...]) -> None:
    """Print the contracts that are weaker than the new version, with the places in their documents; not into an answer."""
    for each in children:
        for line in _lines(each):
            terminal.note(line)


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
        terminal.note(text)


def _lines(child: BrokenChild) -> Iterator[str]:
    owner = f" (owner: {child.owner})" if child.owner else ""
    yield f"{child.contract} {child.version}{owner} is weaker:"
    yield from (f"  line {each.line}: {each.message}" for each in child.problems)


# ---- `lakegate publish` ----


SHORT = 12
"""Digits of a digest that people read."""


@dataclass(frozen=True, slots=True)
class WeakerChild:
    """A contract that inherits, and would be weaker than the version."""

    contract: str
    version: str
    owner: str
    errors: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class PlannedPublication:
    """A preview of a publication (`--dry-run`)."""

    valid: bool
    new: bool
    confirm: tuple[str, ...]
    comparison: dict[str, Any] | None
    warnings: tuple[Problem, ...]
    children: tuple[WeakerChild, ...]


@facade_command
def publish(  # noqa: PLR0913 - a command has these options
    there: StackFacade,
    file: Annotated[str, typer.Argument(help="The contract document, or - for standard input.", show_default=False)],
    *,
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
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    as_json: AsJson = False,
    yes: Yes = False,
) -> CommandResult[PublishedVersion | NewProposal | PlannedPublication]:
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
    there.refuse(dry_run=dry_run)
    body = InputDocument(file).read()
    if there.api is not None:
        sent = RemotePublication(there.api, file, body, allow_unmeasured, inherited_from, yes, as_json)
        return sent.publish()
    referred = registry_documents(stack, body, local=local)
    compiled = compiled_document(file, body, referred, allow_unmeasured=allow_unmeasured, as_json=as_json)
    compiled = replace(compiled, inherited_from=day_of(inherited_from))
    dependencies = there.aws.dependencies
    try:
        change = planned(dependencies, compiled)
        warned = warnings_in_words(file, body, change.warnings)
        if dry_run:
            plan = _plan(compiled, change)
            return CommandResult(plan, chain(_plan_in_words(compiled, change), warned))
        if not yes:
            print_weaker(change.announced)
        confirm(effects_of(compiled, change), yes=yes)
        if there.aws.there.requires_approval and not change.is_done:
            proposed: CommandResult[NewProposal] = loaded(PROPOSALS, "publish")(dependencies, compiled, change.warnings)
            return replace(proposed, words=chain(proposed.words, warned))
        published = run(make_valid(dependencies, compiled), dependencies.clock)
    except IncompatibleVersion as refused:
        refuse_number(refused, as_json=as_json)
    return published_result(dependencies, published, change, warned)


def published_result(
    dependencies: Dependencies, published: Publication, change: PlannedChange, warned: Iterable[Word]
) -> CommandResult[PublishedVersion]:
    """The version that is valid now, the routes of its contract, and those of its lines that are drafts."""
    print_without_notice(dependencies, published, change.announced)
    routes = dependencies.registry.contract(published.contract).routes
    found = published_version(published, routes, drafts_of(dependencies, published), change.warnings)
    return CommandResult(found, chain(_published_in_words(found), warned))


def warnings_in_words(name: str, body: bytes, warnings: tuple[Problem, ...]) -> Iterator[Word]:
    """Findings where a document is weaker than an announced version of its parent, as `lint` shows them."""
    if warnings:
        lines = tuple(body.decode(errors="replace").splitlines())
        yield from problems_in_words({name: Examined((), warnings, lines)})


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
    found = {"valid": False, "comparison": refused.comparison.to_json()}
    _end(CommandResult(found, [lambda _: print_comparison(refused.comparison)], REFUSED), as_json=as_json)


def _refuse(name: str, examined: Examined, *, as_json: bool) -> NoReturn:
    found = lint_report({name: examined})
    _end(CommandResult(found, problems_in_words({name: examined}), REFUSED), as_json=as_json)


def _end(result: CommandResult[Any], *, as_json: bool) -> NoReturn:
    render(result, as_json=as_json)
    raise typer.Exit(result.exit_code)


def _plan(compiled: CompiledContract, change: PlannedChange) -> PlannedPublication:
    """A preview of a publication, by the registry as it is."""
    comparison = change.comparison
    return PlannedPublication(
        True,
        change.is_new,
        tuple(effects_of(compiled, change)),
        None if comparison is None else comparison.to_json(),
        tuple(change.warnings),
        tuple(WeakerChild(each.contract, each.version, each.owner, each.problems) for each in change.announced),
    )


def _plan_in_words(compiled: CompiledContract, change: PlannedChange) -> Iterator[Word]:
    comparison = change.comparison
    if comparison is not None:
        yield lambda _: print_comparison(comparison)
    yield lambda _: print_weaker(change.announced)
    yield from (f"To confirm: {each}." for each in effects_of(compiled, change))
    name = f"{compiled.contract} {compiled.version}"
    text = f"{name} could be published." if change.is_new else f"{name} is published already."
    yield f"{text} Nothing was written."


def _published_in_words(found: PublishedVersion) -> Iterator[str]:
    text = f"Published {found.contract} {found.version} ({found.status})."
    if found.unmeasured_rules:
        text += f" {counted(found.unmeasured_rules, 'rule')} can never be measured."
    yield text
    yield from (f"  {each.dataset}: plan {each.plan[:12]}" for each in found.datasets)
    yield from (f"  {each.prefix} → {each.line} {each.version}" for each in found.routes)
    if found.inherited_from:
        yield f"  Contracts inherit from it from {found.inherited_from[:10]} on."
    if not found.routes:
        yield "No prefix delivers to it yet:"
        yield f"  lakegate route add PREFIX/ {found.contract}"
    for line in found.drafts:
        state = f"takes effect on {found.starts[line]}" if line in found.starts else "is a draft"
        yield f"  {line} {state}: until it is active, deliveries are refused or, with mode: observe, only observed."


def proposal_in_words(found: ProposedVersion) -> tuple[str, ...]:
    """A proposal that waits for approval now."""
    digest = found.proposal[:SHORT]
    return (
        f"Proposed {found.contract} {found.version} ({found.status}): proposal {digest}.",
        f"It becomes valid when another person approves it, until {found.expires_at[:16]}:",
        f"  lakegate approve {found.contract}@{found.version} --proposal {digest}",
    )


# ---- Publishing through the HTTP API ----


@dataclass(frozen=True, slots=True)
class RemotePublication:
    """A document that is to be published through an API."""

    api: RemoteStack
    file: str
    body: bytes
    allow_unmeasured: bool
    inherited_from: str | None
    yes: bool
    as_json: bool

    @known_form()
    def publish(self) -> CommandResult[PublishedVersion | NewProposal]:
        """Publish it or leave a proposal, after its effects were confirmed; refusals are shown, and end the command."""
        try:
            found = self._sent(identity(self.body)[0])
        except Refused as refused:
            self._refuse(refused)
        words = _published_in_words(found) if isinstance(found, PublishedVersion) else proposal_in_words(found)
        return CommandResult(found, chain(words, warnings_in_words(self.file, self.body, found.warnings)))

    def _sent(self, contract: str) -> PublishedVersion | NewProposal:
        """The outcome, once the effects are confirmed."""
        query = {"allowUnmeasured": "true"} if self.allow_unmeasured else {}
        query |= {} if self.inherited_from is None else {"from": self.inherited_from}
        confirmed = {**query, "confirm": "true"}
        try:
            return self.api.publish(self.body, contract, confirmed if self.yes else query)
        except Refused as refused:
            if refused.kind != "confirmation-needed":
                raise
            for child in refused.problem.get("children", ()):
                lines = (f"  line {each.line}: {each.message}" for each in _remote_problems(child["errors"]))
                for line in (f"{child['contract']} {child['version']} is weaker:", *lines):
                    terminal.note(line)
            confirm([str(each) for each in refused.problem.get("effects", ())], yes=False)
        return self.api.publish(self.body, contract, confirmed)

    def _refuse(self, refused: Refused) -> NoReturn:
        """Show what is wrong with the document, and end the command; raises other refusals."""
        problem = refused.problem
        if refused.kind not in {"invalid-contract", "incompatible-version"}:
            raise refused
        terminal.note(f"lakegate: {refused}")
        if refused.kind == "incompatible-version":
            comparison = problem["comparison"]
            words = _remote_changes(comparison["changes"])
            _end(CommandResult({"valid": False, "comparison": comparison}, words, REFUSED), as_json=self.as_json)
        errors, warnings = _remote_problems(refused.errors), _remote_problems(problem.get("warnings", ()))
        lines = tuple(self.body.decode(errors="replace").splitlines())
        _refuse(self.file, Examined(errors, warnings, lines), as_json=self.as_json)


def _remote_problems(found: Iterable[Mapping[str, Any]]) -> tuple[Problem, ...]:
    return tuple(
        Problem(each["code"], each["path"], each.get("line"), each["message"], each.get("column")) for each in found
    )


def _remote_changes(found: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Each change with what it needs and why."""
    for each in found:
        yield f"{each['bump']:<5}  {each['path']}  {each['kind']}: {each['because']}"
