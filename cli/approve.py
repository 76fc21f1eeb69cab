"""`lakegate approve`: a second person makes a proposed contract version valid, or lets a judged delivery be published."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Final

import typer

from lakegate.cli.answer import Asked
from lakegate.cli.aws import opened
from lakegate.cli.confirm import Yes, confirm
from lakegate.cli.diff import print_comparison
from lakegate.cli.inheriting import print_warnings, print_weaker, print_without_notice
from lakegate.cli.options import DEFAULT_STACK, ApiUrl, AsJson, Local, StackName
from lakegate.cli.publish import compiled_document, print_published, refuse_number
from lakegate.cli.withdraw import print_withdrawal
from lakegate.contracts.errors import InputError
from lakegate.contracts.words import shown
from lakegate.functions.ports.objects import Address
from lakegate.functions.ports.registry import WITHDRAWN
from lakegate.functions.usecases.approval import approve as make_valid
from lakegate.functions.usecases.compile_contract import effects_of
from lakegate.functions.usecases.new_lines import drafts_of
from lakegate.functions.usecases.publish_contract import planned
from lakegate.functions.usecases.steps import run
from lakegate.functions.usecases.succession import IncompatibleVersion
from lakegate.functions.usecases.withdrawing import withdraw as withdrawn
from lakegate.functions.usecases.workflows import referred_of

if TYPE_CHECKING:
    from lakegate.functions.ports.registry import Proposal
    from lakegate.functions.usecases.dependencies import Dependencies

VERSION: Final = re.compile(r"@[0-9]+\.[0-9]+\.[0-9]+$", re.ASCII)
"""How the name of a contract version ends; what is named otherwise is a delivery."""


def approve(  # noqa: PLR0913 - a command has these options
    name: Annotated[
        str,
        typer.Argument(
            metavar="DELIVERY|CONTRACT@VERSION",
            help="A workload's id, the beginning of one, or a landing key; or the proposed version.",
            show_default=False,
        ),
    ],
    *,
    proposal: Annotated[
        str | None,
        typer.Option(help="The proposal that was reviewed, as `lakegate proposals` shows it; no other is approved."),
    ] = None,
    contract: Annotated[
        str | None,
        typer.Option(help="With --api: the delivery's contract, for callers with rights to that.", show_default=False),
    ] = None,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    api: ApiUrl = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Let a judged delivery be published that waits for approval, or make a proposed contract version valid, or withdraw one.

    Example: lakegate approve orders/day.csv
    Example: lakegate approve brazil-se-weather@1.1.0 --proposal 1f0c8a528f2e

    A delivery waits where the workflow of its contract says so. Your ARN is in the ledger; to reject it: lakegate decline. With
    --api it takes a workload's whole id, and the next sweep publishes the delivery.

    Nobody can approve a proposal of their own.

    The proposed document is compiled again and compared with the version that it follows; then version, routes, and a record
    of both people are written in one transaction. An expired proposal, one that was changed since it was read, and one whose
    contract was changed since it was proposed are refused.

    Exit code: 0 published, 1 the document is refused, or the content was accepted meanwhile, 2 it cannot be approved, or was not
    confirmed, 3 approved, and not yet published.
    """
    if not VERSION.search(name):
        if proposal is not None or yes:
            raise InputError(f"--proposal and --yes are for contract versions, and {shown(name)} is none")
        Asked(name, contract, stack, local, api, as_json).answer()
        return
    if api or contract is not None:
        raise InputError(
            "--api and --contract are for deliveries: a contract version is approved with rights in the account"
        )
    with opened(stack, local=local) as there:
        dependencies = there.dependencies()
        found = _proposed(dependencies, name, proposal)
        if found.publication.status == WITHDRAWN:
            confirm((f"{found.proposer} proposed to withdraw {shown(name)}",), yes=yes)
            steps = withdrawn(dependencies, found.publication.contract, found.publication.version, found)
            print_withdrawal(run(steps, dependencies.clock), as_json=as_json)
            return
        body = dependencies.objects.read(Address(dependencies.places.lake, found.publication.document))
        allowed = found.publication.unmeasured_rules > 0
        referred = referred_of(dependencies, body, found.publication.own)
        compiled = compiled_document(name, body, referred, allow_unmeasured=allowed, as_json=as_json)
        compiled = replace(compiled, inherited_from=found.publication.inherited_from)
        try:
            change = planned(dependencies, compiled)
            if change.comparison is not None and not as_json:
                print_comparison(change.comparison)
            if not yes:
                print_weaker(change.announced)
            confirm((f"{found.proposer} proposed {shown(name)}", *effects_of(compiled, change)), yes=yes)
            published = run(make_valid(dependencies, compiled, found), dependencies.clock)
        except IncompatibleVersion as refused:
            refuse_number(refused, as_json=as_json)
        print_without_notice(dependencies, published, change.announced)
        routes = list(dependencies.registry.contract(compiled.contract).routes)
        drafts = drafts_of(dependencies, published)
    print_published(published, routes, drafts, change.warnings, as_json=as_json)
    print_warnings(name, compiled, change.warnings, as_json=as_json)


def _proposed(dependencies: Dependencies, name: str, digest: str | None) -> Proposal:
    """The proposal of CONTRACT@VERSION, of this digest or the beginning of it. Raises InputError where there is none."""
    contract, _, version = name.rpartition("@")
    found = dependencies.registry.proposal(contract, version)
    if found is None:
        is_published = any(each.version == version for each in dependencies.registry.contract(contract).versions)
        also = ": that version is published" if is_published else ""
        raise InputError(f"no proposal of {shown(name)} waits for approval{also} (`lakegate proposals`)")
    if digest is not None and (not digest or not found.digest.startswith(digest)):
        raise InputError(f"the proposal of {shown(name)} is {found.digest[:12]} now: read it before you approve it")
    return found
