"""lakegate publish; the words about a publication, which `approve` and `withdraw` print, too."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from shlex import quote
from typing import Annotated, TypeVar

from lakegate.base.json_codec import decode
from lakegate.base.text import join_words, plural
from lakegate.cli import terminal
from lakegate.cli.click_commands import Argument, Option
from lakegate.cli.command_runner import CommandResult, confirm, facade_command
from lakegate.cli.contracts.diff_command import print_comparison
from lakegate.cli.contracts.lint_command import REFUSED, problems_in_words
from lakegate.cli.options import DefinitionRoot, Yes
from lakegate.cli.terminal import Word
from lakegate.diff.change_kinds import VersionComparison
from lakegate.gate.registry.publish_contract import DocumentRefused, IncompatibleVersion, PublicationRefused
from lakegate.gate.registry.registry_rows import WeakerChild
from lakegate.library.contract_files import InputDocument
from lakegate.library.published_contracts import (
    DocumentToPublish,
    NewProposal,
    PlannedPublication,
    ProposedVersion,
    PublicationEffects,
    PublishedVersion,
    RefusedNumber,
)
from lakegate.library.stack import StackFacade
from lakegate.lints.linter import Examined, LintReport, lint_report

SHORT = 12
"""Digits of a digest that people read."""
VersionT = TypeVar("VersionT", bound=PublishedVersion | NewProposal)


@facade_command
def publish(  # noqa: PLR0913 - a command has these options
    there: StackFacade,
    file: Annotated[str, Argument(help="The contract document, or - for standard input.")],
    *,
    allow_unmeasured: Annotated[bool, Option(help="Publish rules that can never be measured; recorded.")] = False,
    inherited_from: Annotated[
        str | None,
        Option(
            "--from",
            metavar="DAY",
            help="Contracts inherit from it from this day on; owners of weaker ones get notice.",
        ),
    ] = None,
    dry_run: Annotated[bool, Option(help="Write nothing: say what would change, for pull requests.")] = False,
    root: DefinitionRoot = None,
    yes: Yes = False,
) -> CommandResult[PublishedVersion | NewProposal | PlannedPublication | RefusedNumber | LintReport]:
    """Make a contract version valid: it is linted and compiled, and the routes of its dataset carry it from then on.

    Example: lakegate publish contracts/examples/weather.dcm.yaml

    A document that is not active, and a retired one that closes routes, must be confirmed; not a draft of a dataset that is
    new or a draft itself, because it puts nothing in force. Rules that can never be measured refuse the document, unless
    they are allowed. A number that is too low for the changes since the version that it follows is refused, with the
    changes and the number that would do (`lakegate diff`).

    Published contracts that inherit and are weaker than the version keep their parent, and their datasets get notice.
    With --from 2027-01-01 it is inherited later: until the day, contracts are published with the version before.

    Where the stack requires approval (RequireApproval), this leaves a proposal, which another person approves
    (`lakegate approve`).

    Exit code: 0 published or proposed (twice is once), 1 the document is refused, 2 it cannot be published, or was not confirmed.
    """
    there.refuse(dry_run=dry_run)
    document = DocumentToPublish(InputDocument(file, root=root).read(), allow_unmeasured, inherited_from)
    try:
        if dry_run:
            plan = there.planned_publication(document)
            return CommandResult(plan, chain(_plan_in_words(plan), _warnings_in_words(file, document.text, plan)))
        return publication_result(file, document.text, there.publish(document, None if yes else confirm_publication))
    except PublicationRefused as refused:
        return refusal_result(file, refused)


def confirm_publication(found: PublicationEffects) -> None:
    """Ask a person about the effects of a publication; the contracts that would be weaker are shown."""
    _print_weaker(found.children)
    confirm(found.effects, yes=False)


def publication_result(name: str, text: bytes, found: VersionT) -> CommandResult[VersionT]:
    """The version that is valid now or waits for approval, with its warnings; `name`: of the document."""
    words = _published_in_words(found) if isinstance(found, PublishedVersion) else proposal_in_words(found)
    if isinstance(found, PublishedVersion) and found.without_notice:
        missing, remedy = (
            join_words(found.without_notice),
            "that needs LifecyclePolicy, and publishing the document again",
        )
        terminal.note(f"lakegate: {missing} got no notice: {remedy}")
    return CommandResult(found, chain(words, _warnings_in_words(name, text, found)))


def refusal_result(name: str, refused: PublicationRefused) -> CommandResult[RefusedNumber | LintReport]:
    """The changes that need a higher number, or what is wrong with the document, as `lint` shows it."""
    if isinstance(refused, IncompatibleVersion):
        comparison = refused.comparison
        number = RefusedNumber(False, comparison.to_json())
        return CommandResult(number, [lambda _: print_comparison(comparison)], REFUSED)
    assert isinstance(refused, DocumentRefused)
    if count := refused.unmeasured:
        remedy = f"correct {'it' if count == 1 else 'them'}, or give --allow-unmeasured"
        terminal.note(f"lakegate: {plural(count, 'rule')} can never be measured: {remedy}")
    judged = {name: refused.examined}
    return CommandResult(lint_report(judged), problems_in_words(judged), REFUSED)


def _warnings_in_words(
    name: str, text: bytes, found: PublishedVersion | NewProposal | PlannedPublication
) -> Iterator[Word]:
    """Findings, such as places where a document is weaker than an announced version of its parent, as `lint` shows them."""
    if found.warnings:
        lines = tuple(text.decode(errors="replace").splitlines())
        yield from problems_in_words({name: Examined((), found.warnings, lines)})


def _print_weaker(children: tuple[WeakerChild, ...]) -> None:
    """Print on standard error the contracts that are weaker than the version, with the places in their documents."""
    for each in children:
        owner = f" (owner: {each.owner})" if each.owner else ""
        terminal.note(f"{each.contract} {each.version}{owner} is weaker:")
        for problem in each.errors:
            terminal.note(f"  line {problem.line}: {problem.message}")


def _plan_in_words(plan: PlannedPublication) -> Iterator[Word]:
    comparison = None if plan.comparison is None else decode(VersionComparison, plan.comparison)
    if comparison is not None:
        yield lambda _: print_comparison(comparison)
    yield lambda _: _print_weaker(plan.children)
    yield from (f"To confirm: {each}." for each in plan.confirm)
    text = f"{plan.name} could be published." if plan.new else f"{plan.name} is published already."
    yield f"{text} Nothing was written."


def _published_in_words(found: PublishedVersion) -> Iterator[str]:
    starts = {start.dataset: start.day for start in found.starts}
    is_draft = bool(found.drafts) and not starts
    text = f"Published {found.contract} {found.version} ({'draft' if is_draft else found.status})."
    if found.unmeasured_rules:
        text += f" {plural(found.unmeasured_rules, 'rule')} can never be measured."
    yield text
    yield from (f"  {each.dataset}: plan {each.plan[:12]}" for each in found.datasets)
    yield from (f"  {route.prefix} → {route.full_name} {route.version}" for route in found.routes)
    if found.inherited_from:
        yield f"  Contracts inherit from it from {found.inherited_from[:10]} on."
    if not found.routes:
        yield "No prefix delivers to it yet:"
        yield f"  lakegate route add {quote(found.proposed) if found.proposed else 'PREFIX/'} {found.contract}"
    for dataset in found.drafts:
        state = f"takes effect on {starts[dataset]}" if dataset in starts else "is a draft"
        yield f"  {dataset} {state}: until it is active, deliveries are refused or, with mode: observe, only observed."
        if dataset not in starts:
            yield f"  In force: lakegate reactivate {dataset}, or a new number without status: draft."


def proposal_in_words(found: ProposedVersion) -> Iterator[str]:
    """A proposal that waits for approval now."""
    digest = found.proposal[:SHORT]
    yield f"Proposed {found.contract} {found.version} ({found.status}): proposal {digest}."
    yield f"It becomes valid when another person approves it, until {found.expires_at[:16]}:"
    yield f"  lakegate approve {found.contract}@{found.version} --proposal {digest}"
