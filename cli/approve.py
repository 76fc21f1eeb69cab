"""`lakegate approve`: a second person makes a proposed contract version valid."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from lakegate.cli.aws import opened
from lakegate.cli.confirm import Yes, confirm
from lakegate.cli.diff import print_comparison
from lakegate.cli.inheriting import print_broken, print_warnings
from lakegate.cli.lint import REFUSED
from lakegate.cli.options import DEFAULT_STACK, AsJson, Local, StackName
from lakegate.cli.publish import compiled_document, print_published, refuse_number
from lakegate.contracts.errors import InputError
from lakegate.contracts.words import shown
from lakegate.functions.ports.objects import Address
from lakegate.functions.usecases.approval import approve as make_valid
from lakegate.functions.usecases.compile_contract import effects_of
from lakegate.functions.usecases.new_lines import drafts_of
from lakegate.functions.usecases.parents import BreaksChildren
from lakegate.functions.usecases.publish_contract import planned
from lakegate.functions.usecases.steps import run
from lakegate.functions.usecases.succession import IncompatibleVersion
from lakegate.functions.usecases.workflows import referred_of

if TYPE_CHECKING:
    from lakegate.functions.ports.registry import Proposal
    from lakegate.functions.usecases.dependencies import Dependencies


def approve(  # noqa: PLR0913 - a command has these options
    name: Annotated[str, typer.Argument(metavar="CONTRACT@VERSION", help="The proposed version.", show_default=False)],
    *,
    proposal: Annotated[
        str | None,
        typer.Option(help="The proposal that was reviewed, as `lakegate proposals` shows it; no other is approved."),
    ] = None,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Make a proposed contract version valid. Nobody can approve a proposal of their own.

    Example: lakegate approve brazil-se-weather@1.1.0 --proposal 1f0c8a528f2e

    The proposed document is compiled again and compared with the version that it follows; then version, routes, and a record
    of both people are written in one transaction. An expired proposal, one that was changed since it was read, and one whose
    contract was changed since it was proposed are refused.

    Exit code: 0 published, 1 the document is refused, 2 it cannot be approved, or was not confirmed.
    """
    with opened(stack, local=local) as there:
        dependencies = there.dependencies()
        found = _proposed(dependencies, name, proposal)
        body = dependencies.objects.read(Address(dependencies.places.lake, found.publication.document))
        allowed = found.publication.unmeasured_rules > 0
        referred = referred_of(dependencies, body)
        compiled = compiled_document(name, body, referred, allow_unmeasured=allowed, as_json=as_json)
        compiled = replace(compiled, inherited_from=found.publication.inherited_from)
        try:
            change = planned(dependencies, compiled)
            if change.comparison is not None and not as_json:
                print_comparison(change.comparison)
            confirm((f"{found.proposer} proposed {shown(name)}", *effects_of(compiled, change)), yes=yes)
            published = run(make_valid(dependencies, compiled, found), dependencies.clock)
        except IncompatibleVersion as refused:
            refuse_number(refused, as_json=as_json)
        except BreaksChildren as refused:
            print_broken(refused, as_json=as_json)
            raise typer.Exit(REFUSED) from None
        routes = list(dependencies.registry.contract(compiled.contract).routes)
        drafts = drafts_of(dependencies, published)
    print_published(published, routes, drafts, change.warnings, as_json=as_json)
    print_warnings(name, compiled, change.warnings, as_json=as_json)


def _proposed(dependencies: Dependencies, name: str, digest: str | None) -> Proposal:
    """The proposal of CONTRACT@VERSION, of this digest or the beginning of it. Raises InputError where there is none."""
    contract, at, version = name.rpartition("@")
    if not at:
        raise InputError(f"{shown(name)} is not CONTRACT@VERSION, such as `shop@1.1.0`")
    found = dependencies.registry.proposal(contract, version)
    if found is None:
        is_published = any(each.version == version for each in dependencies.registry.contract(contract).versions)
        also = ": that version is published" if is_published else ""
        raise InputError(f"no proposal of {shown(name)} waits for approval{also} (`lakegate proposals`)")
    if digest is not None and (not digest or not found.digest.startswith(digest)):
        raise InputError(f"the proposal of {shown(name)} is {found.digest[:12]} now: read it before you approve it")
    return found
