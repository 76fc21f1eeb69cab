"""lakegate proposals; what lakegate publish, withdraw and approve do where two people publish."""

from __future__ import annotations

from dataclasses import dataclass, replace

from lakegate.aws.open_stack import DeployedStack, opened
from lakegate.cli.command_runner import CommandResult, confirm, stack_command
from lakegate.cli.contracts.diff_command import print_comparison
from lakegate.cli.contracts.publish_command import (
    SHORT,
    compiled_document,
    print_weaker,
    proposal_in_words,
    published_result,
    refuse_number,
    warnings_in_words,
)
from lakegate.cli.contracts.withdraw_command import WithdrawnVersion, withdrawn
from lakegate.cli.terminal import Grid
from lakegate.errors import InputError, Problem
from lakegate.features.proposals.proposal import approve, approve_withdrawal, propose, propose_withdrawal
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import run
from lakegate.gate.ports import Address
from lakegate.gate.registry.contract_versions import CompiledContract
from lakegate.gate.registry.publish_contract import IncompatibleVersion, effects_of, planned, referred_of
from lakegate.gate.registry.registry_rows import WITHDRAWN, Proposal
from lakegate.published_contracts import (
    NewProposal,
    ProposedVersion,
    PublishedVersion,
    new_proposal,
    proposed_version,
)
from lakegate.text import shown

# ---- `lakegate proposals` ----


@dataclass(frozen=True, slots=True)
class ProposedVersions:
    """The contract versions that wait for a second person, the oldest first."""

    proposals: tuple[ProposedVersion, ...]


@stack_command
def proposals(
    there: DeployedStack,
) -> CommandResult[ProposedVersions]:
    """List the contract versions that wait for approval, with who proposed them.

    Example: lakegate proposals
    """
    dependencies = there.dependencies()
    found = sorted(dependencies.registry.proposals(), key=lambda each: each.proposed_at)
    now = dependencies.clock.now()
    listed = ProposedVersions(tuple(proposed_version(each, now) for each in found))
    rows = (
        (
            each.contract,
            each.version,
            each.status,
            each.proposal[:SHORT],
            "expired" if each.expired else each.expires_at[:16],
            each.proposer,
        )
        for each in listed.proposals
    )
    table = Grid(("contract", "version", "status", "proposal", "until", "proposer"), rows)
    return CommandResult(listed, [table if found else "No contract version waits for approval."])


def _proposed_now(proposal: Proposal, warnings: tuple[Problem, ...]) -> CommandResult[NewProposal]:
    """Proposals that wait for approval now."""
    found = new_proposal(proposal, warnings)
    return CommandResult(found, proposal_in_words(found))


# ---- Parts of `lakegate publish` and `lakegate withdraw` ----


def publish(
    dependencies: Dependencies, compiled: CompiledContract, warnings: tuple[Problem, ...]
) -> CommandResult[NewProposal]:
    """Propose a version; the result is what waits for approval now."""
    return _proposed_now(run(propose(dependencies, compiled), dependencies.clock), warnings)


def withdraw(dependencies: Dependencies, contract: str, version: str) -> CommandResult[NewProposal]:
    """Propose to take a version back; the result is what waits for approval now."""
    return _proposed_now(run(propose_withdrawal(dependencies, contract, version), dependencies.clock), ())


# ---- A part of `lakegate approve` ----


def approve_version(  # noqa: PLR0913 - the options of the command
    name: str, proposal: str | None, stack: str, *, local: bool, yes: bool, as_json: bool
) -> CommandResult[PublishedVersion | WithdrawnVersion]:
    """Make a proposed contract version valid, or take one back; `proposal`: the digest that was reviewed."""
    with opened(stack, local=local) as there:
        dependencies = there.dependencies()
        found = _proposed(dependencies, name, proposal)
        if found.publication.status == WITHDRAWN:
            confirm((f"{found.proposer} proposed to withdraw {shown(name)}",), yes=yes)
            return withdrawn(run(approve_withdrawal(dependencies, found), dependencies.clock))
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
        return published_result(
            dependencies, published, change, warnings_in_words(name, compiled.document, change.warnings)
        )


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
