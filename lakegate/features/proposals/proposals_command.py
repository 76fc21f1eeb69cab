"""lakegate proposals: what waits for a second person."""

from __future__ import annotations

from dataclasses import dataclass

from lakegate.cli.command_runner import CommandResult, gate_command
from lakegate.cli.contracts.publish_command import SHORT
from lakegate.cli.terminal import Grid
from lakegate.gate.dependencies import Dependencies
from lakegate.library.published_contracts import ProposedVersion, proposed_version


@dataclass(frozen=True, slots=True)
class ProposedVersions:
    """The contract versions that wait for a second person, the oldest first."""

    proposals: tuple[ProposedVersion, ...]


@gate_command
def proposals(
    dependencies: Dependencies,
) -> CommandResult[ProposedVersions]:
    """List the contract versions that wait for approval, with who proposed them.

    Example: lakegate proposals
    """
    found = sorted(dependencies.registry.proposals(), key=lambda proposal: proposal.proposed_at)
    now = dependencies.now
    listed = ProposedVersions(tuple(proposed_version(proposal, now) for proposal in found))
    rows = (
        (
            proposal.contract,
            proposal.version,
            proposal.status,
            proposal.proposal[:SHORT],
            "expired" if proposal.expired else proposal.expires_at[:16],
            proposal.proposer,
        )
        for proposal in listed.proposals
    )
    table = Grid(("contract", "version", "status", "proposal", "until", "proposer"), rows)
    return CommandResult(listed, [table if found else "No contract version waits for approval."])
