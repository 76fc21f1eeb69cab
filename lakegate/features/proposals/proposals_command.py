"""lakegate proposals; what lakegate publish, withdraw and approve do where two people publish."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from lakegate.aws.open_stack import DEFAULT_STACK, opened
from lakegate.cli import terminal
from lakegate.cli.command_runner import confirm
from lakegate.cli.contracts.diff_command import print_comparison
from lakegate.cli.contracts.publish_command import (
    compiled_document,
    print_published,
    print_warnings,
    print_weaker,
    print_without_notice,
    refuse_number,
)
from lakegate.cli.contracts.withdraw_command import print_withdrawal
from lakegate.cli.options import AsJson, Local, StackName
from lakegate.errors import InputError
from lakegate.features.proposals.proposal import approve, approve_withdrawal, propose, propose_withdrawal
from lakegate.gate.effects import run
from lakegate.gate.ports import Address
from lakegate.gate.registry.publish_contract import IncompatibleVersion, drafts_of, effects_of, planned, referred_of
from lakegate.gate.registry.registry_rows import WITHDRAWN
from lakegate.text import printable as escaped
from lakegate.text import shown

if TYPE_CHECKING:
    from datetime import datetime

    from lakegate.errors import Problem
    from lakegate.gate.dependencies import Dependencies
    from lakegate.gate.registry.contract_versions import CompiledContract
    from lakegate.gate.registry.registry_rows import Proposal

# ---- `lakegate proposals` ----


SHORT = 12
"""Digits of a digest that people read."""


def proposals(stack: StackName = DEFAULT_STACK, local: Local = False, as_json: AsJson = False) -> None:
    """List the contract versions that wait for approval, with who proposed them.

    Example: lakegate proposals
    """
    with opened(stack, local=local) as there:
        dependencies = there.dependencies()
        found = sorted(dependencies.registry.proposals(), key=lambda each: each.proposed_at)
        now = dependencies.clock.now()
    if as_json:
        terminal.print_json({"proposals": [_proposal_document(each, now) for each in found]})
    elif found:
        terminal.wide().print(_table(found, now))
    else:
        terminal.answers().print("No contract version waits for approval.")


def _tell(proposal: Proposal, warnings: tuple[Problem, ...], *, as_json: bool) -> None:
    """Print the proposals that wait for approval."""
    publication, digest = proposal.publication, proposal.digest[:SHORT]
    name = f"{publication.contract}@{publication.version}"
    if as_json:
        terminal.print_json(_proposal_document(proposal) | {"warnings": [asdict(each) for each in warnings]})
        return
    lines = (
        f"Proposed {publication.contract} {publication.version} ({publication.status}): proposal {digest}.",
        f"It becomes valid when another person approves it, until {proposal.expires_at[:16]}:",
        f"  lakegate approve {name} --proposal {digest}",
    )
    for line in lines:
        terminal.answers().print(escaped(line), markup=False, soft_wrap=True)


def _proposal_document(proposal: Proposal, now: datetime | None = None) -> dict[str, object]:
    publication = proposal.publication
    return {
        "proposal": proposal.digest,
        "contract": publication.contract,
        "version": publication.version,
        "status": publication.status,
        "document": publication.document,
        "proposer": proposal.proposer,
        "proposed_at": proposal.proposed_at,
        "expires_at": proposal.expires_at,
        "expired": now is not None and proposal.is_expired(now),
    }


def _table(found: list[Proposal], now: datetime) -> Table:
    grid = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("contract", "version", "status", "proposal", "until", "proposer"):
        grid.add_column(name, overflow="fold")
    for each in found:
        until = "expired" if each.is_expired(now) else each.expires_at[:16]
        of = each.publication
        cells = (of.contract, of.version, of.status, each.digest[:SHORT], until, each.proposer)
        grid.add_row(*(Text(escaped(cell)) for cell in cells))
    return grid


# ---- Parts of `lakegate publish` and `lakegate withdraw` ----


def publish(
    dependencies: Dependencies, compiled: CompiledContract, warnings: tuple[Problem, ...], *, as_json: bool
) -> None:
    """Propose a version, and print what waits for approval now."""
    _tell(run(propose(dependencies, compiled), dependencies.clock), warnings, as_json=as_json)


def withdraw(dependencies: Dependencies, contract: str, version: str, *, as_json: bool) -> None:
    """Propose to take a version back, and print what waits for approval now."""
    _tell(run(propose_withdrawal(dependencies, contract, version), dependencies.clock), (), as_json=as_json)


# ---- A part of `lakegate approve` ----


def approve_version(  # noqa: PLR0913 - the options of the command
    name: str, proposal: str | None, stack: str, *, local: bool, yes: bool, as_json: bool
) -> None:
    """Make a proposed contract version valid, or take one back; `proposal`: the digest that was reviewed."""
    with opened(stack, local=local) as there:
        dependencies = there.dependencies()
        found = _proposed(dependencies, name, proposal)
        if found.publication.status == WITHDRAWN:
            confirm((f"{found.proposer} proposed to withdraw {shown(name)}",), yes=yes)
            print_withdrawal(run(approve_withdrawal(dependencies, found), dependencies.clock), as_json=as_json)
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
            published = run(approve(dependencies, compiled, found), dependencies.clock)
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
