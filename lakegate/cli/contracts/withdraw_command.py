"""`lakegate withdraw`: a version that was published by mistake is taken back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from lakegate.base.errors import InputError
from lakegate.base.extension_points import load_extension
from lakegate.base.json_codec import select_fields
from lakegate.base.text import quote
from lakegate.cli.click_commands import Argument
from lakegate.cli.command_runner import CommandResult, confirm, gate_command
from lakegate.cli.options import Yes
from lakegate.contract.semantic_versions import major
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.registry.named_contract import chosen, snapshot_of
from lakegate.gate.registry.registry_rows import PROPOSALS, RETIRED
from lakegate.gate.registry.withdraw_version import Withdrawal, planned_withdrawal
from lakegate.gate.registry.withdraw_version import withdraw as take_back
from lakegate.library.published_contracts import NewProposal, new_proposal


@dataclass(frozen=True, slots=True)
class WithdrawnVersion:
    """A version that is taken back."""

    contract: str
    version: str
    status: str
    current: str
    """The version that judges deliveries now."""
    prefixes: tuple[str, ...]


@gate_command
def withdraw(
    dependencies: Dependencies,
    name: Annotated[
        str,
        Argument(
            metavar="CONTRACT@VERSION",
            help="The contract's id, or the beginning of it, and the version.",
        ),
    ],
    *,
    yes: Yes = False,
) -> CommandResult[WithdrawnVersion | NewProposal]:
    """Take back a version that was published by mistake: its dataset goes on with the version before.

    Example: lakegate withdraw 5f0c8a52@1.2.0

    The next version is compared with the version before. A version that allows more than that one, or has more fields, is only
    withdrawn while no delivery was accepted under it. A delivery that was taken in before is judged by the withdrawn version.
    The number is not used again. The ledger records who withdrew it.

    Where the stack requires approval (RequireApproval), this leaves a proposal, which another person approves
    (`lakegate approve`).

    Exit code: 0 withdrawn or proposed (twice is once), 2 it cannot be withdrawn, or was not confirmed.
    """
    written, _, version = name.rpartition("@")
    if not written:
        raise InputError(f"{quote(name)} names no version: write CONTRACT@VERSION")
    publication = chosen(snapshot_of(dependencies.registry, written), written, version)
    contract = publication.contract
    planned = planned_withdrawal(dependencies, dependencies.registry.contract(contract), contract, version)
    confirm(_effects(planned, contract if written == publication.id else written), yes=yes)
    if dependencies.places.needs_approval and not planned.is_done:
        from lakegate.cli.contracts.publish_command import proposal_in_words  # noqa: PLC0415 - the compiler, for this alone

        proposed = dependencies.run(load_extension(PROPOSALS, "withdraw")(dependencies, contract, version))
        waiting = new_proposal(proposed, ())
        return CommandResult(waiting, proposal_in_words(waiting))
    return withdrawn(dependencies.run(take_back(dependencies, contract, version)))


def withdrawn(done: Withdrawal) -> CommandResult[WithdrawnVersion]:
    """The version that is taken back, and by which one deliveries are judged now."""
    of, current = done.publication, done.current
    prefixes = tuple(sorted(route.prefix for route in done.publication.routes))
    words = [f"Withdrawn: {of.contract} {of.version}. Deliveries are judged by {current.version} ({current.status})."]
    words += [f"  {prefix} → {current.version}" for prefix in prefixes]
    words += [
        f"What it rejected: lakegate replay --state QUARANTINED --line {of.contract}/{dataset}_v{major(of.version)}"
        for dataset, _plan in of.plans
    ]
    return CommandResult(select_fields(WithdrawnVersion, of, current=current.version, prefixes=prefixes), words)


def _effects(planned: Withdrawal, written: str) -> Iterator[str]:
    """Effects that the person may not expect."""
    of, current = planned.publication, planned.current
    if written != of.contract:
        yield f"{quote(written)} is the beginning of one contract id: {of.contract} {of.version} would be withdrawn"
    if current.status == RETIRED:
        yield f"{current.version} is retired: every delivery to the dataset would be refused"
