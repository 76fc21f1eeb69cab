"""The table of what a person may decide about a delivery.

A row says what a decision takes (the body of the HTTP request, with its bounds) and what the ledger records of it. Its name is
that of the command and of the transition over HTTP; when it is legal and what carries it out is its `DecisionKind`
(`lakegate.gate.carry_out_decision`). All rows have the same right: the scope `operate` of the API, `EnginePolicy` in the account.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime, timedelta
from typing import Annotated, Final, Literal, NamedTuple, TypeAlias

from lakegate.base.json_codec import MAX_INTEGER, Bounds, Exact, NotEmpty, Pattern, Permitted, omit_default
from lakegate.base.timestamps import instant_of
from lakegate.contract.contract_model import DATASET_KEY

# ---- What a decision takes ----


LONGEST_REASON: Final = 500
"""Characters of the text of a person: it is part of records and events, and of the reasons of deliveries."""
Reason = Annotated[str, Bounds(1, LONGEST_REASON)]
MAX_WAIVER: Final = timedelta(days=366)
"""The longest time of a waiver: more is a change of the contract."""


@dataclass(frozen=True, slots=True)
class WantedReplay:
    """A delivery that failed or was rejected is judged again."""

    transition: Literal["replay"]
    contract: Annotated[str, Bounds(1, 1000)] = omit_default("")
    """CONTRACT@VERSION to judge by; default: the version that is valid."""


@dataclass(frozen=True, slots=True)
class WantedWaiver:
    """A rejected delivery is accepted as an exception."""

    transition: Literal["waive"]
    reason: Reason
    """One line, which every consumer can read."""
    expires: Annotated[str, Pattern("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})?Z")]
    """When the exception ends (UTC), within 366 days."""

    @property
    def end(self) -> datetime:
        """The time of `expires`. Raises ValueError where there is no such time."""
        return instant_of(self.expires)


@dataclass(frozen=True, slots=True)
class WantedApproval:
    """A delivery that waits is published."""

    transition: Literal["approve"]


@dataclass(frozen=True, slots=True)
class WantedDecline:
    """A delivery that waits is rejected."""

    transition: Literal["decline"]
    reason: Reason
    """One line, which every consumer can read."""


@dataclass(frozen=True, slots=True)
class WantedCancellation:
    """A delivery that is open is rejected, and goes no further."""

    transition: Literal["cancel"]
    reason: Reason
    """One line, which every consumer can read."""


@dataclass(frozen=True, slots=True)
class WantedRecall:
    """An accepted delivery is taken out of the current state of its dataset."""

    transition: Literal["recall"]
    reason: Reason
    """One line, which every consumer can read."""


@dataclass(frozen=True, slots=True)
class WantedRestoration:
    """A delivery that was recalled is put back."""

    transition: Literal["restore"]
    reason: Reason
    """One line, which every consumer can read."""


WantedDecision: TypeAlias = (
    WantedReplay | WantedWaiver | WantedApproval | WantedDecline | WantedCancellation | WantedRecall | WantedRestoration
)

# ---- What the ledger records of a decision ----


Started = Annotated[int, Bounds(1, MAX_INTEGER)]
Accepted = Annotated[str, Permitted(("accepted", "accepted_with_warnings"))]


@dataclass(frozen=True, slots=True)
class ReplayContent:
    """The content of a record: a delivery is judged again."""

    workload: NotEmpty
    state: Annotated[str, Permitted(("FAILED", "QUARANTINED"))]
    """In which it was found."""
    attempt: Exact
    """The last one before the replay."""
    replayed_by: NotEmpty
    """The workload that is judged: the same one if it FAILED."""


@dataclass(frozen=True, slots=True)
class ReplayVersionContent(ReplayContent):
    """The content of a record: a delivery is judged again under a contract version that a person chose."""

    dataset: NotEmpty = field(metadata=DATASET_KEY)
    contract_version: NotEmpty
    plan: NotEmpty
    """Digest of its plan."""


@dataclass(frozen=True, slots=True)
class WaiverContent:
    """The content of a record: a rejected delivery is let through."""

    workload: NotEmpty
    """The delivery that was rejected."""
    waived_by: NotEmpty
    """The workload that is accepted instead."""
    reason: NotEmpty
    expires: NotEmpty
    """RFC 3339, UTC."""


@dataclass(frozen=True, slots=True)
class ApprovalContent:
    """The content of a record: a person approves that a judged delivery is published."""

    workload: NotEmpty
    attempt: Started
    """The attempt that was judged."""
    verdict: Accepted
    """Of the judgement."""
    _: KW_ONLY
    workflow_state: NotEmpty | None = omit_default(None)
    """The state of its workflow's own in which it was asked about; absent where its workflow has none."""


@dataclass(frozen=True, slots=True)
class DeclineContent(ApprovalContent):
    """The content of a record: a person declines a judged delivery, which is rejected."""

    reason: NotEmpty


@dataclass(frozen=True, slots=True)
class CancellationContent:
    """The content of a record: a person ends a delivery that is open."""

    workload: NotEmpty
    reason: NotEmpty


@dataclass(frozen=True, slots=True)
class RecallContent:
    """The content of a record: a person takes an accepted delivery out of the current state of its dataset."""

    workload: NotEmpty
    height: Exact
    """Of its block."""
    reason: NotEmpty


@dataclass(frozen=True, slots=True)
class RestoreContent(RecallContent):
    """The content of a record: a person puts a delivery back that was recalled."""


# ---- The table ----


class RecordContent(NamedTuple):
    """The content of a kind of record."""

    form: type
    """A dataclass."""
    printed: tuple[str, ...]
    """The members that `lakegate log` prints."""


class PersonDecision(NamedTuple):
    """A decision that a person may make about a delivery."""

    takes: type[WantedDecision]
    """The form of what the person gives: the body of the HTTP request, and the argument of what carries it out."""
    done: str
    """The word for what it makes of a delivery; the reason that the delivery may get by it begins so."""
    records: Mapping[str, RecordContent]
    """The records of the ledger, by their kind."""
    kind: str = ""
    """Where the core has its `DecisionKind`, `MODULE:ATTRIBUTE`; empty: a feature registers it."""
    waivable: bool = True
    """Whether a waiver may let through what it rejects."""


PERSON_DECISIONS: Final[Mapping[str, PersonDecision]] = {
    "replay": PersonDecision(
        WantedReplay,
        "replayed",
        {
            "replay": RecordContent(ReplayContent, ("workload",)),
            "replay-version": RecordContent(ReplayVersionContent, ("workload", "contract_version")),
        },
        "lakegate.gate.delivery.replay:REPLAY",
    ),
    "waive": PersonDecision(
        WantedWaiver, "waived", {"waiver": RecordContent(WaiverContent, ("workload", "expires", "reason"))}
    ),
    "approve": PersonDecision(
        WantedApproval, "approved", {"approval": RecordContent(ApprovalContent, ("workload", "verdict"))}
    ),
    "decline": PersonDecision(
        WantedDecline, "declined", {"decline": RecordContent(DeclineContent, ("workload", "verdict", "reason"))}
    ),
    "cancel": PersonDecision(
        WantedCancellation,
        "cancelled",
        {"cancellation": RecordContent(CancellationContent, ("workload", "reason"))},
        "lakegate.gate.delivery.cancel_delivery:CANCEL",
        waivable=False,
    ),
    "recall": PersonDecision(
        WantedRecall,
        "recalled",
        {"recall": RecordContent(RecallContent, ("workload", "height", "reason"))},
        "lakegate.gate.datasets.recall_delivery:RECALL",
    ),
    "restore": PersonDecision(
        WantedRestoration,
        "restored",
        {"restore": RecordContent(RestoreContent, ("workload", "height", "reason"))},
        "lakegate.gate.datasets.recall_delivery:RESTORE",
    ),
}
"""By name, in the order in which texts list them."""


# ---- Two people ----


IDENTITY_CENTER: Final = "AWSReservedSSO_"
"""Beginning of the roles whose sessions IAM Identity Center names after its users; nobody else can make such a role."""
OF_PERSON: Final = "="
"""Between a token, which contains none, and the ARN of the person who has it."""
OF_SYSTEM: Final = "callback:"
"""Before the channel by whose token another system has answered."""


def not_apart(one: str, other: str) -> str | None:
    """The reason why two callers may be one person; None: they are two, empty: they are the same.

    Sessions of a role are one person, because its holder chooses their names, but those of IAM Identity Center, which are
    the users' names. A token is compared by the person who has it; one that names none cannot be compared with an ARN.
    Another system, which called back, is no person, and two of them are two.
    """
    one, other = (each if each.startswith("arn:") else each.partition(OF_PERSON)[2] or each for each in (one, other))
    if one == other:
        return ""
    if OF_SYSTEM in {one[: len(OF_SYSTEM)], other[: len(OF_SYSTEM)]}:
        return None
    if one.startswith("arn:") != other.startswith("arn:"):
        return f", and {other} may be the same person, because a token and an ARN cannot be compared"
    role, _, _ = one.rpartition("/")
    if ":assumed-role/" in one and role == other.rpartition("/")[0] and f"/{IDENTITY_CENTER}" not in role:
        return f", and {other} is a session of the same role, whose holder chooses the names of its sessions"
    return None
