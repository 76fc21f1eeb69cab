"""lakegate proposals: what waits for a second person."""

from __future__ import annotations

from collections.abc import Iterator
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
    """List the contract versions that wait for approval, with who proposed them, and how to read, approve and decline them.

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
    if not found:
        return CommandResult(listed, ["No contract version waits for approval."])
    return CommandResult(listed, (table, *_commands(listed.proposals)))


def _commands(proposals: tuple[ProposedVersion, ...]) -> Iterator[str]:
    """The commands that read, approve and decline the oldest proposal that has not expired."""
    first = next((each for each in proposals if not each.expired), proposals[0])
    name = f"{first.contract}@{first.version}"
    yield f"Read it:     lakegate show {first.contract} {first.version}"
    if not first.expired:
        yield f"Approve it:  lakegate approve {name} --proposal {first.proposal[:SHORT]}"
    yield f'Decline it:  lakegate decline {name} --reason "…"'
