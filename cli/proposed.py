"""`lakegate proposals`: contract versions that wait for a second person."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from lakegate.cli import terminal
from lakegate.cli.aws import opened
from lakegate.cli.escape import escaped
from lakegate.cli.options import DEFAULT_STACK, AsJson, Local, StackName
from lakegate.functions.usecases.approval import is_expired

if TYPE_CHECKING:
    from datetime import datetime

    from lakegate.contracts.errors import Problem
    from lakegate.functions.ports.registry import Proposal

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
        terminal.print_json({"proposals": [_as_document(each, now) for each in found]})
    elif found:
        terminal.wide().print(_table(found, now))
    else:
        terminal.answers().print("No contract version waits for approval.")


def tell_proposal(proposal: Proposal, warnings: tuple[Problem, ...], *, as_json: bool) -> None:
    """What waits for approval now."""
    publication, digest = proposal.publication, proposal.digest[:SHORT]
    name = f"{publication.contract}@{publication.version}"
    if as_json:
        terminal.print_json(_as_document(proposal) | {"warnings": [asdict(each) for each in warnings]})
        return
    lines = (
        f"Proposed {publication.contract} {publication.version} ({publication.status}): proposal {digest}.",
        f"It becomes valid when another person approves it, until {proposal.expires_at[:16]}:",
        f"  lakegate approve {name} --proposal {digest}",
    )
    for line in lines:
        terminal.answers().print(escaped(line), markup=False, soft_wrap=True)


def _as_document(proposal: Proposal, now: datetime | None = None) -> dict[str, object]:
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
        "expired": now is not None and is_expired(proposal, now),
    }


def _table(found: list[Proposal], now: datetime) -> Table:
    grid = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("contract", "version", "status", "proposal", "until", "proposer"):
        grid.add_column(name, overflow="fold")
    for each in found:
        until = "expired" if is_expired(each, now) else each.expires_at[:16]
        of = each.publication
        cells = (of.contract, of.version, of.status, each.digest[:SHORT], until, each.proposer)
        grid.add_row(*(Text(escaped(cell)) for cell in cells))
    return grid
