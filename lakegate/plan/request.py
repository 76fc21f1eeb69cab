"""request.json and batch.json: inputs of a job run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Final, Literal

from lakegate.base.json_codec import MAX_INTEGER, Bounds, Count, Pattern, Sha256, VersionedDocument, omit_default
from lakegate.contract.contract_model import DATASET_KEY
from lakegate.contract.delivery_policy import MAX_BATCH_FILES, PublishAs
from lakegate.plan.slice_order import SliceOrder, Uri

OwnUri = Annotated[str, Pattern(r"(file:/|s3://)[^\x00-\x20\x7f]+"), Bounds(most=2048)]
"""The address of an object whose key Lakegate has made."""
WorkloadId = Annotated[str, Pattern("[0-9A-Za-z._:-]+"), Bounds(most=128)]
Attempt = Annotated[int, Bounds(1, 1_000_000)]
SourceVersion = Annotated[str, Bounds(1, 1024)]
MOST_PARTS: Final = 100_000
_UTC: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|\+00:00)"
Text = Annotated[str, Bounds(most=1024)]

# ---- `batch.json`: the deliveries of one job run ----


BATCH_VERSION: Final = "lakegate/batch/1"


@dataclass(frozen=True, slots=True)
class BatchRequest(VersionedDocument):
    """A closed batch."""

    schema = "batch"
    batch: Sha256
    """Its id."""
    requests: Annotated[tuple[OwnUri, ...], Bounds(1, MAX_BATCH_FILES)]
    """Addresses of request.json, in the order in which they are judged."""
    version: Literal["lakegate/batch/1"] = BATCH_VERSION


# ---- `request.json`: the input of one attempt ----


REQUEST_VERSION: Final = "lakegate/request/1"


@dataclass(frozen=True, slots=True)
class StagedPart:
    """One staged object: its address (`file:` or `s3:`) and its size in bytes, which the job must find again."""

    uri: OwnUri
    size: Count
    name: Text = ""
    """Its display name; never used as a path."""
    version: Text = ""
    """The version of the object that is read; empty: the current one, of an object that nobody replaces."""


@dataclass(frozen=True, slots=True)
class AcceptedPart:
    """One accepted object of a dataset that rules refer to, and the plan by which it was accepted and is read."""

    uri: Uri
    size: Count
    plan_uri: OwnUri
    plan_digest: Sha256


@dataclass(frozen=True, slots=True)
class Reference:
    """Accepted data of a dataset up to a height of its ledger."""

    dataset: Annotated[str, Bounds(1, 512)] = field(metadata=DATASET_KEY)
    height: Annotated[int, Bounds(-1, MAX_INTEGER)]
    """-1 where nothing was accepted yet."""
    parts: Annotated[tuple[AcceptedPart, ...], Bounds(most=MOST_PARTS)]
    is_corrected: bool = omit_default(False)
    """Whether the parts are slices of upserts: a row with `op` 2 is a former row again, and neither of the two is current."""


@dataclass(frozen=True, slots=True)
class Request(VersionedDocument):
    """One attempt: which plan, which bytes, where the result goes."""

    schema = "request"
    workload: WorkloadId
    attempt: Attempt
    plan_uri: OwnUri
    plan_digest: Sha256
    source_version: SourceVersion
    """Identity of the judged object version, repeated in the result."""
    parts: Annotated[tuple[StagedPart, ...], Bounds(1, MOST_PARTS)]
    judged_at: Annotated[str, Pattern(_UTC), Bounds(most=40)]
    """The judging time, ISO 8601 in UTC: the only clock a rule may see."""
    output_uri: OwnUri
    """Prefix of the attempt; the result is written to `<output_uri>/result.json`."""
    references: Annotated[tuple[Reference, ...], Bounds(most=100)] = ()
    """The accepted data that rules refer to, as it was when the delivery was pinned."""
    slices: SliceOrder | None = None
    """The beginning of the slices of accepted rows; None: none are written."""
    typed_files: bool = omit_default(False)
    """Whether accepted rows are written as typed files of a table."""
    version: Literal["lakegate/request/1"] = REQUEST_VERSION

    @property
    def written_as(self) -> PublishAs:
        """The form in which the run writes accepted rows, too."""
        if self.slices is not None:
            return PublishAs.PARQUET
        return PublishAs.ICEBERG if self.typed_files else PublishAs.ORIGINAL
