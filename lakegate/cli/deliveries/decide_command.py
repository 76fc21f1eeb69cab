"""lakegate approve, decline, cancel, waive, recall, restore: every registered decision."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

from lakegate.aws.open_stack import DEFAULT_STACK, open_deployed
from lakegate.base.errors import InputError
from lakegate.base.extension_points import load_extension
from lakegate.base.json_codec import select_fields
from lakegate.base.text import quote
from lakegate.base.timestamps import instant_of, moment
from lakegate.cli.click_commands import Argument, Option
from lakegate.cli.command_runner import CommandResult, command, facade_command
from lakegate.cli.contracts.withdraw_command import WithdrawnVersion, withdrawn
from lakegate.cli.deliveries.wait_for_verdict import WaitExit
from lakegate.cli.options import TIMES, ApiContract, ApiUrl, AsJson, Delivery, Local, StackName, Yes
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.person_decisions import (
    PERSON_DECISIONS,
    WantedApproval,
    WantedCancellation,
    WantedDecision,
    WantedDecline,
    WantedRecall,
    WantedRestoration,
    WantedWaiver,
)
from lakegate.gate.registry.registry_rows import PROPOSALS, Proposal
from lakegate.gate.registry.withdraw_version import Withdrawal
from lakegate.library.described_deliveries import (
    SHORT_ID,
    STANDING,
    AnsweredDelivery,
    RecalledDelivery,
    WaivedDelivery,
    in_utc,
)
from lakegate.library.published_contracts import ConfirmApproval, PublicationEffects, PublishedVersion, RefusedNumber
from lakegate.library.stack import RemoteStack, StackFacade, open_stack
from lakegate.lints.linter import LintReport
from lakegate.verdict.verdict import ACCEPTING

if TYPE_CHECKING:
    from lakegate.diff.change_kinds import VersionComparison

# ---- `lakegate decline` and `lakegate cancel`, and `lakegate approve` for deliveries ----


def _answered(
    there: StackFacade,
    workload: str,
    contract: str | None,
    wanted: WantedDecision,
) -> CommandResult[AnsweredDelivery]:
    found = there.decide(AnsweredDelivery, workload, contract, wanted)
    did = PERSON_DECISIONS[wanted.transition].done
    words = (
        f"{found.workload} is {did} by {found.answer.actor}: {STANDING[found.state]}.",
        f"lakegate status {found.workload[:SHORT_ID]}",
    )
    return CommandResult(found, words, _exit_code(found, accepts=found.answer.approved))


def _exit_code(found: AnsweredDelivery | WaivedDelivery, *, accepts: bool) -> WaitExit:
    """0 where the delivery became what was decided, or the next sweep carries that out."""
    if found.left_to_sweep:
        return WaitExit.ACCEPTED
    if found.verdict is None:
        return WaitExit.NO_VERDICT
    return WaitExit.ACCEPTED if accepts is (found.verdict in ACCEPTING) else WaitExit.REJECTED


VERSION: Final = re.compile(r"@[0-9]+\.[0-9]+\.[0-9]+$", re.ASCII)
"""The end of a contract version's name; what is named otherwise is a delivery."""
NOT_OVER_HTTP: Final = (
    "--api and --contract are for deliveries: a contract version is approved or declined with rights in the account"
)
DeliveryOrVersion: TypeAlias = Annotated[
    str,
    Argument(
        metavar="DELIVERY|CONTRACT@VERSION",
        help="A workload's id, the beginning of one, or a landing key; or the proposed version.",
    ),
]


@dataclass(frozen=True, slots=True)
class DeclinedVersion:
    """A proposed contract version that was declined."""

    proposal: str
    contract: str
    version: str
    status: str
    proposer: str
    reason: str


@facade_command
def decline(
    there: StackFacade,
    name: DeliveryOrVersion,
    *,
    reason: Annotated[str, Option(help="Why; it is a reason of the rejection.")],
    contract: ApiContract = None,
) -> CommandResult[AnsweredDelivery | DeclinedVersion]:
    """Reject a judged delivery that waits for approval or for its date, or decline a proposed contract version.

    It is idempotent.

    The delivery goes into quarantine, with your ARN and the reason before what its judgement says. To let it be published:
    lakegate approve. With --api it takes a workload's whole id, and the next sweep moves the delivery.

    Example: lakegate decline orders/day.csv --reason "the totals are those of last month"

    Example: lakegate decline brazil-se-weather@1.1.0 --reason "the owner is missing"

    Of a contract version the proposal is removed (`lakegate proposals`), and the ledger records who declined it and why
    (`lakegate log _contracts/CONTRACT`). It can be proposed again.

    Exit code: 0 rejected or declined, 2 it does not wait for an answer, 3 declined, and not yet moved.
    """
    if not VERSION.search(name):
        return _answered(there, name, contract, WantedDecline("decline", reason))
    if contract is not None:
        raise InputError(NOT_OVER_HTTP)

    def in_aws(dependencies: Dependencies) -> CommandResult[DeclinedVersion]:
        proposal: Proposal = load_extension(PROPOSALS, "decline")(dependencies, name, reason)
        found = select_fields(DeclinedVersion, proposal, proposal.publication, proposal=proposal.digest, reason=reason)
        return CommandResult(
            found, [f"Declined: {found.contract} {found.version}, proposed by {found.proposer}: {reason}."]
        )

    def over_http(_: RemoteStack) -> CommandResult[DeclinedVersion]:
        raise InputError(NOT_OVER_HTTP)

    return there.perform(in_aws, over_http)


@facade_command
def cancel(
    there: StackFacade,
    workload: Delivery,
    *,
    reason: Annotated[str, Option(help="Why; it is the reason of the rejection.", show_default=False)],
    contract: ApiContract = None,
) -> CommandResult[AnsweredDelivery]:
    """End a delivery that is not decided yet, whatever is being done with it. It is idempotent.

    Its job run is cancelled, unless other deliveries share it, and its data goes into quarantine, with your ARN and the reason.
    It cannot be waived; to have it judged after all: lakegate replay. With --api it takes a workload's whole id, and the next
    sweep moves the data.

    Example: lakegate cancel orders/day.csv --reason "the export was of the wrong month"

    Exit code: 0 cancelled, 2 it cannot be cancelled.
    """
    return _answered(there, workload, contract, WantedCancellation("cancel", reason))


# ---- `lakegate recall`, and `lakegate restore` for deliveries ----


@facade_command
def recall(
    there: StackFacade,
    workload: Delivery,
    *,
    reason: Annotated[str, Option(help="Why; every consumer can read it.", show_default=False)],
    contract: ApiContract = None,
) -> CommandResult[RecalledDelivery]:
    """Take an accepted delivery out of the current state of its dataset. It is idempotent, and deletes nothing.

    Readers leave it out from now on, and its subscribers are told; what it superseded is current again, and named. A landing key
    means its newest accepted delivery. Your ARN and the reason are in the ledger. To take this back: lakegate restore. With
    --api it takes a workload's whole id, and readers see it by the next sweep.

    Example: lakegate recall orders/day.csv --reason "the export was of the wrong month"

    Exit code: 0 recalled, 2 it cannot be recalled.
    """
    return standing_decided(there, workload, contract, WantedRecall("recall", reason))


def standing_decided(
    there: StackFacade, workload: str, contract: str | None, wanted: WantedRecall | WantedRestoration
) -> CommandResult[RecalledDelivery]:
    """The result of a decision about an accepted delivery."""
    found = there.decide(RecalledDelivery, workload, contract, wanted)
    did, by = PERSON_DECISIONS[wanted.transition].done, found.decided
    now = "is current" if found.not_current is None else f"is not current: {found.not_current}"
    others = "Current again" if wanted.transition == "recall" else "Not current any more"
    words = (
        f"{found.workload} is {did} by {by.actor}: {by.reason}",
        f"Height {found.height} of {found.dataset} {now}.",
        *(f"{others}: {other.in_words}" for other in found.changed_with),
        f"lakegate status {found.workload[:SHORT_ID]}",
    )
    return CommandResult(found, words)


# ---- `lakegate approve` ----


ApproveVersion: TypeAlias = Callable[
    [Dependencies, str, str | None, ConfirmApproval], tuple[bytes, PublishedVersion] | Withdrawal
]
"""Of the extension point `proposals`: makes a proposed version valid; the document and the version. Or takes one back."""


@command
def approve(  # noqa: PLR0913 - a command has these options
    name: DeliveryOrVersion,
    *,
    proposal: Annotated[
        str | None,
        Option(help="The proposal that was reviewed, as `lakegate proposals` shows it; no other is approved."),
    ] = None,
    contract: Annotated[
        str | None,
        Option(help="With --api: the delivery's contract, for callers with rights to that."),
    ] = None,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    api: ApiUrl = None,
    as_json: AsJson = False,
    yes: Yes = False,
) -> CommandResult[AnsweredDelivery | PublishedVersion | WithdrawnVersion | RefusedNumber | LintReport]:
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
            raise InputError(f"--proposal and --yes are for contract versions, and {quote(name)} is none")
        with open_stack(stack, local=local, api=api) as there:
            return _answered(there, name, contract, WantedApproval("approve"))
    if api or contract is not None:
        raise InputError(NOT_OVER_HTTP)
    with open_deployed(stack, local=local) as there:
        return _approved_version(there.dependencies(), name, proposal, yes=yes, as_json=as_json)


def _approved_version(
    dependencies: Dependencies, name: str, proposal: str | None, *, yes: bool, as_json: bool
) -> CommandResult[PublishedVersion | WithdrawnVersion | RefusedNumber | LintReport]:
    """Approve a proposed version; its changes and effects are shown before."""
    from lakegate.cli.contracts import publish_command  # noqa: PLC0415 - the compiler, for versions alone
    from lakegate.cli.contracts.diff_command import print_comparison  # noqa: PLC0415 - likewise
    from lakegate.gate.registry.publish_contract import PublicationRefused  # noqa: PLC0415 - likewise

    def confirm(effects: PublicationEffects, comparison: VersionComparison | None) -> None:
        if comparison is not None and not as_json:
            print_comparison(comparison)
        if not yes:
            publish_command.confirm_publication(effects)

    approve_version: ApproveVersion = load_extension(PROPOSALS, "approve")
    try:
        found = approve_version(dependencies, name, proposal, confirm)
    except PublicationRefused as refused:
        return publish_command.refusal_result(name, refused)
    if isinstance(found, Withdrawal):
        return withdrawn(found)
    return publish_command.publication_result(name, *found)


# ---- `lakegate waive` ----


@facade_command
def waive(
    there: StackFacade,
    workload: Delivery,
    *,
    reason: Annotated[str, Option(help="Why; every consumer can read it.")],
    expires: Annotated[
        datetime,
        Option(formats=TIMES, help="When the exception ends (UTC), within 366 days."),
    ],
    contract: ApiContract = None,
) -> CommandResult[WaivedDelivery]:
    """Accept a quarantined delivery as it is, on your own account. It is idempotent.

    The delivery is accepted with warnings. Your ARN, the reason and the end of the waiver are in the ledger, in the readers'
    manifest and in the event of the delivery. From its end on, the waiver cannot be used, and the delivery is marked as expired.
    With --api it takes a workload's whole id, and the next sweep accepts the delivery.

    Example: lakegate waive orders/day.csv --reason "the supplier corrects it on Monday" --expires 2027-01-31

    Exit code: 0 accepted, 1 rejected again (see its reasons), 2 it cannot be waived, 3 its dataset is paused.
    """
    wanted = WantedWaiver("waive", reason, moment(expires.replace(tzinfo=UTC)))
    found = there.decide(WaivedDelivery, workload, contract, wanted)
    waiver = found.waiver
    did = "is waived" if found.started else "was waived before; nothing was started"
    words = (
        f"{waiver.rejected} {did}: {STANDING[found.state]}, as {found.workload}.",
        f"{waiver.reason} (until {in_utc(instant_of(waiver.expires))}, by {waiver.actor})",
        f"lakegate status {found.workload[:SHORT_ID]}",
    )
    return CommandResult(found, words, _exit_code(found, accepts=True))
