"""The contents of records, by their kinds. A member that may be absent is never empty: equal records have equal bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final

from lakegate.base.json_codec import Bounds, Exact, NotEmpty, Pattern, Permitted, Sha256, omit_default
from lakegate.base.timestamps import Moment, OptionalMoment
from lakegate.gate.person_decisions import PERSON_DECISIONS, Reason, RecordContent, Started

PUBLIC_KEY: Final = "MCowBQYDK2VwAyEA[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]="
"""SubjectPublicKeyInfo of an Ed25519 key (RFC 8410), in Base64."""
PLANNED: Final = ("active", "deprecated", "sunset", "retired")
ACTS: Final = ("acknowledge", "date", "deprecate", "draft", "notice", "parent", "reactivate", "retire", "sunset")


@dataclass(frozen=True, slots=True)
class PlanOfDataset:
    """The plan of one dataset."""

    dataset: NotEmpty
    plan: NotEmpty


@dataclass(frozen=True, slots=True)
class PublicationContent:
    """The content of a record: a contract version became valid, or got another status."""

    version: NotEmpty
    status: NotEmpty
    document: NotEmpty
    """Key of the document in the lake bucket: contracts/<SHA-256>."""
    plans: tuple[PlanOfDataset, ...]
    """By dataset, the digest of its plan; sorted by dataset."""
    proposed_by: Annotated[str, Pattern("(arn:|https://)[!-~]+")] | None
    """ARN of the proposer, whose proposal the actor approved; null where the stack requires no approval."""
    unmeasured_rules: Exact
    """Rules that the publisher allowed never to be measured."""
    inherited_from: Moment | None = omit_default(None)
    """From when contracts inherit from the version, if that is later than its publication."""


@dataclass(frozen=True, slots=True)
class DeclineVersionContent:
    """The content of a record: a person declined a proposed contract version, or its withdrawal."""

    version: NotEmpty
    status: NotEmpty
    """That it would have got; `withdrawn` for a withdrawal."""
    document: NotEmpty
    """Key of the document in the lake bucket: contracts/<SHA-256>."""
    proposed_by: Annotated[str, Pattern("(arn:|https://)[!-~]+")]
    """ARN of the proposer."""
    reason: Reason


@dataclass(frozen=True, slots=True)
class FollowingStatus:
    """A change of the status that follows by its date."""

    status: Annotated[str, Permitted(PLANNED)]
    at: Moment


@dataclass(frozen=True, slots=True)
class StricterParent:
    """A version of the parent that the contract will be weaker than."""

    version: NotEmpty
    inherited_from: Moment
    """From when it is inherited."""
    owner: str
    """Of the contract of the dataset."""


@dataclass(frozen=True, slots=True)
class BreakingNotice:
    """The subscribers who were given notice of a breaking version."""

    version: NotEmpty
    follows: NotEmpty
    """The dataset of the major number before."""
    teams: tuple[NotEmpty, ...]
    acknowledged: tuple[NotEmpty, ...]


@dataclass(frozen=True, slots=True)
class LifecycleState:
    """The status of a dataset, and what follows."""

    status: Annotated[str, Permitted(("draft", *PLANNED))]
    since: Moment | None
    """The beginning of that status; null if the dataset was always active."""
    planned: tuple[FollowingStatus, ...]
    """Changes of the status that follow by their dates, the earliest first."""
    reason: str
    replacement: str
    guide: str


@dataclass(frozen=True, slots=True)
class LifecycleContent(LifecycleState):
    """The content of a record: the lifecycle of a dataset changed. It has the status after the act."""

    act: Annotated[str, Permitted(ACTS)]
    """The command. `date`: a planned change began; `draft`, `notice`: how the line began; `parent`: a stricter one came."""
    notice: BreakingNotice | None
    parents: Annotated[tuple[StricterParent, ...], Bounds(1)] | None = omit_default(None)
    """Of the act `parent`."""


@dataclass(frozen=True, slots=True)
class StagedCopy:
    """An object without some of its rows."""

    staged: NotEmpty
    """Key of the copy that replaces it."""
    version: NotEmpty
    """Of that copy."""
    size: Exact
    """Bytes."""
    checksum: Annotated[str, Pattern("sha256:.+")]
    """SHA-256 of its bytes, as S3 writes it (Base64)."""


@dataclass(frozen=True, slots=True)
class ObjectToErase:
    """An object that is going to be replaced."""

    key: NotEmpty
    """In the lake bucket."""
    version: NotEmpty
    """The version that is replaced."""
    rows: Exact | None
    """The number of rows that are erased; null where it is erased unread."""
    left: StagedCopy | None
    """The object without these rows; null where nothing is left."""


@dataclass(frozen=True, slots=True)
class StagedTypedFile:
    """A typed file that comes in the place of another one, without some of its rows."""

    key: NotEmpty
    """Under which it is published."""
    rows: Started
    """That are left."""
    staged: NotEmpty
    """Key of the copy that is published."""
    version: NotEmpty
    """Of that copy."""
    size: Exact
    """Bytes."""
    checksum: Annotated[str, Pattern("sha256:.+")]
    """SHA-256 of its bytes, as S3 writes it (Base64)."""


@dataclass(frozen=True, slots=True)
class TypedFileToErase:
    """A typed file that is going to be deleted. A table states what is in a file of a key, so what is left has another key."""

    key: NotEmpty
    """In the lake bucket."""
    version: NotEmpty
    """The version that stands."""
    rows: Exact | None
    """The number of rows that are erased; null where it is erased unread."""
    left: StagedTypedFile | None
    """The file that comes in its place; null where nothing is left."""


@dataclass(frozen=True, slots=True)
class ErasureContent:
    """The content of a record: rows of a delivery are going to be erased.

    It is written before anything is changed, and does not contain the values by which the rows were found.
    """

    workload: NotEmpty
    reason: Reason
    rows: Exact | None
    """Of all objects; null where an object is erased unread. Typed files have the same rows, which count once."""
    fields: tuple[NotEmpty, ...]
    """By which the rows were found; none where the objects are erased unread."""
    objects: Annotated[tuple[ObjectToErase, ...], Bounds(1)]
    table: Annotated[tuple[TypedFileToErase, ...], Bounds(1)] = omit_default(())
    """Typed files that have such rows, too."""


@dataclass(frozen=True, slots=True)
class StatedVersion:
    """A version of an object."""

    version: NotEmpty
    size: Exact
    """Bytes."""
    checksum: str
    """Of the whole object, as S3 has it; empty where it has none."""


@dataclass(frozen=True, slots=True)
class ErasedObject:
    """An object that was replaced."""

    key: NotEmpty
    rows: Exact | None
    """The number of rows that were erased; null where it was erased unread."""
    left: StatedVersion | None
    """The version that readers get; null where nothing is left."""


@dataclass(frozen=True, slots=True)
class StatedTypedFile:
    """A typed file that its block does not name: it stands for another one, or was adopted."""

    key: NotEmpty
    rows: Started
    version: NotEmpty
    size: Exact
    """Bytes."""
    checksum: str
    """Of the whole object, as S3 has it; empty where it has none."""


@dataclass(frozen=True, slots=True)
class ErasedTypedFile:
    """A typed file that is deleted."""

    key: NotEmpty
    rows: Exact | None
    """The number of rows that were erased; null where it was erased unread."""
    left: StatedTypedFile | None
    """The file in its place; null where nothing is left."""


@dataclass(frozen=True, slots=True)
class ErasedContent:
    """The content of a record: rows of a delivery were erased.

    It is written when every object is replaced. The versions before are deleted afterwards.
    """

    erasure: Sha256
    """The event of the record that it completes."""
    workload: NotEmpty
    rows: Exact | None
    """Of all objects; null where an object was erased unread."""
    objects: Annotated[tuple[ErasedObject, ...], Bounds(1)]
    table: Annotated[tuple[ErasedTypedFile, ...], Bounds(1)] = omit_default(())
    """Typed files that belong to the delivery no more."""


@dataclass(frozen=True, slots=True)
class AdoptionContent:
    """The content of a record: a delivery that was accepted without typed files has some, for the table of its dataset.

    It is written when each of them is there. They have the accepted rows of the delivery as they are then.
    """

    workload: NotEmpty
    height: Exact
    """Of its block."""
    table: Annotated[tuple[StatedTypedFile, ...], Bounds(1)] = omit_default(())
    """In the order of the rows; none of a delivery without rows."""


@dataclass(frozen=True, slots=True)
class RestorationContent:
    """The content of a record: a lost object of a delivery was put back.

    It is written when the bytes are there again, with the size and checksum that the ledger stated for the lost version.
    """

    workload: NotEmpty
    key: NotEmpty
    """In the lake bucket."""
    lost: StatedVersion
    """The version that was deleted, as the ledger states it."""
    left: StatedVersion
    """The version that readers get."""


@dataclass(frozen=True, slots=True)
class KeyContent:
    """The content of a record: a key signs the chain from here on.

    The first one is signed by its own key, a later one by the key that it replaces.
    """

    key: Sha256
    """SHA-256 of the public key, by which signatures name it."""
    public_key: Annotated[str, Pattern(PUBLIC_KEY)]
    """SubjectPublicKeyInfo of an Ed25519 key (RFC 8410), in Base64."""
    replaces: Sha256 | None
    """The key that signed until here; null of the first one."""


@dataclass(frozen=True, slots=True)
class BrokenScheduledRule:
    """A rule that does not hold."""

    rule: NotEmpty
    """Its id."""
    status: Annotated[str, Permitted(("fail", "warn"))]
    rows: Exact | None
    """The most failing rows of one of its checks; null where rows are not counted."""


@dataclass(frozen=True, slots=True)
class StaleRule:
    """A rule that does not hold for accepted data."""

    rule: NotEmpty
    """Its id."""
    since: NotEmpty
    """The first time when it was measured not to hold: RFC 3339, UTC."""


@dataclass(frozen=True, slots=True)
class RevalidationContent:
    """The content of a record: accepted data was measured by schedule.

    It is a run over everything that is accepted of the dataset up to a height. With no rules: no rule has a schedule any more.
    """

    contract_version: NotEmpty
    run: Sha256
    """Names the folder of its request and its result."""
    plan: Sha256
    """Digest of the plan with the checks that were measured."""
    height: Exact
    """Up to which accepted data was measured."""
    schedules: tuple[NotEmpty, ...]
    """The times that were due, in UTC."""
    rules: Exact
    """The number of measured rules."""
    broken: Annotated[tuple[BrokenScheduledRule, ...], Bounds(most=20)]
    """The worst first."""
    stale: Annotated[tuple[StaleRule, ...], Bounds(most=100)]
    """The rules that do not hold after this run, also those of other schedules, the oldest first."""


@dataclass(frozen=True, slots=True)
class WatermarkContent:
    """The content of a record: a person set the watermark of a dataset."""

    watermark: Moment
    """No event before this time is expected any more."""
    before: OptionalMoment
    """The watermark before; empty for none."""


CONTENTS: Final[Mapping[str, RecordContent]] = {
    "publication": RecordContent(PublicationContent, ("version", "status")),
    "decline-version": RecordContent(DeclineVersionContent, ("version", "reason")),
    **{kind: record for decision in PERSON_DECISIONS.values() for kind, record in decision.records.items()},
    "lifecycle": RecordContent(LifecycleContent, ("act", "status")),
    "erasure": RecordContent(ErasureContent, ("workload", "rows", "reason")),
    "erased": RecordContent(ErasedContent, ("workload", "rows")),
    "restoration": RecordContent(RestorationContent, ("workload", "key")),
    "adoption": RecordContent(AdoptionContent, ("workload", "height")),
    "key": RecordContent(KeyContent, ("key", "replaces")),
    "revalidation": RecordContent(RevalidationContent, ("height", "rules", "stale")),
    "watermark": RecordContent(WatermarkContent, ("watermark",)),
}
"""By kind of record: its content, and which members of it `lakegate log` prints."""
