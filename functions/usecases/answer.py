"""What the control plane itself reads of `result.json`: its workload, its counts, the rows that it wrote."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakegate.contracts.errors import InputError

if TYPE_CHECKING:
    from lakegate.functions.workload import Workload


@dataclass(frozen=True, slots=True)
class Written:
    """One object of a split, as the job lists it."""

    share: str
    """`accepted` or `rejected`."""
    uri: str
    """In the lake bucket, below the attempt."""
    size: int
    etag: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The part of a result that no verdict depends on."""

    workload: str
    attempt: int
    plan_digest: str
    source_version: str
    rows: int
    rejected_rows: int
    event_time: tuple[str, str] | None
    objects: tuple[Written, ...]

    @staticmethod
    def read(result: bytes) -> Answer:
        """Raises InputError for a document that is no result."""
        try:
            document = json.loads(result)
            bounds, shares = document.get("event_time"), document.get("shares") or {}
            return Answer(
                document["workload"],
                document["attempt"],
                document["plan_digest"],
                document["source_version"],
                document["rows"],
                document["rejected_rows"],
                (str(bounds[0]), str(bounds[1])) if bounds else None,
                tuple(Written(share, o["uri"], o["size"], o["etag"]) for share in shares for o in shares[share]),
            )
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
            raise InputError("result.json is not a result") from None


def repeats(answer: Answer, workload: Workload) -> bool:
    """Whether the result belongs to this attempt: same workload, attempt, plan and source version."""
    pin = workload.pin
    assert pin is not None
    asked = (workload.id, workload.attempt, pin.plan, workload.source.version)
    return asked == (answer.workload, answer.attempt, answer.plan_digest, answer.source_version)
