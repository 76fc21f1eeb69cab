"""request.json and batch.json: inputs of a job run."""

from __future__ import annotations

from dataclasses import dataclass

from lakegate.json_codec import VersionedDocument
from lakegate.plan.slice_order import SliceOrder

# ---- `batch.json`: the deliveries that one job run judges, each by a request of its own and with a result of its
# own


BATCH_VERSION = "lakegate/batch/1"


@dataclass(frozen=True, slots=True)
class BatchRequest(VersionedDocument):
    """A closed batch."""

    schema = "batch"
    batch: str
    """Its id."""
    requests: tuple[str, ...]
    """Addresses of request.json, in the order in which they are judged."""
    version: str = BATCH_VERSION


# ---- `request.json`: the input of one attempt of the job, beside the data ------------------------------------------


VERSION = "lakegate/request/1"


@dataclass(frozen=True, slots=True)
class StagedPart:
    """One staged object: its address (`file:` or `s3:`) and its size in bytes, which the job must find again."""

    uri: str
    size: int
    name: str = ""
    """Its display name; never used as a path."""
    version: str = ""
    """Which version of the object is read; empty: the current one, of an object that nobody replaces."""


@dataclass(frozen=True, slots=True)
class AcceptedPart:
    """One accepted object of a line that rules refer to, and the plan by which it was accepted and is read."""

    uri: str
    size: int
    plan_uri: str
    plan_digest: str


@dataclass(frozen=True, slots=True)
class Reference:
    """What was accepted of a line up to a height of its ledger."""

    line: str
    height: int
    """-1 where nothing was accepted yet."""
    parts: tuple[AcceptedPart, ...]


@dataclass(frozen=True, slots=True)
class Request(VersionedDocument):
    """One attempt: which plan, which bytes, where the answer goes."""

    schema = "request"
    workload: str
    attempt: int
    plan_uri: str
    plan_digest: str
    source_version: str
    """Identity of the judged object version, repeated in the result."""
    parts: tuple[StagedPart, ...]
    judged_at: str
    """The judging time, ISO 8601 in UTC: the only clock a rule may see."""
    output_uri: str
    """Prefix of the attempt; the result is written to `<output_uri>/result.json`."""
    references: tuple[Reference, ...] = ()
    """The accepted data that rules refer to, as it was when the delivery was pinned."""
    slices: SliceOrder | None = None
    """Where the slices of the accepted rows begin; None: none are written."""
    version: str = VERSION
