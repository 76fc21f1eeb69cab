"""Contract version proposed, approved by a second person."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Final

from lakegate.base.errors import ConditionFailed, InputError, TransactionConflict
from lakegate.base.json_codec import encode, select_fields
from lakegate.base.text import quote
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Effect, Steps, perform
from lakegate.gate.ledger.blocks import contract_chain, event_id
from lakegate.gate.ledger.commit import TRIES_OF_COMMIT, is_one_line, record_at_head
from lakegate.gate.ledger.record_contents import DeclineVersionContent
from lakegate.gate.person_decisions import LONGEST_REASON, OF_PERSON, not_apart
from lakegate.gate.registry.contract_versions import (
    ANOTHER_CONTENT,
    CHANGED_PROPOSAL,
    CompiledContract,
    publication_of,
    published_by,
    store,
)
from lakegate.gate.registry.publish_contract import (
    compile_document,
    plan_publication,
    referred_of,
    refuse,
    write_with_datasets,
)
from lakegate.gate.registry.registry_rows import WITHDRAWN, Proposal, Publication, RegistrySnapshot
from lakegate.gate.registry.routes import leading_its_routes
from lakegate.gate.registry.withdraw_version import Withdrawal, planned_withdrawal, withdraw
from lakegate.gate.table import ConditionName
from lakegate.library.published_contracts import (
    ConfirmApproval,
    PublicationEffects,
    PublishedVersion,
    effects_of_publication,
    published_version,
)

# ---- Publishing by two people ----
# 1. The publisher writes document and plans, and a proposal that names them. Nothing refers to it.
# 2. The approver compiles the document again. One transaction writes version and routes, removes the proposal and records both.
#    Or the approver declines it: one transaction removes the proposal and records that, with the reason.
#
# The transaction needs the very proposal that was read, and the contract as it was when it was proposed.


PROPOSAL_LIFETIME: Final = timedelta(days=14)
"""The time in which a proposal can be approved."""


def propose(dependencies: Dependencies, compiled: CompiledContract, holder: str = "") -> Steps[Proposal]:
    """Leave a proposal in the place of the one that was there. Raises IncompatibleVersion and InputError as `publish`.

    `holder`: the ARN of the person who has the caller's token. Without it nobody could approve: raises InputError.
    The same proposal of the same person is left as it is, while it is valid.
    """
    seen = dependencies.registry.contract(compiled.contract)
    refuse(dependencies, seen, compiled)
    publication = publication_of(compiled)
    if seen.has(leading_its_routes(seen, publication)):
        raise InputError("this version is published already: there is nothing to approve")
    if any(
        version.version == publication.version and version.document != publication.document for version in seen.versions
    ):
        raise InputError(ANOTHER_CONTENT)
    proposer = proposer_of(dependencies.identity.caller(), holder)
    yield from store(dependencies, compiled)
    return (yield from _proposed(dependencies, publication, proposer, seen.revision))


def propose_withdrawal(dependencies: Dependencies, contract: str, version: str) -> Steps[Proposal]:
    """Leave a proposal to take a version back, as `propose` does. Raises InputError as `withdraw`."""
    seen = dependencies.registry.contract(contract)
    publication = replace(planned_withdrawal(dependencies, seen, contract, version).publication, routes=())
    return (yield from _proposed(dependencies, publication, dependencies.identity.caller(), seen.revision))


def _proposed(dependencies: Dependencies, publication: Publication, proposer: str, base: int) -> Steps[Proposal]:
    now = dependencies.now
    proposal = Proposal(publication, proposer, now.isoformat(), (now + PROPOSAL_LIFETIME).isoformat(), base)
    before = dependencies.registry.proposal(publication.contract, publication.version)
    if before is not None and _is_same(before, proposal) and not before.is_expired(now):
        return before
    try:
        yield from perform(Effect.PROPOSE, dependencies.registry.propose, proposal, before)
    except ConditionFailed:
        current = dependencies.registry.proposal(publication.contract, publication.version)
        if current is not None and _is_same(current, proposal):
            return current
        raise InputError(
            "somebody else has proposed or changed something of this contract meanwhile: look at `lakegate proposals`"
        ) from None
    return proposal


def proposer_of(caller: str, holder: str) -> str:
    """The proposer as a proposal and its record name them: a caller by IAM, or a token and the person who has it.

    Raises InputError for a token without a person: only people with an ARN approve, and a token cannot be compared with one.
    """
    if caller.startswith("arn:"):
        return caller
    if not holder:
        raise InputError(
            "a token without the claim `lakegate_arn` cannot propose, because nobody could approve: let its issuer name the"
            " ARN of the person who has it, or propose with rights in the account (lakegate publish)"
        )
    return f"{caller}{OF_PERSON}{holder}"


def approve(dependencies: Dependencies, compiled: CompiledContract, proposal: Proposal) -> Steps[Publication]:
    """Make a proposed version valid. `compiled`: its document, compiled again. Idempotent.

    Raises InputError for one's own proposal, an expired one, one that was changed since it was read, one whose contract
    was changed since it was proposed, and one that is compiled otherwise; IncompatibleVersion as `publish`.
    """
    _refuse_unusable(dependencies, proposal, "this version", "publish the document")
    publication = publication_of(compiled)
    if publication != proposal.publication:
        raise InputError("this release compiles the proposed document otherwise: publish it again with this release")

    def decide(seen: RegistrySnapshot) -> Publication:
        wanted = leading_its_routes(seen, publication)
        if seen.has(wanted):
            return wanted
        if seen.revision != proposal.base:
            raise InputError(
                f"{proposal.publication.contract} was changed since this was proposed (revision {proposal.base}, now"
                f" {seen.revision}): publish the document again, and approve what it changes now"
            )
        refuse(dependencies, seen, compiled)
        return wanted

    decide(dependencies.registry.contract(compiled.contract))
    return (yield from write_with_datasets(dependencies, compiled, decide, published_by(proposal)))


def approve_withdrawal(dependencies: Dependencies, proposal: Proposal) -> Steps[Withdrawal]:
    """Take a version back that another person proposed to. Raises InputError as `withdraw`.

    Also if the proposal is one's own, has expired, or the contract was changed since.
    """
    _refuse_unusable(dependencies, proposal, "this", "withdraw the version")
    of = proposal.publication
    return (yield from withdraw(dependencies, of.contract, of.version, proposal))


DECLINE: Final = "decline-version"
"""The kind of the record."""


def decline(dependencies: Dependencies, proposal: Proposal, reason: str) -> Steps[None]:
    """Remove a proposal, whosever it is, and record who does and why. Idempotent.

    Raises InputError for a text that is no reason, and where another proposal stands in its place.
    """
    if not (reason and is_one_line(reason)):
        raise InputError(f"the reason to decline a proposal is one line of at most {LONGEST_REASON} characters")
    of = proposal.publication
    chain = contract_chain(of.contract)
    content = encode(select_fields(DeclineVersionContent, of, proposed_by=proposal.proposer, reason=reason))
    event = event_id(DECLINE, chain, proposal.digest)
    for _ in range(TRIES_OF_COMMIT):
        record = record_at_head(dependencies, DECLINE, chain, content, event)
        try:
            yield from perform(Effect.DECLINE_PROPOSAL, dependencies.registry.decline, proposal, record)
        except ConditionFailed as refused:
            if ConditionName.EVENT in refused.reasons:
                return
            if ConditionName.PROPOSAL in refused.reasons:
                raise InputError(CHANGED_PROPOSAL) from None
            continue
        return
    raise TransactionConflict


def _refuse_unusable(dependencies: Dependencies, proposal: Proposal, what: str, again: str) -> None:
    """Raise InputError where the caller is not known to be another person than the proposer, and after the time to approve."""
    reason = not_apart(proposal.proposer, dependencies.identity.caller())
    if reason is not None:
        raise InputError(f"{proposal.proposer} has proposed {what}{reason}: another person has to approve it")
    if proposal.is_expired(dependencies.now):
        raise InputError(f"the proposal expired at {proposal.expires_at}: {again} again")


def _is_same(one: Proposal, other: Proposal) -> bool:
    return (one.publication, one.proposer, one.base) == (other.publication, other.proposer, other.base)


# ---- Approval of a version by its name ----


def approve_version(
    dependencies: Dependencies, name: str, digest: str | None, confirm: ConfirmApproval
) -> tuple[bytes, PublishedVersion] | Withdrawal:
    """Make a proposed version valid; the document and the version. Or take one back. Its effects are confirmed before.

    `name`: CONTRACT@VERSION. `digest`: of the proposal that was reviewed, or the beginning. Raises PublicationRefused, and
    InputError.
    """
    proposal = _named(dependencies, name, digest)
    if proposal.publication.status == WITHDRAWN:
        confirm(PublicationEffects((f"{proposal.proposer} proposed to withdraw {quote(name)}",), ()), None)
        return dependencies.run(approve_withdrawal(dependencies, proposal))
    body = dependencies.read_lake(proposal.publication.document)
    referred = referred_of(dependencies, body, proposal.publication.own)
    compiled = compile_document(body, referred, allow_unmeasured=proposal.publication.unmeasured_rules > 0)
    compiled = replace(compiled, inherited_from=proposal.publication.inherited_from)
    change = plan_publication(dependencies, compiled)
    effects = effects_of_publication(compiled, change)
    proposed = f"{proposal.proposer} proposed {quote(name)}"
    confirm(replace(effects, effects=(proposed, *effects.effects)), change.comparison)
    published = dependencies.run(approve(dependencies, compiled, proposal))
    return body, published_version(dependencies, published, change)


def decline_version(dependencies: Dependencies, name: str, reason: str) -> Proposal:
    """Decline the proposal of CONTRACT@VERSION, and return it. Raises InputError as `decline`, and where there is none."""
    proposal = _named(dependencies, name, None)
    dependencies.run(decline(dependencies, proposal, reason))
    return proposal


def _named(dependencies: Dependencies, name: str, digest: str | None) -> Proposal:
    """The proposal of CONTRACT@VERSION, of this digest or the beginning of it. Raises InputError where there is none."""
    contract, _, version = name.rpartition("@")
    proposal = dependencies.registry.proposal(contract, version)
    if proposal is None:
        is_published = version in dependencies.registry.contract(contract).by_number
        also = ": that version is published" if is_published else ""
        raise InputError(
            f"no proposal of {quote(name)} waits for approval{also} (`lakegate proposals`; `lakegate log _contracts/CONTRACT`"
            " has what was declined)"
        )
    if digest is not None and (not digest or not proposal.digest.startswith(digest)):
        raise InputError(f"the proposal of {quote(name)} is {proposal.digest[:12]} now: read it before you approve it")
    return proposal
